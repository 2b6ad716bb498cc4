"use strict";
// Charts of the report: lines with bands, heatmaps with a slider, and a choice between charts. No library, no request.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const tip = document.getElementById("tip");

  function node(name, attributes = {}, parent = null, text = null) {
    const svg = ["svg", "g", "path", "line", "rect", "text", "defs", "clipPath"].includes(name);
    const made = svg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  function show(event, heading, rows) {
    tip.replaceChildren(node("b", {}, null, heading));
    for (const [colour, text] of rows) {
      const line = node("div", {}, tip);
      if (colour) node("i", { style: `background:${colour}` }, line);
      line.append(text);
    }
    tip.hidden = false;
    const left = Math.min(event.pageX + 14, window.scrollX + document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(left, 4)}px`;
    tip.style.top = `${event.pageY + 16}px`;
  }
  const hide = () => { tip.hidden = true; };

  const number = (value) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    return size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(1) : String(Number(value.toPrecision(3)));
  };

  // Scales -----------------------------------------------------------------------------------------------------------
  function scale(low, high, from, to, log) {
    const f = log ? Math.log10 : (v) => v;
    const [a, b] = [f(low), f(high)];
    const span = b - a || 1;
    return { at: (v) => from + ((f(v) - a) / span) * (to - from), ticks: log ? logTicks(low, high) : linearTicks(low, high) };
  }
  function linearTicks(low, high) {
    const raw = (high - low) / 4 || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) found.push(Math.abs(v) < step * 1e-9 ? 0 : v);
    return found;
  }
  function logTicks(low, high) {
    const decades = Math.log10(high / low);
    const every = Math.max(1, Math.ceil(decades / 5));
    const found = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += 1) {
      for (const m of decades < 1.6 ? [1, 2, 5] : [1]) {
        const v = m * 10 ** e;
        if (v >= low * 0.999 && v <= high * 1.001 && (m > 1 || e % every === 0)) found.push(v);
      }
    }
    return found;
  }
  function range(panels, key, log) {
    let low = Infinity, high = -Infinity;
    const look = (v) => { if (v !== null && v !== undefined && (!log || v > 0)) { low = Math.min(low, v); high = Math.max(high, v); } };
    for (const panel of panels) {
      for (const s of panel.series) if (!s.off) for (const k of key === "x" ? ["x"] : ["mean", "low", "high"]) (s[k] || []).forEach(look);
      if (key === "y") (panel.marks || []).forEach((m) => look(m.y));
      if (key === "x") (panel.lines || []).forEach((m) => [m.low, m.x, m.high].forEach(look));
    }
    if (!Number.isFinite(low)) return log ? [1, 10] : [0, 1];
    if (low === high) return log ? [low / 2, high * 2] : [low - 1, high + 1];
    if (key === "x") return [low, high];
    const pad = (high - low) * 0.04;
    return log ? [low / 1.2, high * 1.2] : [low - pad, high + pad];
  }

  // Lines ------------------------------------------------------------------------------------------------------------
  // Margins of a panel; its size (W, H) is smaller where many stand side by side, so that text stays readable.
  const L = 52, R = 10, T = 8, B = 40;
  let clips = 0;

  // What can be switched on and off: series, and vertical lines.
  const entries = (panel) => [...panel.series, ...(panel.lines || [])];

  // `switched` remembers, by name, what the reader switched, also where one chart takes the place of another.
  function lines(box, chart, switched) {
    const alone = chart.panels.length === 1;
    [chart.W, chart.H] = chart.columns === 4 ? [270, 220] : alone && box.clientWidth > 700 ? [860, 340] : [380, 270];
    for (const panel of chart.panels) for (const s of entries(panel)) s.off = switched.has(s.name) ? switched.get(s.name) : Boolean(s.hidden);
    legend(box, chart, switched, () => paint());
    const layout = alone ? "one" : { 2: "two", 4: "four" }[chart.columns] || "";
    const grid = node("div", { class: `panels ${layout}` }, box);
    const holders = chart.panels.map((panel) => {
      const holder = node("div", { class: "panel" }, grid);
      node("h3", {}, holder, panel.title);
      return [panel, node("svg", { viewBox: `0 0 ${chart.W} ${chart.H}`, role: "img", "aria-label": `${chart.title}: ${panel.title}` }, holder)];
    });
    node("p", { class: "note" }, box, `Size: ${chart.size}. Band: ${chart.band}. Hover or touch for numbers; names switch lines on and off.`);
    const paint = () => {
      for (const [panel, svg] of holders) {
        svg.replaceChildren();
        one(svg, chart, panel, chart.share_y ? chart.panels : [panel]);
      }
    };
    paint();
  }

  function legend(box, chart, switched, changed) {
    const names = new Map();
    for (const panel of chart.panels) for (const s of entries(panel)) if (!names.has(s.name)) names.set(s.name, s);
    const bar = node("div", { class: "legend", role: "group", "aria-label": "lines" }, box);
    for (const [name, first] of names) {
      const button = node("button", { type: "button", "aria-pressed": String(!first.off) }, bar);
      const swatch = node("svg", { viewBox: "0 0 26 8", "aria-hidden": "true" }, button);
      node("path", { d: "M0 4H26", stroke: first.colour, "stroke-width": 3, "stroke-dasharray": first.dash, class: "series" }, swatch);
      button.append(name);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        switched.set(name, !on);
        for (const panel of chart.panels) for (const s of entries(panel)) if (s.name === name) s.off = !on;
        changed();
      });
    }
  }

  function one(svg, chart, panel, sharing) {
    const { W, H } = chart;
    const x = scale(...range([panel], "x", chart.logx), L, W - R, chart.logx);
    const y = scale(...(panel.ylim || chart.ylim || range(sharing, "y", chart.logy)), H - B, T, chart.logy);
    for (const v of x.ticks) {
      node("line", { x1: x.at(v), x2: x.at(v), y1: T, y2: H - B, class: "rule" }, svg);
      const anchor = x.at(v) > W - R - 12 ? "end" : "middle";
      node("text", { x: x.at(v), y: H - B + 14, "text-anchor": anchor }, svg, number(v));
    }
    for (const v of y.ticks) {
      node("line", { x1: L, x2: W - R, y1: y.at(v), y2: y.at(v), class: "rule" }, svg);
      node("text", { x: L - 5, y: y.at(v) + 4, "text-anchor": "end" }, svg, number(v));
    }
    node("line", { x1: L, x2: W - R, y1: H - B, y2: H - B, class: "axis" }, svg);
    node("line", { x1: L, x2: L, y1: T, y2: H - B, class: "axis" }, svg);
    node("text", { x: (L + W - R) / 2, y: H - 8, "text-anchor": "middle" }, svg, chart.xlabel);
    node("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(10 ${(T + H - B) / 2}) rotate(-90)` }, svg, chart.ylabel);
    const good = (v) => v !== null && v !== undefined && (!chart.logy || v > 0);
    const shown = panel.series.filter((s) => !s.off);
    // What leaves the axes is cut there, not drawn along their edge.
    const clip = `clip${(clips += 1)}`;
    node("rect", { x: L, y: T, width: W - L - R, height: H - B - T }, node("clipPath", { id: clip }, node("defs", {}, svg)));
    const inner = node("g", { "clip-path": `url(#${clip})` }, svg);
    for (const s of shown) band(inner, s, x, y, chart);
    for (const s of shown) {
      let d = "", pen = false;
      s.x.forEach((v, i) => {
        if (!good(s.mean[i]) || (chart.logx && v <= 0)) { pen = false; return; }
        d += `${pen ? "L" : "M"}${x.at(v).toFixed(1)} ${y.at(s.mean[i]).toFixed(1)}`;
        pen = true;
      });
      node("path", { d, fill: "none", stroke: s.colour, "stroke-width": 1.8, "stroke-dasharray": s.dash, class: "series" }, inner);
    }
    for (const m of panel.marks || []) {
      node("line", { x1: L, x2: W - R, y1: y.at(m.y), y2: y.at(m.y), class: "mark" }, svg);
      node("text", { x: W - R - 2, y: y.at(m.y) - 4, "text-anchor": "end" }, svg, m.name);
    }
    for (const m of (panel.lines || []).filter((line) => !line.off)) {
      if (m.low !== null) node("rect", { x: x.at(m.low), y: T, width: x.at(m.high) - x.at(m.low), height: H - B - T, fill: m.colour, opacity: 0.1 }, inner);
      node("line", { x1: x.at(m.x), x2: x.at(m.x), y1: T, y2: H - B, stroke: m.colour, "stroke-dasharray": m.dash, class: "vertical" }, inner);
    }
    hover(svg, chart, panel, shown, x);
  }

  function band(svg, s, x, y, chart) {
    if (!s.low) return;
    const up = [], down = [];
    const floor = chart.H - B, logy = chart.logy;
    s.x.forEach((v, i) => {
      if (s.high[i] === null || (logy && s.high[i] <= 0) || !Number.isFinite(x.at(v))) return;
      up.push(`${x.at(v).toFixed(1)} ${y.at(s.high[i]).toFixed(1)}`);
      down.unshift(`${x.at(v).toFixed(1)} ${(logy && s.low[i] <= 0 ? floor : y.at(s.low[i])).toFixed(1)}`);
    });
    if (up.length) node("path", { d: `M${[...up, ...down].join("L")}Z`, fill: s.colour, opacity: 0.16, class: "series" }, svg);
  }

  function hover(svg, chart, panel, shown, x) {
    const { W, H } = chart;
    const cursor = node("line", { x1: 0, x2: 0, y1: T, y2: H - B, class: "axis", visibility: "hidden" }, svg);
    const area = node("rect", { x: L, y: T, width: W - L - R, height: H - B - T, fill: "transparent" }, svg);
    area.addEventListener("pointermove", (event) => {
      const frame = svg.getBoundingClientRect();
      const px = ((event.clientX - frame.left) / frame.width) * W;
      const near = (s) => s.x.reduce((best, v, i) => (Math.abs(x.at(v) - px) < Math.abs(x.at(s.x[best]) - px) ? i : best), 0);
      const rows = shown.map((s) => {
        const i = near(s);
        const interval = s.low ? ` [${number(s.low[i])}, ${number(s.high[i])}]` : "";
        return [s.mean[i], [s.colour, `${s.name}: ${number(s.mean[i])}${interval}`]];
      });
      if (!rows.length) return;
      rows.sort((a, b) => b[0] - a[0]);
      const at = shown[0].x[near(shown[0])];
      cursor.setAttribute("x1", x.at(at));
      cursor.setAttribute("x2", x.at(at));
      cursor.setAttribute("visibility", "visible");
      for (const m of panel.lines || []) if (!m.off) rows.push([0, [null, `${m.name}: ${number(m.x)}${m.low === null ? "" : ` [${number(m.low)}, ${number(m.high)}]`}`]]);
      show(event, `${chart.xlabel} ${number(at)}`, rows.map((row) => row[1]));
    });
    area.addEventListener("pointerleave", () => { cursor.setAttribute("visibility", "hidden"); hide(); });
  }

  // Heatmaps ---------------------------------------------------------------------------------------------------------
  function heat(box, chart) {
    const bar = node("div", { class: "slider" }, box);
    const label = node("label", {}, bar, "time ");
    const slider = node("input", { type: "range", min: 0, max: chart.frames.length - 1, value: chart.frames.length - 1, "aria-label": "window of time" }, bar);
    const said = node("output", {}, bar);
    label.append(slider);
    label.style.display = "contents";
    const grid = node("div", { class: "panels" }, box);
    const cell = 22, left = 40, top = 4, columns = chart.columns.length, rows = chart.rows.length;
    const width = left + columns * cell + 4, height = top + rows * cell * 2 + 34;
    const maps = chart.panels.map((panel) => {
      const holder = node("div", { class: "panel" }, grid);
      node("h3", {}, holder, panel.title);
      const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${chart.title}: ${panel.title}` }, holder);
      const cells = [];
      chart.rows.forEach((row, r) => {
        node("text", { x: left - 4, y: top + (r + 0.5) * cell * 2 + 4, "text-anchor": "end" }, svg, row);
        chart.columns.forEach((column, c) => {
          const rect = node("rect", { x: left + c * cell, y: top + r * cell * 2, width: cell - 1, height: cell * 2 - 1 }, svg);
          rect.addEventListener("pointermove", (event) =>
            show(event, panel.title, [[null, `state ${column}, ${row}: ${(100 * panel.frames[slider.value][r][c]).toFixed(1)} % of visits`]]));
          rect.addEventListener("pointerleave", hide);
          cells.push([rect, r, c]);
        });
      });
      chart.columns.forEach((column, c) => {
        if (c % 2 === 0) node("text", { x: left + (c + 0.5) * cell, y: top + rows * cell * 2 + 13, "text-anchor": "middle" }, svg, column);
      });
      node("text", { x: left + (columns * cell) / 2, y: height - 4, "text-anchor": "middle" }, svg, chart.xlabel);
      return [panel, cells];
    });
    const paint = () => {
      said.textContent = chart.frames[slider.value];
      for (const [panel, cells] of maps) {
        for (const [rect, r, c] of cells) {
          const share = panel.frames[slider.value][r][c] / chart.top;
          rect.setAttribute("style", `fill: rgba(var(--heat), ${(0.05 + 0.95 * Math.sqrt(share)).toFixed(3)})`);
        }
      }
    };
    slider.addEventListener("input", paint);
    node("p", { class: "note" }, box, `Size: ${chart.size}. Shade: square root of the share of visits in the window, mean over seeds. Drag the slider through time.`);
    paint();
  }

  // Choice -----------------------------------------------------------------------------------------------------------
  function choice(box, chart, switched) {
    const bar = node("div", { class: "options", role: "group", "aria-label": chart.label }, box);
    const inner = node("div", {}, box);
    const buttons = chart.options.map((option, i) => {
      const button = node("button", { type: "button", "aria-pressed": String(i === 0) }, bar, option);
      button.addEventListener("click", () => {
        buttons.forEach((other, j) => other.setAttribute("aria-pressed", String(i === j)));
        inner.replaceChildren();
        draw(inner, chart.charts[i], switched);
      });
      return button;
    });
    bar.prepend(`${chart.label}: `);
    draw(inner, chart.charts[0], switched);
  }

  function draw(box, chart, switched = new Map()) {
    ({ lines, heat, choice })[chart.type](box, chart, switched);
  }

  for (const box of document.querySelectorAll("[data-chart]")) {
    draw(box, JSON.parse(document.getElementById(box.dataset.chart).textContent));
  }

  // Claims and theme -------------------------------------------------------------------------------------------------
  const tiles = document.querySelectorAll(".tile");
  function filter(tile) {
    tiles.forEach((other) => other.setAttribute("aria-pressed", String(other === tile)));
    for (const row of document.querySelectorAll(".claims tbody tr")) {
      row.hidden = tile.dataset.verdict !== "" && row.dataset.verdict !== tile.dataset.verdict;
    }
  }
  tiles.forEach((tile) => tile.addEventListener("click", () => filter(tile)));
  // A link to a claim that the filter hides shows all claims again. On click, before the browser looks for its target.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#claim-"]');
    if (link && document.getElementById(link.hash.slice(1)).hidden) filter(document.querySelector(".tile.all"));
  });
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
