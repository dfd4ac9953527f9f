// Draws a model as Netron does: operators as boxes with their attributes and constants, types on the edges.
import { layout, Graph } from "./layout.js";
import { View } from "./view.js";

const SVG = "http://www.w3.org/2000/svg";
const ROW = 16;
const TOP = 24;
const ROWS = 5;

/** An element; text is always text. */
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "path", "text", "tspan", "defs", "marker", "title"].includes(tag);
  const made = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const measure = document.createElement("canvas").getContext("2d");
function width(text, font) {
  measure.font = font;
  return measure.measureText(text).width;
}

function short(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

export function drawGraph(place, data) {
  new Drawing(place, data);
}

class Drawing {
  constructor(place, data) {
    this.place = place;
    this.data = data;
    this.views = new Map();
    this.path = [0];
    this.chosen = null;
    const [graph, node] = data.focus ?? [0, null];
    if (graph !== 0) this.path = [0, graph];
    this.frame();
    this.show(graph, node);
    // A graph of a few nodes needs no tall box; what is chosen in it needs some.
    this.place.style.setProperty("--high", `${Math.max(300, Math.round(this.height * 1.1 + 20))}px`);
    this.fit();
  }

  get graph() { return this.data.graphs[this.at]; }

  show(at, focus = null) {
    this.at = at;
    if (!this.views.has(at)) {
      const mine = this.data.focus && this.data.focus[0] === at ? this.data.focus[1] : null;
      this.views.set(at, new View(this.data.graphs[at], focus ?? mine));
    }
    this.view = this.views.get(at);
    if (focus !== null) this.view.reveal(focus);
    this.render();
    this.choose(focus === null ? null : `n${focus}`);
  }

  // ---- the frame ------------------------------------------------------------------------------

  frame() {
    const id = this.place.id;
    const button = (text, label, act) => make("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    this.input = make("input", { type: "search", placeholder: "Find a node or value", "aria-label": "Find a node or value in the graph" });
    this.where = make("span", { class: "where" });
    this.up = button("Out", "Out to the graph around this one", () => this.leave());
    this.back = button("Collapse", "Collapse all repeated blocks", () => { this.view.collapse(); this.render(); this.fit(); });
    const bar = make("div", { class: "graph-bar" },
      this.input, this.up, this.back,
      this.data.focus ? button("At fault", "At fault: show that node", () => this.home()) : null,
      button("+", "Zoom in", () => this.zoom(1.3)), button("−", "Zoom out", () => this.zoom(1 / 1.3)),
      button("Fit", "Fit all of it into view", () => this.fit(true)), this.where);
    const arrow = make("marker", { id: `${id}-arrow`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
      make("path", { d: "M0 0L8 4L0 8z", fill: "#8d95a1" }));
    this.layer = make("g");
    this.svg = make("svg", { class: "canvas", role: "group", "aria-label": this.place.dataset.label }, make("defs", {}, arrow), this.layer);
    this.panel = make("div", { class: "graph-panel", tabindex: "0", role: "region", "aria-label": "The chosen node" });
    this.found = make("div", { class: "graph-found", hidden: true });
    this.place.replaceChildren(bar, this.found, make("div", { class: "graph-body" }, this.svg, this.panel));
    this.place.classList.add("drawn");
    this.input.addEventListener("input", () => this.search());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.found.hidden = true;
      if (event.key === "Enter") this.found.querySelector("button")?.click();
    });
    this.moves();
  }

  moves() {
    const points = new Map();
    let moved = 0;
    this.svg.addEventListener("pointerdown", (event) => { points.set(event.pointerId, [event.clientX, event.clientY]); moved = 0; });
    window.addEventListener("pointermove", (event) => {
      const old = points.get(event.pointerId);
      if (!old) return;
      const now = [event.clientX, event.clientY];
      moved += Math.abs(now[0] - old[0]) + Math.abs(now[1] - old[1]);
      if (points.size === 2) {
        const [other] = [...points].filter(([key]) => key !== event.pointerId).map(([, point]) => point);
        const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]);
        this.zoom(apart(now) / Math.max(1, apart(old)), ...this.local((now[0] + other[0]) / 2, (now[1] + other[1]) / 2));
      } else {
        this.x += now[0] - old[0];
        this.y += now[1] - old[1];
        this.apply();
      }
      points.set(event.pointerId, now);
    });
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, (event) => points.delete(event.pointerId));
    this.dragged = () => moved > 6;
    this.svg.addEventListener("wheel", (event) => {
      // A page has to scroll past the graph: only with a key, or a pinch, which browsers tell as that, it zooms.
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-(event.deltaY || event.deltaX) * 0.003), ...this.local(event.clientX, event.clientY));
    }, { passive: false });
    window.addEventListener("resize", () => this.apply());
  }

  local(x, y) {
    const box = this.svg.getBoundingClientRect();
    return [x - box.left, y - box.top];
  }

  zoom(factor, x = this.svg.clientWidth / 2, y = this.svg.clientHeight / 2) {
    const scale = Math.min(3, Math.max(0.05, this.scale * factor));
    this.x = x - (x - this.x) * (scale / this.scale);
    this.y = y - (y - this.y) * (scale / this.scale);
    this.scale = scale;
    this.apply();
  }

  apply() {
    this.layer.setAttribute("transform", `translate(${this.x} ${this.y}) scale(${this.scale})`);
  }

  /** All of it if that can be read, or is asked for; else the node at fault, or the beginning, in the middle. */
  fit(whole = false) {
    const { clientWidth: wide, clientHeight: high } = this.svg;
    const all = Math.min(1.15, (wide - 32) / this.width, (high - 32) / this.height);
    if (whole || all >= 0.55) {
      this.scale = Math.max(0.05, all);
      this.x = (wide - this.width * this.scale) / 2;
      this.y = (high - this.height * this.scale) / 2;
      this.apply();
    } else {
      this.scale = 0.9;
      this.centre(this.view.keyOf(this.view.focus));
    }
  }

  centre(key) {
    const box = this.drawn.get(key) ?? this.drawn.values().next().value;
    if (!box) return;
    this.x = this.svg.clientWidth / 2 - box.x * this.scale;
    this.y = this.svg.clientHeight / 2 - box.y * this.scale;
    this.apply();
  }

  home() {
    const [graph, node] = this.data.focus;
    this.path = graph === 0 ? [0] : [0, graph];
    this.show(graph, node);
    this.fit();
  }

  leave() {
    this.path.pop();
    this.show(this.path[this.path.length - 1]);
    this.fit();
  }

  enter(graph) {
    this.path.push(graph);
    this.show(graph);
    this.fit();
  }

  // ---- the drawing ----------------------------------------------------------------------------

  /** What stands in a box: its title, its rows and its size. */
  shape(box) {
    const [title, rows] = this.words(box);
    const head = width(title, "600 13px system-ui, sans-serif") + (box.kind === "node" ? 24 : 22);
    const wide = Math.max(head, ...rows.map(([name, text]) => width(`${name} ${text}`, "11.5px system-ui, sans-serif") + 24));
    return { title, rows, width: Math.max(56, Math.ceil(wide)), height: TOP + (rows.length ? rows.length * ROW + 8 : 0) };
  }

  words(box) {
    const { graph } = this;
    if (box.kind === "node") {
      const node = graph.nodes[box.nodes[0]];
      const rows = [...(node.consts ?? []).map(([label, text]) => [label, short(text, 34)]),
        ...(node.attrs ?? []).map(([name, text]) => [name, short(text, 30)]),
        ...(node.bodies ?? []).map(([name, at]) => [name, `${this.data.graphs[at].nodes.length} nodes ▸`])];
      const left = rows.length - ROWS;
      return [node.op, left > 0 ? [...rows.slice(0, ROWS), ["", `${left} more`]] : rows];
    }
    if (box.kind === "block") {
      const ops = [...new Set(box.nodes.slice(0, box.run.length).map((n) => graph.nodes[n].op))];
      const many = box.times > 1 ? `${box.times} × ` : "";
      return [`${many}block of ${box.run.length}`, [["", short(ops.join(", "), 40)]]];
    }
    if (box.kind === "stub") return [`${box.down ? "↓" : "↑"} ${box.hidden.size} more`, []];
    const [name, type] = graph.values[box.value];
    return [short(name, 32), box.kind === "outer" ? [["", "from outside"]] : type ? [["", short(type, 36)]] : []];
  }

  render() {
    const { boxes, edges, hidden } = this.view.visible();
    const drawing = new Graph({ multigraph: false });
    drawing.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 36, marginx: 18, marginy: 22 });
    drawing.setDefaultEdgeLabel(() => ({}));
    this.drawn = new Map();
    for (const [key, box] of boxes) {
      const shape = this.shape(box);
      drawing.setNode(key, shape);
      this.drawn.set(key, shape);
      shape.box = box;
    }
    for (const edge of edges) {
      const text = this.edgeText(edge);
      const label = text ? { text, width: width(text, "10.5px system-ui, sans-serif"), height: 12, labelpos: "c" } : {};
      drawing.setEdge(edge.from, edge.to, label);
    }
    layout(drawing);
    const size = drawing.graph();
    this.width = size.width;
    this.height = size.height;
    this.edges = edges.map((edge) => this.edge(edge, drawing.edge(edge.from, edge.to)));
    const shapes = [...this.drawn].map(([key, shape]) => this.box(key, shape));
    const texts = this.edges.flatMap((edge) => edge.text);
    this.layer.replaceChildren(...this.edges.map((edge) => edge.path), ...texts, ...shapes);
    this.say(hidden ?? 0);
  }

  say(hidden) {
    const many = this.graph.nodes.length;
    const name = this.path.length > 1 ? `${short(this.graph.name || "body", 30)}: ` : "";
    this.where.textContent = `${name}${many} node${many === 1 ? "" : "s"}${hidden ? `, ${hidden} boxes not shown yet` : ""}`;
    this.up.hidden = this.path.length < 2;
    this.back.hidden = !this.view.opened;
  }

  edgeText(edge) {
    if (edge.to.startsWith("o") || edge.from.startsWith("i")) return "";
    const types = [...new Set(edge.values.map(([value]) => this.graph.values[value][1]).filter(Boolean))];
    return short(types.join("; "), 34);
  }

  edge(edge, at) {
    const points = at.points;
    let d = `M${points[0].x} ${points[0].y}`;
    for (let k = 1; k < points.length - 1; k += 1) {
      const [p, q] = [points[k], points[k + 1]];
      const last = k === points.length - 2;
      d += `Q${p.x} ${p.y} ${last ? q.x : (p.x + q.x) / 2} ${last ? q.y : (p.y + q.y) / 2}`;
    }
    if (points.length === 2) d += `L${points[1].x} ${points[1].y}`;
    const path = make("path", { d, class: "edge", "marker-end": `url(#${this.place.id}-arrow)` });
    const text = at.text ? [make("text", { x: at.x, y: at.y + 4, "text-anchor": "middle", class: "edge-text" }, at.text)] : [];
    return { ...edge, path, text };
  }

  box(key, shape) {
    const { box, title, rows } = shape;
    const node = box.kind === "node" ? this.graph.nodes[box.nodes[0]] : null;
    const marked = node?.mark ?? (box.kind === "block" ? box.nodes.map((n) => this.graph.nodes[n].mark).find(Boolean) : null);
    const kind = { node: node?.group, block: "block", stub: "stub" }[box.kind] ?? "port";
    const [left, top] = [shape.x - shape.width / 2, shape.y - shape.height / 2];
    const act = () => { if (!this.dragged()) this.press(key, box); };
    const group = make("g", {
      class: ["node", kind, marked?.[0]].filter(Boolean).join(" "), transform: `translate(${left} ${top})`, role: "button", tabindex: "0",
      "data-key": key, onclick: act,
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.press(key, box); } },
    });
    const { width: wide, height: high } = shape;
    if (box.kind === "block" && box.times > 1) group.append(make("rect", { class: "box", x: 5, y: 5, width: wide, height: high, rx: 6 }));
    group.append(make("rect", { class: "box", width: wide, height: high, rx: 6 }));
    const round = rows.length ? `M0 ${TOP}V6Q0 0 6 0H${wide - 6}Q${wide} 0 ${wide} 6V${TOP}z` : null;
    group.append(round ? make("path", { class: "top", d: round }) : make("rect", { class: "top", x: 1, y: 1, width: wide - 2, height: high - 2, rx: 5 }));
    group.append(make("text", { class: "op", x: wide / 2, y: 16.5, "text-anchor": "middle" }, `${title} `));  // the spaces part words for who has them read
    rows.forEach(([name, text], at) => {
      group.append(make("text", { class: "row", x: 11, y: TOP + ROW * (at + 1) }, ...(name ? [make("tspan", {}, `${name} `)] : []), `${text} `));
    });
    if (marked) {
      const text = short(marked[1], 28);
      const size = width(text, "600 11px system-ui, sans-serif") + 14;
      group.append(make("rect", { class: "flag", x: wide - size + 6, y: -15, width: size, height: 18, rx: 9 }),
        make("text", { class: "flagged", x: wide - size / 2 + 6, y: -2, "text-anchor": "middle" }, text));
    }
    shape.group = group;
    return group;
  }

  // ---- what a reader does ---------------------------------------------------------------------

  press(key, box) {
    if (box.kind === "block") {
      this.view.openBlock(box);
      this.render();
      this.centre(this.view.keyOf(this.view.focus));
    } else if (box.kind === "stub") {
      this.view.openStub(box);
      this.render();
      this.centre(box.at);
    } else {
      this.choose(key);
    }
  }

  choose(key) {
    this.chosen = key;
    for (const [other, shape] of this.drawn) shape.group.classList.toggle("chosen", other === key);
    for (const edge of this.edges) edge.path.classList.toggle("lit", key !== null && (edge.from === key || edge.to === key));
    this.tell(key === null ? null : this.drawn.get(key)?.box);
  }

  tell(box) {
    const { graph } = this;
    if (!box) {
      const text = "Choose a node to see its attributes, constants and types. Drag to move; Ctrl and the wheel zoom.";
      this.panel.replaceChildren(make("p", { class: "note" }, text));
      return;
    }
    const parts = [];
    const list = (title, rows) => {
      if (!rows.length) return;
      parts.push(make("dt", {}, title));
      for (const [name, text] of rows) parts.push(make("dd", {}, name ? `${name}: ` : "", make("code", {}, text || "unknown")));
    };
    if (box.kind !== "node") {
      const [name, type] = graph.values[box.value];
      list({ input: "input", output: "output", outer: "value from outside" }[box.kind], [[name, type]]);
      this.panel.replaceChildren(make("dl", {}, ...parts));
      return;
    }
    const node = graph.nodes[box.nodes[0]];
    const value = (v) => graph.values[v];
    if (node.mark) parts.push(make("dt", {}, "marked"), make("dd", {}, make("b", {}, node.mark[1])));
    if (node.name) list("name", [["", node.name]]);
    if (node.domain) list("domain", [["", node.domain]]);
    list("inputs", node.in.map(([, v, label]) => [`${label} = ${value(v)[0]}`, value(v)[1]]));
    list("constants", (node.consts ?? []).map(([label, text, name]) => [`${label} = ${name}`, text]));
    list("attributes", node.attrs ?? []);
    list("outputs", node.out.map((v) => value(v)));
    const open = (node.bodies ?? []).map(([name, at]) =>
      make("button", { type: "button", onclick: () => this.enter(at) }, `Open ${name} (${this.data.graphs[at].nodes.length} nodes)`));
    this.panel.replaceChildren(make("h3", {}, node.op), make("dl", {}, ...parts), ...open);
  }

  search() {
    const word = this.input.value.trim().toLowerCase();
    this.found.hidden = !word;
    if (!word) return;
    const hits = [];
    for (const [at, graph] of this.data.graphs.entries()) {
      for (const [place, node] of graph.nodes.entries()) {
        const names = [node.op, node.name ?? "", ...node.out.map((v) => graph.values[v][0]), ...(node.consts ?? []).map((c) => c[2])];
        if (names.some((name) => name.toLowerCase().includes(word))) hits.push([at, place, node, graph]);
        if (hits.length >= 60) break;
      }
    }
    const rows = hits.slice(0, 60).map(([at, place, node, graph]) => make("button", {
      type: "button", onclick: () => {
        this.found.hidden = true;
        this.path = at === 0 ? [0] : [0, at];
        this.show(at, place);
        this.scale = Math.max(this.scale, 0.8);
        this.centre(`n${place}`);
      },
    }, make("b", {}, node.op), ` ${short(node.out.map((v) => graph.values[v][0]).join(", "), 50)}`));
    this.found.replaceChildren(...(rows.length ? rows : [make("p", {}, "Nothing is called so.")]));
  }
}
