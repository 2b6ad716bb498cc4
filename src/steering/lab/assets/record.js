"use strict";
/* The record: what was packed in Python (see packing.py), the tracks of agents, and what follows from their steps. */
const Lab = {};

Lab.KINDS = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, int32: Int32Array, float32: Float32Array, float64: Float64Array };

Lab.unpack = (buffer) => {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const [name, [kind, shape, at]] of Object.entries(header.arrays)) {
    const size = shape.reduce((a, b) => a * b, 1);
    arrays[name] = new Lab.KINDS[kind](buffer, 4 + length + at, size);
    arrays[name].shape = shape;
  }
  return { header, arrays };
};

Lab.inflate = async (text) => {
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
};

/* Place of the last of sorted numbers that is at most a value; -1 if there is none. */
Lab.lastAt = (sorted, value) => {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1; else high = middle;
  }
  return low - 1;
};

Lab.World = class {
  constructor({ header, arrays }) {
    Object.assign(this, header, arrays);
    if (this.session) { /* nobody knows the truth about a real process */
      this.best = Infinity;
      this.rewards = new Float64Array(this.states * this.actions).fill(NaN);
      this.edges = [];
      this.stars = [];
      return;
    }
    let best = -Infinity;
    for (let i = 0; i < this.rewards.length; i++) if (this.allowed[i]) best = Math.max(best, this.rewards[i]);
    this.best = best;
    const pays = (s) => Array.from({ length: this.actions }, (_, a) => a).some((a) => this.allowed[s * this.actions + a] && this.pays(s, a));
    this.stars = best > 0 ? Array.from({ length: this.states }, (_, s) => s).filter(pays) : [];
    this.choices = this.allowed.reduce((sum, one) => sum + one, 0);
  }
  stateName(s) { return this.stateNames.length ? this.stateNames[s] : `state ${s}`; }
  actionName(a) { return this.actionNames.length ? this.actionNames[a] : `action ${a}`; }
  pays(s, a) { return this.rewards[s * this.actions + a] >= this.best - 1e-12; }
};

