"use strict";
// The report: Bokeh draws every chart when it comes near the screen; lines, choices, time, theme and filters are switched here.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const blocks = new Map(), drawn = new Map();

  function unpacked(name) {
    if (!blocks.has(name)) {
      const text = document.getElementById(`plots-${name}`).textContent;
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      blocks.set(name, new Response(stream).json());
    }
    return blocks.get(name);
  }

  // Drawing ----------------------------------------------------------------------------------------------------------
  async function draw(place) {
    if (place.dataset.drawn) return;
    place.dataset.drawn = "soon";
    const { items, frames } = await unpacked(place.dataset.plot), number = Number(place.dataset.number);
    place.id = `plot-${place.dataset.plot}-${number}`;
    const manager = await Bokeh.embed.embed_item({ ...items[number], target_id: place.id }, place.id);
    drawn.set(place, { model: manager.roots[0].model, frames: frames && frames[number] });
    theme(place);
    const box = place.closest(".chart");
    if (box) for (const button of all(".line", box)) switchLine(place, button.dataset.line, button.getAttribute("aria-pressed") === "true");
    if (frames) toFrame(place, Number(place.closest(".chart").querySelector("input").value));
    place.dataset.drawn = "yes";
  }

  function theme(place) {
    const { model } = drawn.get(place), ink = token("--ink"), line = token("--line");
    for (const axis of [...model.below, ...model.left]) {
      axis.setv({ axis_label_text_color: ink, major_label_text_color: ink, axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: null });
    }
    for (const grid of model.center) grid.setv({ grid_line_color: line });
    for (const one of model.renderers) {
      if (!one.tags.includes("ink")) continue;
      if ("line_color" in one.glyph) one.glyph.line_color = { value: ink };
      if ("fill_color" in one.glyph) one.glyph.fill_color = { value: ink };
    }
  }

  function switchLine(place, name, on) {
    for (const one of drawn.get(place)?.model.renderers ?? []) if (one.name === name) one.visible = on;
  }

  function toFrame(place, frame) {
    const { model, frames } = drawn.get(place), source = model.renderers[0].data_source;
    source.data = { ...source.data, share: frames[frame], shade: frames[frame].map(Math.sqrt) };
  }

  // Controls ---------------------------------------------------------------------------------------------------------
  for (const box of all(".chart")) {
    const places = all(".plot", box);
    // What is switched off stays so in the other charts of a choice.
    for (const button of all(".line", box)) {
      button.addEventListener("click", () => {
        const name = button.dataset.line, on = button.getAttribute("aria-pressed") !== "true";
        for (const same of all(".line", box)) if (same.dataset.line === name) same.setAttribute("aria-pressed", String(on));
        for (const place of places) switchLine(place, name, on);
      });
    }
    for (const button of all(".option", box)) {
      button.addEventListener("click", () => {
        all(".option", box).forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        all(".choice", box).forEach((part, i) => { part.hidden = i !== Number(button.dataset.option); });
      });
    }
    const slider = box.querySelector("input[type=range]");
    slider?.addEventListener("input", () => {
      box.querySelector("output").textContent = JSON.parse(slider.dataset.frames)[slider.value];
      for (const place of places) if (drawn.has(place)) toFrame(place, Number(slider.value));
    });
  }

  const tiles = all(".tile");
  function filter(tile) {
    tiles.forEach((other) => other.setAttribute("aria-pressed", String(other === tile)));
    for (const row of all(".claims tbody tr")) row.hidden = tile.dataset.verdict !== "" && row.dataset.verdict !== tile.dataset.verdict;
  }
  tiles.forEach((tile) => tile.addEventListener("click", () => filter(tile)));
  // A link to a claim that the filter hides shows all claims again. On click, before the browser looks for its target.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#claim-"]');
    if (link && document.getElementById(link.hash.slice(1)).hidden) filter(document.querySelector(".tile.all"));
  });
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    for (const place of drawn.keys()) theme(place);
  });

  // ------------------------------------------------------------------------------------------------------------------
  async function main() {
    const first = document.querySelector(".headline .plot");
    if (first) await draw(first);
    const near = new IntersectionObserver((seen) => {
      for (const one of seen) if (one.isIntersecting) draw(one.target);
    }, { rootMargin: "800px" });
    all(".plot").forEach((place) => near.observe(place));
    addEventListener("beforeprint", () => all(".plot").forEach(draw));
    document.body.dataset.ready = "yes";
  }
  main();
})();
