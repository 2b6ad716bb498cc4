"use strict";
/* Sentences: what the colours mean, how an agent fares, and why it does what it does. */

Lab.YOU = "you";

Lab.MEANINGS = {
  visits: "How often each state was visited; dark: never.",
  value: "The reward that the agent expects from here on, by its own belief.",
  spread: "How unsure the agent is about that value (standard deviation of Q).",
  information: "How much there is left to learn here (Stein information); dark: known.",
  reward: "What the best action here truly pays at once; the agents are not told.",
};

/* Amounts as people read them: whole numbers as such, others with four digits. */
Lab.amount = (v) => {
  const near = Math.round(v);
  if (Math.abs(v - near) < 1e-9 * Math.max(1, Math.abs(v)) || Math.abs(v) >= 1000) return String(near);
  return Lab.number(v, 4);
};
Lab.show = (box, v) => {
  box.textContent = Lab.amount(v);
  box.title = String(v); /* in full, under the pointer */
};

Lab.times = (n) => n === 0 ? "never" : n === 1 ? "once" : `${n} times`;

/* The words of a map, at a time that the agent has reached. */
Lab.describe = (words, track, here, t) => {
  const { world } = track, found = Lab.lastAt(track.firsts, here - 1) + 1, box = words.querySelector(".found");
  Lab.show(words.querySelector(".reward"), track.earned[here]);
  if (world.session) {
    const asked = Lab.lastAt(track.plans, here) + 1;
    box.textContent = track.error ?? `${here} ${here === 1 ? "step" : "steps"} learned, ${asked} ${asked === 1 ? "suggestion" : "suggestions"} so far.`;
    return;
  }
  Lab.show(words.querySelector(".regret"), track.regret[here]);
  track.count(here);
  const text = found ? `Got the best reward ★ ${Lab.times(found)}, first in step ${track.firsts[0] + 1}.` : "Has not found the best reward ★ yet.";
  const places = track.places + (track.visits[track.stateAt(here)] ? 0 : 1); /* it is where it stands, too */
  const seen = `Has been in ${places} of ${world.states} states and tried ${track.tried} of ${world.choices} actions there.`;
  const late = !track.finished && here < t && track.name !== Lab.YOU ? ` It is slow: still at step ${here}.` : "";
  box.textContent = track.error ? `stopped: ${track.error}` : `${text} ${seen}${late}`;
};

/* Why an agent does what it does where it is, with the step: while the picture moves on, the sentence may stay. */
Lab.now = (track, here) => {
  const s = track.stateAt(here), name = track.world.stateName(s);
  return here >= track.world.steps ? "The run is over." : `At step ${here}, in ${/^state /.test(name) ? name : `“${name}”`}: ${Lab.why(track, s, here)}`;
};

/* Some sentences on the chosen action. Everything in them, values, visits and the action itself, is of one plan, which
   they name: the last one whose belief was recorded. Where the plan in force says something else, they give no reason. */
Lab.why = (track, s, t) => {
  const { world } = track, frame = track.frameAt(t), plan = track.planAt(t), chosen = track.policyAt(t, s);
  if (!track.plans.length) return "it is still making its first plan.";
  if (chosen === null) return `${track.name} keeps no plan as a table; it chooses each action when it gets there.`;
  const name = (a) => `“${world.actionName(a)}”`, others = Lab.actionsOf(world, s).filter((a) => a !== chosen);
  if (!others.length) return `there is only one action, ${name(chosen)}.`;
  track.count(t);
  const at = Lab.beliefOf(track, s, frame);
  if (!frame || Number.isNaN(at.q(chosen))) return `the plan says ${name(chosen)}, tried ${Lab.times(track.triedBefore(s, chosen, t))} here.`;
  const rival = others.reduce((best, a) => (at.q(a) > at.q(best) ? a : best));
  const guess = (when) => track.draws ? ` It follows the guess of the world that it drew at step ${when}; there ${name(chosen)} is the better way.` : "";
  if (track.policyAt(t, s, frame.time) !== chosen) return `its plan of step ${plan} says ${name(chosen)}. The belief of that plan was not recorded; by that of step ${frame.time} ${name(chosen)} is worth ${at.worth(chosen)}, ${name(rival)} ${at.worth(rival)}.${guess(plan)}`;
  const said = plan === frame.time ? "." : `; the plan in force, of step ${plan}, says the same here.`;
  return `${Lab.reason(at, chosen, rival, name, guess(frame.time))} As of its plan of step ${frame.time}${said}`;
};

/* What was believed and known of the actions of a state at a frame. */
Lab.beliefOf = (track, s, frame) => {
  const of = (table) => (a) => frame ? frame[table][s * track.world.actions + a] : NaN, q = of("q"), spread = of("spread");
  const worth = (a) => Lab.number(q(a)) + (Number.isNaN(spread(a)) ? "" : ` ± ${Lab.number(spread(a), 2)}`);
  return { q, spread, information: of("information"), worth, visits: (a) => track.triedBefore(s, a, frame.time) };
};

/* Why an action was chosen and not its best rival, at one plan. Values count as different beyond a tenth of their
   spread: they are means over draws of a belief, and move together. */
Lab.reason = ({ q, spread, information, worth, visits }, chosen, rival, name, guess) => {
  const n = Lab.number, tried = `tried ${Lab.times(visits(chosen))} here`;
  if (visits(chosen) === 0) return `it tries something new. ${name(chosen)} was never tried here, ${name(rival)} ${Lab.times(visits(rival))}; what it is worth can only be guessed (${worth(chosen)}).${guess}`;
  const ahead = q(chosen) - q(rival), noise = 0.1 * Math.hypot(spread(chosen), spread(rival)) || 0;
  if (ahead > noise) return `it goes for reward. By its own estimate ${name(chosen)} is worth most (${worth(chosen)}, ${name(rival)} ${worth(rival)}); ${tried}.`;
  const reasons = [];
  if (information(chosen) > information(rival)) reasons.push(`it can learn more there (Stein information ${n(information(chosen))} against ${n(information(rival))})`);
  if (spread(chosen) > spread(rival)) reasons.push(`its value is less certain`);
  if (visits(chosen) < visits(rival)) reasons.push(`it was tried less often (${visits(chosen)} against ${Lab.times(visits(rival))})`);
  const because = guess || (reasons.length ? ` It takes ${name(chosen)}: ${reasons.join("; ")}.` : ` It takes ${name(chosen)}, ${tried}: what it wants to know may lie farther on that way.`);
  if (ahead >= -noise) return `it cannot tell yet. ${name(chosen)} and ${name(rival)} look alike (${worth(chosen)}, ${worth(rival)}).${because}`;
  return `it explores. ${name(rival)} looks better (${worth(rival)}, ${name(chosen)} ${worth(chosen)}).${because}`;
};
