// What the script adds to pages that can be read without it: graphs, filters, copying and reloading.
import { drawGraph } from "./graph.js";

function copyButtons() {
  for (const button of document.querySelectorAll("button.copy")) {
    const text = button.parentElement.querySelector("pre").textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const done = await copy(text);
      button.textContent = done ? "Copied" : "Select and copy";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
}

/** The clipboard is closed to pages from files in some browsers; a selection is not. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function filters() {
  const input = document.querySelector("input[data-filter]");
  if (!input) return;
  const name = input.dataset.filter;
  const bodies = [...document.querySelectorAll(`#${name}-table tbody`)];
  const texts = bodies.map((body) => body.textContent.toLowerCase());
  const buttons = [...document.querySelectorAll("button[data-state]")];
  const count = document.querySelector(`[data-count="${name}"]`);
  let state = "all";
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    bodies.forEach((body, place) => {
      const fits = (state === "all" || body.dataset.states.split(" ").includes(state))
        && words.every((word) => texts[place].includes(word));
      body.hidden = !fits;
      shown += fits;
    });
    count.textContent = shown === bodies.length ? `${shown} cause${shown === 1 ? "" : "s"}` : `${shown} of ${bodies.length} causes`;
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      state = button.dataset.state;
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      apply();
    });
  }
  input.addEventListener("input", apply);
  input.closest(".controls").hidden = false;
  apply();
}

function refresh() {
  const button = document.querySelector("button[data-refresh]");
  if (!button) return;
  let timer = setTimeout(() => location.reload(), 1000 * Number(button.dataset.refresh));
  button.hidden = false;
  button.addEventListener("click", () => {
    clearTimeout(timer);
    timer = 0;
    button.textContent = "Refreshing stopped";
    button.disabled = true;
  });
}

/** Graphs in a closed `details` are drawn when it is opened: they have no size before. */
function graphs() {
  for (const place of document.querySelectorAll(".graph[data-graph]")) {
    const draw = () => drawGraph(place, JSON.parse(document.getElementById(place.dataset.graph).textContent));
    const details = place.closest("details");
    if (!details || details.open) draw();
    else details.addEventListener("toggle", draw, { once: true });
  }
}

function start() {
  copyButtons();
  filters();
  refresh();
  graphs();
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
