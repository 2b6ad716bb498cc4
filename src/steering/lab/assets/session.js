"use strict";
/* A session of a real process: what was asked, suggested and told, with the reasons that were given. */

Lab.KEPT_ASKS = 8;

/* What is new about suggestions: made, told (in one part or two), or cancelled. */
Lab.takeNews = (track, header) => {
  track.byId ??= new Map();
  for (const one of header.news) {
    if (one.event === "ask") {
      const ask = { ...one, done: null };
      track.byId.set(one.id, ask);
      track.asks.push(ask);
      continue;
    }
    const ask = track.byId.get(one.id);
    if (ask) ask.done = { ...ask.done, ...one };
  }
  track.newsTo = header.newsTo;
};

/* Suggestions made before a time, the last ones first. */
Lab.asksAt = (track, t) => {
  let last = track.asks.length;
  while (last && track.asks[last - 1].t > t) last--;
  return track.asks.slice(Math.max(0, last - Lab.KEPT_ASKS), last).reverse();
};

Lab.when = (time) => new Date(1000 * time).toISOString().slice(0, 16).replace("T", " ");

/* What came of a suggestion, as far as it was known at a time. */
Lab.cameOf = (ask, t) => {
  const done = ask.done;
  if (!done || done.t > t) return "not told yet";
  if (done.event === "cancel") return "cancelled";
  const parts = [];
  if (done.action !== undefined && done.action !== ask.action) parts.push(`“${done.action}” instead`);
  if (done.reward !== undefined) parts.push(`reward ${Lab.number(done.reward, 6)}`);
  if (done.next !== undefined) parts.push(`to “${done.next}”`);
  if (done.done) parts.push("end of the episode");
  return parts.join(", ");
};

Lab.whyTable = (ask) => {
  const rows = ask.why.actions.map((one) => {
    const value = `${Lab.number(one.value)} ± ${Lab.number(one.spread, 2)}`, n = Lab.number;
    const cells = [(one.suggested ? "➜ " : "") + one.action + (one.best_known ? " (best known)" : ""), String(one.visits), value, n(one.reward), n(one.information), n(one.novelty)];
    const made = Lab.row("risk" in one ? [...cells, n(one.risk)] : cells);
    if (one.suggested) made.className = "chosen";
    return made;
  });
  const heads = ["action", "tried", "worth in all", "next reward", "information (nats)", "novelty"];
  return Lab.table(ask.why.actions.some((one) => "risk" in one) ? [...heads, "risk"] : heads, rows);
};

/* The suggestion in force at a time, or one that was picked, and the last few before it. */
Lab.showAsks = (track, t, picked, pick) => {
  const box = document.getElementById("asks-body"), asks = Lab.asksAt(track, t), ask = asks.find((one) => one.id === picked) ?? asks[0];
  if (!ask) {
    box.replaceChildren(Lab.text("p", "Nothing was asked so far; what happened was added or comes from a log.", "quiet"));
    return;
  }
  const about = ask.unit === undefined ? "" : ` (${ask.unit})`;
  const head = Lab.text("p", undefined, "asked"), line = Lab.text("p", ask.why ? ask.why.sentence : "No reasons were worked out.", "why");
  head.append(`${ask.id}. In “`, Lab.text("b", ask.state), `”${about}: `, Lab.text("b", ask.action, "suggested"));
  line.id = "reason";
  const found = [head, line];
  if (ask.why && ask.why.kind === "exploration") found.push(Lab.text("p", `Exploration: expected to cost ${Lab.number(ask.why.cost)}, to gain ${Lab.number(ask.why.gain)} on average and up to ${Lab.number(ask.why.upside)}.`, "quiet"));
  if (ask.why && ask.why.actions.length) found.push(Lab.whyTable(ask));
  const rows = asks.map((one) => {
    const made = Lab.row([String(one.id), one.unit === undefined ? one.state : `${one.state} (${one.unit})`, one.action, Lab.cameOf(one, t), Lab.when(one.time)]);
    made.setAttribute("aria-selected", String(one === ask));
    made.tabIndex = 0;
    made.addEventListener("click", () => pick(one.id));
    made.addEventListener("keydown", (event) => { if (event.key === "Enter") pick(one.id); });
    return made;
  });
  const list = Lab.table(["", "asked in", "suggested", "what came of it", "when (UTC)"], rows);
  list.id = "last-asks";
  found.push(list);
  box.replaceChildren(...found);
};

/* One sentence on the best known action of a state. */
Lab.best = (track, s, t) => {
  const { world } = track, chosen = track.policyAt(t, s), frame = track.frameAt(t);
  if (chosen === null) return "This agent keeps no belief about the process.";
  const others = Lab.actionsOf(world, s).filter((a) => a !== chosen), q = (a) => frame.q[s * world.actions + a];
  if (!others.length) return `Only “${world.actionName(chosen)}” may be done here.`;
  const rival = others.reduce((best, a) => (q(a) > q(best) ? a : best));
  return `Best known: “${world.actionName(chosen)}”, worth ${Lab.number(q(chosen))} in all against ${Lab.number(q(rival))} for “${world.actionName(rival)}”.`;
};

/* What a page about a session calls things. */
Lab.dressSession = (world, $) => {
  $("asks").hidden = false;
  $("plan").textContent = "next ask";
  $("regret").setAttribute("aria-label", "reward");
  $("regret").querySelector("h2").textContent = "Reward";
  $("regret").querySelector("p").textContent = "Everything that was earned so far; what comes from a log is part of it.";
  $("colour").querySelector("option[value=reward]").remove();
  $("arrows").parentElement.lastChild.textContent = " best known actions as arrows";
  for (const key of document.querySelectorAll(".keys kbd")) if (key.textContent === "n") key.nextSibling.textContent = " next ask, ";
  $("panel-hint").textContent = "Click or tap a state on the map to see what happened there and what is believed.";
};
