"use strict";
/* The chart: Bokeh draws it; this gives it the numbers up to a time. */
Lab.Chart = class {
  constructor() { this.doc = null; this.drawn = -1; this.at = 0; }

  /* Make the chart of a figure, or none yet. */
  async make(figure, box) {
    box.replaceChildren();
    this.doc = null;
    if (!figure) return;
    if (!window.Bokeh) await new Promise((done) => { window.addEventListener("load", done); });
    const manager = await Bokeh.embed.embed_item({ ...figure, target_id: box.id }, box.id);
    this.doc = manager.roots[0].model.document;
    this.drawn = -1;
    this.theme();
  }

  show(name) { if (this.doc) this.doc.get_model_by_name(name).visible = true; }

  /* Draw if something is new and the last time is long enough ago. */
  keep(world, tracks, t, now, pause) {
    if (!this.doc || this.drawn === t || now - this.at <= pause) return;
    this.at = now;
    this.drawn = t;
    tracks.forEach((track, i) => {
      const source = this.doc.get_model_by_name(`curve-${i}`), end = Math.min(t, track.done), stride = Math.max(1, Math.ceil(end / 400));
      const x = [], y = [];
      const curve = world.session ? track.earned : track.regret;
      for (let k = 0; k <= end; k += stride) { x.push(k); y.push(curve[k]); }
      if (end % stride) { x.push(end); y.push(curve[end]); }
      source.data = { x, y };
    });
  }

  theme() {
    if (!this.doc) return;
    const ink = Lab.token("--ink"), line = Lab.token("--line");
    for (const root of this.doc.roots()) {
      for (const axis of [...root.below, ...root.left]) {
        axis.setv({ axis_label_text_color: ink, major_label_text_color: ink, axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: null });
      }
      for (const item of root.center) item.setv({ grid_line_color: line });
    }
  }
};
