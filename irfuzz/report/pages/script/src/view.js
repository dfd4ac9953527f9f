// What of a graph is visible: repeated blocks as one box until they are opened, and of many boxes those near one node.

/** So many boxes are laid out at once; the others wait behind stubs. */
export const MOST = 90;
const MORE = 40;

/** One graph of a model, with the state of its blocks. */
export class View {
  constructor(graph, focus) {
    this.graph = graph;
    this.focus = focus ?? 0;
    this.runs = graph.blocks.map(([start, length, times]) => ({ start, length, times, split: false, open: new Set() }));
    this.readers = graph.nodes.map(() => []);
    graph.nodes.forEach((node, place) => {
      for (const [maker] of node.in) if (maker !== null && maker >= 0) this.readers[maker].push(place);
    });
    this.seen = null;
    if (focus !== null && focus !== undefined) this.reveal(focus);
  }

  runOf(place) {
    return this.runs.find((run) => place >= run.start && place < run.start + run.length * run.times);
  }

  /** Open the block that holds a node, and let the boxes near it be the visible ones if they were hidden. */
  reveal(place) {
    const run = this.runOf(place);
    if (run) run.open.add(Math.floor((place - run.start) / run.length));
    this.focus = place;
    if (this.seen && !this.seen.has(this.keyOf(place))) this.seen = null;
  }

  /** The key of the box that holds a node now. */
  keyOf(place) {
    const { boxOf } = this.boxes();
    return boxOf[place];
  }

  collapse() {
    for (const run of this.runs) { run.split = false; run.open.clear(); }
    this.seen = null;
  }

  get opened() {
    return this.runs.some((run) => run.split || run.open.size);
  }

  openBlock(box) {
    if (box.times > 1) box.run.split = true;
    else box.run.open.add(box.first);
    if (this.seen) this.seen = null;
    this.focus = box.nodes[0];
  }

  /** Boxes in the order of the program, and the key of each node's box. */
  boxes() {
    const boxes = new Map();
    const boxOf = [];
    const add = (key, box) => {
      boxes.set(key, { key, ...box });
      for (const node of box.nodes) boxOf[node] = key;
    };
    let place = 0;
    const { nodes } = this.graph;
    while (place < nodes.length) {
      const run = this.runs.find((one) => one.start === place);
      if (!run) {
        add(`n${place}`, { kind: "node", nodes: [place] });
        place += 1;
        continue;
      }
      for (let first = 0; first < run.times;) {
        const start = run.start + first * run.length;
        if (run.open.has(first)) {
          for (let k = 0; k < run.length; k += 1) add(`n${start + k}`, { kind: "node", nodes: [start + k] });
          first += 1;
          continue;
        }
        let end = first + 1;
        while (!run.split && end < run.times && !run.open.has(end)) end += 1;
        const many = (end - first) * run.length;
        add(`b${start}`, { kind: "block", run, first, times: end - first, nodes: Array.from({ length: many }, (_, k) => start + k) });
        first = end;
      }
      place = run.start + run.length * run.times;
    }
    return { boxes, boxOf };
  }

  /** Boxes, ports and stubs that are visible, and the edges between them. */
  visible() {
    const { boxes, boxOf } = this.boxes();
    const graph = this.graph;
    const edges = new Map();
    const connect = (from, to, value, label) => {
      if (from === to) return;
      const key = `${from}>${to}`;
      if (!edges.has(key)) edges.set(key, { from, to, values: [] });
      edges.get(key).values.push([value, label]);
    };
    graph.inputs.forEach((value, at) => boxes.set(`i${at}`, { key: `i${at}`, kind: "input", nodes: [], value }));
    graph.outputs.forEach(([, value], at) => boxes.set(`o${at}`, { key: `o${at}`, kind: "output", nodes: [], value }));
    const outer = new Map();
    graph.nodes.forEach((node, place) => {
      for (const [maker, value, label] of node.in) {
        let from = maker === null ? outer.get(value) : maker < 0 ? `i${-1 - maker}` : boxOf[maker];
        if (from === undefined) {
          from = `x${value}`;
          outer.set(value, from);
          boxes.set(from, { key: from, kind: "outer", nodes: [], value });
        }
        connect(from, boxOf[place], value, label);
      }
    });
    graph.outputs.forEach(([maker, value], at) => {
      if (maker !== null) connect(maker < 0 ? `i${-1 - maker}` : boxOf[maker], `o${at}`, value, "");
    });
    return this.near(boxes, [...edges.values()], boxOf);
  }

  near(boxes, edges, boxOf) {
    if (boxes.size <= MOST * 1.25) return { boxes, edges, stubs: [] };
    const next = new Map([...boxes.keys()].map((key) => [key, []]));
    for (const { from, to } of edges) { next.get(from).push(to); next.get(to).push(from); }
    if (!this.seen) this.seen = spread(next, [boxOf[this.focus] ?? boxes.keys().next().value], new Set(), MOST);
    const seen = this.seen;
    const kept = new Map([...boxes].filter(([key]) => seen.has(key)));
    const stubs = new Map();
    const inside = [];
    for (const edge of edges) {
      const [a, b] = [seen.has(edge.from), seen.has(edge.to)];
      if (a && b) inside.push(edge);
      else if (a || b) {
        const at = a ? edge.from : edge.to;
        const key = `${a ? "d" : "u"}${at}`;
        if (!stubs.has(key)) stubs.set(key, { key, kind: "stub", nodes: [], at, down: a, hidden: new Set() });
        stubs.get(key).hidden.add(a ? edge.to : edge.from);
      }
    }
    for (const stub of stubs.values()) {
      kept.set(stub.key, stub);
      inside.push(stub.down ? { from: stub.at, to: stub.key, values: [] } : { from: stub.key, to: stub.at, values: [] });
    }
    this.next = next;
    return { boxes: kept, edges: inside, hidden: boxes.size - seen.size };
  }

  /** Show what is behind a stub, and some more in that direction. */
  openStub(stub) {
    const fresh = [...stub.hidden];
    for (const key of fresh) this.seen.add(key);
    this.seen = spread(this.next, fresh, this.seen, this.seen.size + MORE);
  }
}

/** Keys reached from the first ones, the nearest first, until there are so many. */
function spread(next, first, seen, most) {
  const found = new Set(seen);
  let ring = first;
  for (const key of first) found.add(key);
  while (ring.length && found.size < most) {
    const further = [];
    for (const key of ring) {
      for (const other of next.get(key) ?? []) {
        if (found.size >= most) return found;
        if (!found.has(other)) { found.add(other); further.push(other); }
      }
    }
    ring = further;
  }
  return found;
}
