"use strict";
/* The map: cells or a graph on a canvas, coloured by one number for each state, with the plan and the agent. */

/* Viridis, which keeps its order for every kind of colour vision and in grey. */
Lab.VIRIDIS = [[68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37]];

Lab.shade = (x) => {
  const place = Math.max(0, Math.min(1, x)) * (Lab.VIRIDIS.length - 1), i = Math.min(Math.floor(place), Lab.VIRIDIS.length - 2), f = place - i;
  return Lab.VIRIDIS[i].map((c, k) => Math.round(c + f * (Lab.VIRIDIS[i + 1][k] - c)));
};
Lab.RAMP = Array.from({ length: 256 }, (_, i) => Lab.shade(i / 255));
Lab.UNKNOWN = [128, 128, 128];
/* The same as pixels of an image, four bytes each; the last one is for what is not known. */
Lab.PIXELS = new Uint32Array(new Uint8Array([...Lab.RAMP, Lab.UNKNOWN].flatMap((rgb) => [...rgb, 255])).buffer);
Lab.dark = (rgb) => 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2] <= 125;
Lab.css = (rgb) => `rgb(${rgb[0]},${rgb[1]},${rgb[2]})`;
Lab.token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/* One number for each state at a time; NaN where nothing is known. */
Lab.values = (track, kind, t) => {
  const { states: S, actions: A, allowed, rewards } = track.world, out = new Float64Array(S).fill(NaN);
  if (kind === "visits") { track.count(t); for (let s = 0; s < S; s++) out[s] = track.visits[s]; return out; }
  const frame = track.frameAt(t);
  const table = kind === "reward" ? rewards : frame && (kind === "value" ? frame.q : frame[kind]);
  if (!table) return out;
  for (let s = 0; s < S; s++) {
    for (let a = 0; a < A; a++) {
      const v = table[s * A + a];
      if (allowed[s * A + a] && !Number.isNaN(v) && !(v <= out[s])) out[s] = v;
    }
  }
  return out;
};

/* The scale that all maps share: [low, high], and whether it is logarithmic. */
Lab.scale = (lists, kind) => {
  let low = Infinity, high = -Infinity;
  for (const list of lists) for (const v of list) if (!Number.isNaN(v)) { if (v < low) low = v; if (v > high) high = v; }
  if (low > high) return { low: NaN, high: NaN, log: false };
  if (kind === "visits") return { low: 0, high: Math.max(high, 1), log: true };
  if (kind === "spread" || kind === "information") low = 0;
  return { low, high, log: false };
};
Lab.fraction = (v, { low, high, log }) => log ? Math.log1p(v) / Math.log1p(high) : high > low ? (v - low) / (high - low) : 0;

Lab.DIRECTIONS = { left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1] };

