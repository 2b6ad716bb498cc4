"use strict";
/* The panel: what an agent has seen in a state, what it believes there, and why it does what it does. */

Lab.text = (tag, text, name) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text; /* names come from files: they are shown, never run */
  if (name) made.className = name;
  return made;
};

Lab.number = (v, digits = 3) => {
  if (v === null || v === undefined || Number.isNaN(v)) return "–";
  if (v !== 0 && (Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3)) return v.toExponential(1);
  return String(Number(v.toPrecision(digits)));
};

Lab.sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

Lab.actionsOf = (world, s) => Array.from({ length: world.actions }, (_, a) => a).filter((a) => world.allowed[s * world.actions + a]);

Lab.row = (cells, tag = "td") => {
  const made = document.createElement("tr");
  for (const cell of cells) made.append(Lab.text(tag, cell));
  return made;
};

Lab.table = (heads, rows) => {
  const box = Lab.text("div", undefined, "wide"), table = document.createElement("table");
  const head = document.createElement("thead"), body = document.createElement("tbody");
  head.append(Lab.row(heads, "th"));
  body.append(...rows);
  table.append(head, body);
  box.append(table);
  return box;
};

Lab.actionTable = (track, s, t, picked, pick) => {
  const { world } = track, frame = track.frameAt(t), chosen = track.policyAt(t, s), n = Lab.number;
  track.count(t);
  const rows = Lab.actionsOf(world, s).map((a) => {
    const i = s * world.actions + a, q = frame ? `${n(frame.q[i])} ± ${n(frame.spread[i], 2)}` : "–";
    const cells = [(a === chosen ? "➜ " : "") + world.actionName(a), String(track.pairs[i]), q, frame ? n(frame.information[i]) : "–"];
    const made = Lab.row(world.session ? cells : [...cells, n(world.rewards[i])]);
    if (a === chosen) made.className = "chosen";
    made.setAttribute("aria-selected", String(a === picked));
    made.tabIndex = 0;
    made.addEventListener("click", () => pick(a));
    made.addEventListener("keydown", (event) => { if (event.key === "Enter") pick(a); });
    return made;
  });
  const heads = ["action", "tried so far", "worth ± spread", world.session ? "Stein information" : "information"];
  return Lab.table(world.session ? heads : [...heads, "true reward"], rows);
};

Lab.outcomeTable = (track, s, a, t) => {
  const { world } = track, post = track.posterior(s, a, t), n = Lab.number;
  const rows = [...post.rows].sort((one, two) => two.p - one.p).slice(0, 5).map((o) =>
    Lab.row([world.stateName(o.y), String(o.n), o.sd === null ? n(o.p) : `${n(o.p)} ± ${n(o.sd, 2)}`, n(o.reward)]));
  if (post.known && post.unseen > 0) rows.push(Lab.row([`${post.unseen} never seen, together`, "0", n(post.rest), n(track.frameAt(t).prior[0])]));
  const box = document.createElement("div");
  const when = track.frameAt(t), words = post.known
    ? `Where “${world.actionName(a)}” leads, as believed ${world.session ? "after" : "at the plan of"} step ${when.time}; mean reward believed: `
    : `Where “${world.actionName(a)}” led so far${track.name === Lab.YOU ? "" : `; ${track.name} keeps no posterior of it`}.`;
  const line = Lab.text("p", words, "quiet");
  if (post.known) { const b = Lab.text("b", n(post.reward)); b.id = "believed"; line.append(b); }
  box.append(line);
  if (rows.length) box.append(Lab.table(["to", "seen", "probability", "reward"], rows));
  return box;
};

Lab.showPanel = (track, s, a, t, pick) => {
  const body = document.getElementById("panel-body");
  document.getElementById("panel-title").textContent = track.world.session ? track.world.stateName(s) : `${track.name} in ${track.world.stateName(s)}`;
  document.getElementById("panel-hint").hidden = true;
  track.count(t);
  const here = !track.world.session && track.stateAt(t) === s; /* a visit counts when the agent acts */
  body.replaceChildren(
    Lab.text("p", track.world.session ? Lab.best(track, s, t) : Lab.sentence(Lab.why(track, s, t)), "why"),
    Lab.text("p", `${track.visits[s]} ${track.visits[s] === 1 ? "visit" : "visits"} so far${here ? ", and it is here" : ""}. ${track.world.horizon ? "Values are those of the first step of an episode." : ""}`, "quiet"),
    Lab.actionTable(track, s, t, a, pick),
    Lab.outcomeTable(track, s, a, t),
  );
};
