// The layout is dagre's; that is all of it that is used.
import dagre from "@dagrejs/dagre";

export const Graph = dagre.graphlib.Graph;

export function layout(graph) {
  // Its best ranks take seconds of a graph with many boxes, and a tight tree looks nearly the same.
  graph.graph().ranker = graph.nodeCount() > 60 ? "tight-tree" : "network-simplex";
  dagre.layout(graph);
}