Lab.Map = class {
  constructor(canvas, track, colour) {
    Object.assign(this, { canvas, track, colour, world: track.world, picked: null });
    this.raster = document.createElement("canvas");
    this.lines = document.createElement("canvas"); /* what does not move: walls, the grid, the edges of a graph */
    this.size();
  }

  /* Sizes follow the width of the canvas on the page. */
  size() {
    const { layout } = this.world, ratio = window.devicePixelRatio || 1;
    const wide = this.canvas.clientWidth || 320, roof = Math.max(220, Math.min(window.innerHeight * 0.55, 560));
    if (layout.kind === "graph") {
      this.cell = 0;
      this.high = Math.min(wide, roof);
      this.radius = Math.max(7, Math.min(24, 2.2 * Math.sqrt((wide * this.high) / this.world.states) / 6));
      const pad = this.radius + 18;
      this.place = (s) => [pad + this.world.x[s] * (wide - 2 * pad), pad + this.world.y[s] * (this.high - 2 * pad)];
    } else {
      this.cell = Math.min((wide - 2) / layout.width, (roof - 2) / layout.height, 90);
      this.left = (wide - this.cell * layout.width) / 2;
      this.high = this.cell * layout.height + 2;
      this.place = (s) => [this.left + (this.world.x[s] + 0.5) * this.cell, 1 + (this.world.y[s] + 0.5) * this.cell];
    }
    this.wide = wide;
    this.canvas.style.height = `${this.high}px`;
    this.canvas.width = Math.round(wide * ratio);
    this.canvas.height = Math.round(this.high * ratio);
    this.ratio = ratio;
    this.pen = this.canvas.getContext("2d");
    this.drawnLines = "";
  }

  draw(t, values, scale, arrows) {
    const pen = this.pen;
    this.ink = Lab.token("--ink");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.wide, this.high);
    const level = (s) => Number.isNaN(values[s]) ? 256 : Math.round(255 * Math.max(0, Math.min(1, Lab.fraction(values[s], scale))));
    const tone = (s) => Lab.RAMP[level(s)] ?? Lab.UNKNOWN;
    if (this.cell) this.cells(level); else this.graph(tone);
    const room = this.cell || this.radius * 2;
    if (arrows && room >= 12) this.arrows(t, tone, room);
    if (!this.cell && this.world.states <= 40) this.names();
    else if (room >= 46 && !(this.world.layout.kind === "grid" && this.world.stateNames.length)) this.labels(tone, room);
    this.marks(t, room);
  }

  /* Names of states below the discs of a graph. */
  names() {
    const { pen, world } = this;
    pen.font = "13px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.fillStyle = this.ink;
    for (let s = 0; s < world.states; s++) {
      const [x, y] = this.place(s), name = world.stateNames.length ? world.stateNames[s] : String(s);
      pen.fillText(name.length > 18 ? `${name.slice(0, 17)}…` : name, x, y + this.radius + 13, 120);
    }
  }

  /* Names of states, in large cells. */
  labels(tone, room) {
    const { pen, world } = this;
    pen.font = "13px system-ui, sans-serif";
    pen.textAlign = "left";
    for (let s = 0; s < world.states; s++) {
      const [x, y] = this.place(s), rgb = tone(s);
      pen.fillStyle = Lab.dark(rgb) ? "#fff" : "#111";
      pen.fillText(world.stateNames.length ? world.stateNames[s] : String(s), x - room / 2 + 5, y + room / 2 - 6, room - 8);
    }
  }

  cells(level) {
    const { layout, states, x, y } = this.world, { pen, cell, left } = this;
    if (this.raster.width !== layout.width || !this.image) {
      this.raster.width = layout.width;
      this.raster.height = layout.height;
      this.image = this.raster.getContext("2d").createImageData(layout.width, layout.height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    for (let s = 0; s < states; s++) this.pixels[y[s] * layout.width + x[s]] = Lab.PIXELS[level(s)];
    this.raster.getContext("2d").putImageData(this.image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.raster, left, 1, cell * layout.width, cell * layout.height);
    this.still((lines) => this.walls(lines));
  }

  /* Lines are drawn once for each size and theme, and then copied. */
  still(work) {
    const key = [this.canvas.width, this.canvas.height, this.ink, this.world.edges.length].join();
    if (key !== this.drawnLines) {
      this.drawnLines = key;
      this.lines.width = this.canvas.width;
      this.lines.height = this.canvas.height;
      const lines = this.lines.getContext("2d");
      lines.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      work(lines);
    }
    this.pen.drawImage(this.lines, 0, 0, this.wide, this.high);
  }

  walls(pen) {
    const { states, x, y, walls } = this.world, { cell, left } = this;
    if (cell >= 8) {
      pen.strokeStyle = Lab.token("--card");
      pen.lineWidth = 1;
      for (let s = 0; s < states; s++) pen.strokeRect(left + x[s] * cell, 1 + y[s] * cell, cell, cell);
    }
    pen.lineCap = "round";
    pen.beginPath();
    for (let i = 0; i < walls.length; i += 3) {
      const cx = left + walls[i + 1] * cell, cy = 1 + walls[i] * cell;
      if (walls[i + 2] === 0) { pen.moveTo(cx + cell, cy); pen.lineTo(cx + cell, cy + cell); }
      else { pen.moveTo(cx, cy + cell); pen.lineTo(cx + cell, cy + cell); }
    }
    /* Dark around light is seen on every shade. */
    const thick = Math.max(1, Math.min(4, cell / 8));
    pen.strokeStyle = "#111";
    pen.lineWidth = thick + 2;
    pen.stroke();
    pen.strokeStyle = "#fff";
    pen.lineWidth = thick;
    pen.stroke();
  }

  edges(pen) {
    const { edges } = this.world;
    pen.strokeStyle = Lab.token("--line");
    pen.lineWidth = 1;
    pen.beginPath();
    for (let i = 0; i < edges.length; i += 2) {
      pen.moveTo(...this.place(edges[i]));
      pen.lineTo(...this.place(edges[i + 1]));
    }
    pen.stroke();
  }

  graph(tone) {
    const { pen, world, radius } = this;
    this.still((lines) => this.edges(lines));
    pen.lineWidth = 1;
    for (let s = 0; s < world.states; s++) {
      pen.fillStyle = Lab.css(tone(s));
      pen.beginPath();
      pen.arc(...this.place(s), radius, 0, 2 * Math.PI);
      pen.fill();
      pen.strokeStyle = this.ink;
      pen.stroke();
    }
  }

  /* The plan: an arrow towards where the chosen action most likely leads, a dot where it stays, a ring where it jumps.
     An action that is named after a direction points there, also where it most likely fails. Faint: never been there. */
  arrows(t, tone, room) {
    const { pen, world } = this, long = Math.min(room * 0.36, 20);
    this.track.count(t);
    for (let s = 0; s < world.states; s++) {
      const a = this.track.policyAt(t, s);
      if (a === null) continue;
      const [x, y] = this.place(s), to = this.track.wayOf(s, a), [tx, ty] = this.place(to);
      const rgb = tone(s), named = to === s && this.cell ? Lab.DIRECTIONS[world.actionName(a)] : undefined;
      pen.strokeStyle = pen.fillStyle = Lab.dark(rgb) ? "#fff" : "#111";
      pen.globalAlpha = this.track.visits[s] ? 1 : 0.35;
      pen.lineWidth = Math.max(1.5, Math.min(3, room / 14));
      const [dx, dy] = named ?? [tx - x, ty - y], far = Math.hypot(dx, dy), yy = y;
      pen.beginPath();
      if (to === s && !named) { pen.arc(x, yy, Math.max(1.5, room / 14), 0, 2 * Math.PI); pen.fill(); continue; }
      if (this.cell && far > this.cell * 1.5) { pen.arc(x, yy, room / 7, 0, 1.6 * Math.PI); pen.stroke(); continue; }
      const ux = dx / far, uy = dy / far, ex = x + ux * long, ey = yy + uy * long, head = long * 0.55;
      pen.moveTo(x - ux * long * 0.8, yy - uy * long * 0.8);
      pen.lineTo(ex, ey);
      pen.moveTo(ex - head * (ux + uy), ey - head * (uy - ux));
      pen.lineTo(ex, ey);
      pen.lineTo(ex - head * (ux - uy), ey - head * (uy + ux));
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  /* Best reward (star), picked state (frame), the agent (disc in its colour). */
  marks(t, room) {
    const { pen, world } = this;
    if (room >= 10 || world.stars.length <= 20) {
      for (const s of world.stars) {
        const [x, y] = this.place(s), aside = room >= 24 ? room * 0.27 : 0;
        this.star(x + aside, y - aside, Math.max(room < 10 ? 6 : 7, Math.min(room * 0.2, 12)));
      }
    }
    if (this.picked !== null) {
      const [x, y] = this.place(this.picked), half = Math.max(room / 2, 4);
      pen.strokeStyle = "#CC79A7";
      pen.lineWidth = 4;
      pen.strokeRect(x - half + 2, y - half + 2, 2 * half - 4, 2 * half - 4);
    }
    const [x, y] = this.place(this.track.stateAt(t)), size = Math.max(5, Math.min(room * 0.28, 16));
    pen.fillStyle = this.colour;
    pen.strokeStyle = "#fff";
    pen.lineWidth = Math.max(2, size / 4);
    pen.beginPath();
    pen.arc(x, y, size, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
    pen.strokeStyle = "#111";
    pen.lineWidth = 1;
    pen.stroke();
  }

  star(x, y, size) {
    const pen = this.pen;
    pen.beginPath();
    for (let i = 0; i < 10; i++) {
      const r = i % 2 ? size * 0.42 : size, angle = -Math.PI / 2 + (i * Math.PI) / 5;
      pen.lineTo(x + r * Math.cos(angle), y + r * Math.sin(angle));
    }
    pen.closePath();
    pen.fillStyle = "#E69F00";
    pen.strokeStyle = "#111";
    pen.lineWidth = 1;
    pen.fill();
    pen.stroke();
  }

  /* The state under a point of the page, or null. */
  hit(clientX, clientY) {
    const box = this.canvas.getBoundingClientRect(), x = clientX - box.left, y = clientY - box.top;
    let best = null, least = Math.max(this.cell * 0.71, this.radius ?? 0, 6);
    for (let s = 0; s < this.world.states; s++) {
      const [px, py] = this.place(s), far = Math.hypot(px - x, py - y);
      if (far <= least) { least = far; best = s; }
    }
    return best;
  }
};