Lab.Track = class {
  constructor(world, name) {
    const n = world.session ? Math.max(2 * world.steps, 64) : world.steps;
    this.world = world;
    this.name = name;
    this.states = new Uint32Array(n);
    this.actions = new Uint32Array(n);
    this.successors = new Uint32Array(n);
    this.rewards = new Float64Array(n);
    this.regret = new Float64Array(n + 1);
    this.earned = new Float64Array(n + 1);
    this.firsts = []; /* times at which the best reward was paid */
    this.done = 0;
    this.plans = [];
    this.frameTimes = [];
    this.frames = [];
    this.policyTimes = [];
    this.policies = [];
    this.finished = false;
    this.error = null;
    this.asks = []; /* of a session: what was asked, suggested and told */
    this.newsTo = 0;
    this.lastWay = world.session ? new Uint32Array(world.states * world.actions) : null;
    this.ways = new Set();
    this.start = null; /* where a person stands who has not moved yet */
    this.visits = new Uint32Array(world.states);
    this.pairs = new Uint32Array(world.states * world.actions);
    this.counted = 0;
    this.places = 0; /* states and pairs that were met before the time of `count` */
    this.tried = 0;
    this.heard = performance.now(); /* when the last news came */
    this.slow = false;
  }

  push(state, action, successor, reward) {
    const t = this.done++, { session, states: S } = this.world;
    if (session && t >= this.states.length) this.enlarge();
    this.states[t] = state;
    this.actions[t] = action;
    this.successors[t] = successor;
    this.rewards[t] = reward;
    this.earned[t + 1] = this.earned[t] + reward;
    if (session) {
      if (state !== successor && !this.ways.has(state * S + successor)) { this.ways.add(state * S + successor); this.world.edges.push(state, successor); }
      return;
    }
    this.regret[t + 1] = this.regret[t] + this.world.oracle[t] - reward;
    if (this.world.pays(state, action)) this.firsts.push(t);
  }

  enlarge() {
    for (const name of ["states", "actions", "successors", "rewards", "earned"]) {
      const old = this[name], made = new old.constructor(2 * old.length);
      made.set(old);
      this[name] = made;
    }
  }

  take(header, arrays) {
    const skip = this.done - header.from;
    if (arrays.states.length > skip) this.heard = performance.now();
    for (let i = skip; i < arrays.states.length; i++) {
      this.push(arrays.states[i], arrays.actions[i], arrays.successors[i], arrays.rewards[i]);
    }
    this.plans.push(...arrays.plans);
    const size = this.world.states * this.world.actions;
    const at = (array, i) => array.subarray(i * size, (i + 1) * size);
    arrays.frames.forEach((time, i) => {
      this.frameTimes.push(time);
      this.frames.push({ time, q: at(arrays.q, i), spread: at(arrays.spread, i), information: at(arrays.information, i), eta: header.eta[i], prior: header.prior[i] });
    });
    const [, layers, states] = arrays.policies.shape;
    arrays.policyTimes.forEach((time, i) => {
      this.policyTimes.push(time);
      this.policies.push({ layers, table: arrays.policies.subarray(i * layers * states, (i + 1) * layers * states) });
    });
    if (header.news) Lab.takeNews(this, header);
    this.finished = header.finished;
    this.error = header.error;
  }

  seen() {
    const counts = [this.done, this.plans.length, this.frames.length, this.policies.length];
    return (this.world.session ? [...counts, this.newsTo] : counts).join(",");
  }

  /* Where an action of a state leads most likely; in a session where it led last, before the time of `count`. */
  wayOf(s, a) {
    const i = s * this.world.actions + a;
    if (!this.lastWay) return this.world.moves[i];
    return this.pairs[i] ? this.lastWay[i] : s;
  }

  /* State at a time: where the agent stands before that step, or after its last one. */
  stateAt(t) {
    if (t < this.done) return this.states[t];
    return this.done ? this.successors[this.done - 1] : (this.start ?? 0);
  }

  frameAt(t) { return this.frames[Lab.lastAt(this.frameTimes, t)] ?? null; }

  /* When the plan in force at a time was made. */
  planAt(t) { return this.plans[Lab.lastAt(this.plans, t)] ?? 0; }

  /* Action at a time in a state by the plan in force, or by an earlier one; null for agents without a table. */
  policyAt(t, s, plan = t) {
    const found = this.policies[Lab.lastAt(this.policyTimes, plan)];
    if (!found) return null;
    const layer = found.layers > 1 ? t % found.layers : 0;
    return found.table[layer * this.world.states + s];
  }

  /* Visits of states and pairs before a time, kept up to date from the last call. */
  count(t) {
    const end = Math.min(t, this.done), A = this.world.actions;
    if (end < this.counted) { this.visits.fill(0); this.pairs.fill(0); this.counted = this.places = this.tried = 0; }
    for (; this.counted < end; this.counted++) {
      const s = this.states[this.counted];
      if (this.visits[s]++ === 0) this.places++;
      const i = s * A + this.actions[this.counted];
      if (this.pairs[i]++ === 0) this.tried++;
      if (this.lastWay) this.lastWay[i] = this.successors[this.counted];
    }
  }

  /* How often a pair was tried before a time, which is at most that of the last `count`. */
  triedBefore(s, a, time) {
    let n = this.pairs[s * this.world.actions + a];
    for (let t = time; t < this.counted; t++) if (this.states[t] === s && this.actions[t] === a) n--;
    return n;
  }

  /* Outcomes of a pair before a time: successor -> [count, sum of rewards, sum of squares]. */
  outcomes(s, a, before) {
    const found = new Map();
    for (let t = 0; t < Math.min(before, this.done); t++) {
      if (this.states[t] !== s || this.actions[t] !== a) continue;
      const y = this.successors[t], r = this.rewards[t], old = found.get(y) ?? [0, 0, 0];
      found.set(y, [old[0] + 1, old[1] + r, old[2] + r * r]);
    }
    return found;
  }

  /* Posterior of a pair at the frame of a time: Dirichlet row and Normal-Gamma reward, from the steps before the frame
     (the prior may change at each plan). Without a belief: what was seen before the time. */
  posterior(s, a, t) {
    const frame = this.frameAt(t), known = Boolean(frame) && frame.eta !== null;
    const S = this.world.states, seen = this.outcomes(s, a, known ? frame.time : t);
    const n = [...seen.values()].reduce((sum, o) => sum + o[0], 0);
    if (!known) return { n, known: false, rows: [...seen].map(([y, o]) => ({ y, n: o[0], p: o[0] / n, sd: null, reward: o[1] / o[0] })), reward: null };
    const { eta, prior: [mean, weight] } = frame, total = S * eta + n;
    const row = (y, [k, sum]) => {
      const p = (eta + k) / total;
      return { y, n: k, p, sd: Math.sqrt(p * (1 - p) / (total + 1)), reward: (weight * mean + sum) / (weight + k) };
    };
    const rows = [...seen].map(([y, o]) => row(y, o));
    const unseen = S - rows.length, each = eta / total;
    const reward = rows.reduce((sum, o) => sum + o.p * o.reward, 0) + unseen * each * mean;
    return { n, known: true, rows, unseen, rest: unseen * each, reward };
  }
};
