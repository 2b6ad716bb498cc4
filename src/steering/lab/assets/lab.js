"use strict";
/* Playing: time, controls, the chart, and the server where there is one. */
(() => {
  const $ = (id) => document.getElementById(id);
  const MEANINGS = {
    visits: "How often each state was visited; dark: never.",
    value: "The reward that the agent expects from here on, by its own belief.",
    spread: "How uncertain the agent is about that value (standard deviation).",
    information: "How much there is left to learn here (Stein information); dark: known.",
    reward: "What the best action here truly pays at once; the agents are not told.",
  };
  const YOU = "you";
  let world, tracks, maps, run = 0, timer = 0, t = 0, playing = false, speed = 20, last = 0, owed = 0, dirty = true;
  let picked = null, pickedAsk = null, doc = null, drawnChart = -1, chartAt = 0, playsYou = false;

  /* How far the record reaches: the slowest agent. A person is waited for by nobody. */
  const agents = () => tracks.filter((track) => track.name !== YOU);
  const reach = () => playsYou ? Math.max(...tracks.map((track) => track.done)) : Math.min(...agents().map((track) => track.done));

  const say = (text) => { $("message").textContent = text; $("message").hidden = !text; };

  function go(time) {
    t = Math.max(0, Math.min(Math.floor(time), reach()));
    pickedAsk = null;
    dirty = true;
  }
  function play(on) {
    if (on && t >= reach() && agents().every((track) => track.finished)) t = 0;
    playing = on;
    last = performance.now();
    owed = 0;
    $("play").textContent = on ? "❚❚ pause" : "▶ play";
    dirty = true;
  }
  function nextPlan() {
    play(false);
    const next = Math.min(...agents().map((track) => track.plans[Lab.lastAt(track.plans, t) + 1] ?? Infinity));
    go(Number.isFinite(next) ? next : reach());
  }
  const speedOf = (value) => 10 ** (value / 25);
  function setSpeed(value, keep) {
    speed = keep ?? speedOf(value);
    $("speed").value = Math.max(0, Math.min(100, value));
    $("speed-text").textContent = `${speed < 10 ? speed.toFixed(1) : Math.round(speed)} a second`;
  }

  function frame(now) {
    if (playing) {
      owed += ((now - last) / 1000) * speed;
      const whole = Math.floor(owed);
      if (whole > 0) {
        owed -= whole;
        go(t + whole);
        if (t >= reach()) { owed = 0; if (agents().every((track) => track.finished)) play(false); }
      }
    }
    last = now;
    if (dirty && world) { dirty = false; draw(); }
    if (doc && drawnChart !== t && now - chartAt > (playing ? 250 : 60)) { chartAt = now; drawChart(); }
    requestAnimationFrame(frame);
  }

  function draw() {
    const kind = $("colour").value, lists = tracks.map((track) => Lab.values(track, kind, t)), scale = Lab.scale(lists, kind);
    maps.forEach((map, i) => {
      const here = Math.min(t, tracks[i].done);
      map.draw(here, lists[i], scale, $("arrows").checked);
      describe(i, here);
    });
    $("low").textContent = Lab.number(scale.low);
    $("high").textContent = Lab.number(scale.high);
    const unknown = lists.some((list) => Number.isNaN(list[0]));
    const grey = world.session ? " Grey: not worked out (no belief, or too many states)." : " Grey: that agent has no such belief.";
    $("meaning").textContent = MEANINGS[kind] + (unknown ? grey : "");
    $("time").value = t;
    $("now").textContent = t;
    if (world.session) Lab.showAsks(tracks[0], t, pickedAsk, (id) => { pickedAsk = id; dirty = true; });
    if (picked) Lab.showPanel(picked.track, picked.s, picked.a, t, (a) => { picked.a = a; dirty = true; });
  }

  function describe(i, here) {
    const track = tracks[i], box = maps[i].words, found = Lab.lastAt(track.firsts, here - 1) + 1;
    box.querySelector(".reward").textContent = Lab.number(track.earned[here], 6);
    if (world.session) {
      const asked = Lab.lastAt(track.plans, here) + 1;
      box.querySelector(".found").textContent = track.error ?? `${here} ${here === 1 ? "step" : "steps"} learned, ${asked} ${asked === 1 ? "suggestion" : "suggestions"} so far.`;
      return;
    }
    box.querySelector(".regret").textContent = Lab.number(track.regret[here], 6);
    const plans = Lab.lastAt(track.plans, here) + 1;
    const first = track.firsts[0];
    const text = found ? `Got the best reward ★ ${found} ${found === 1 ? "time" : "times"}, first in step ${first + 1}.` : "Has not found the best reward ★ yet.";
    box.querySelector(".found").textContent = track.error ? `stopped: ${track.error}` : track.name === YOU ? text : `${text} ${plans} ${plans === 1 ? "plan" : "plans"} so far.`;
  }

  function drawChart() {
    drawnChart = t;
    tracks.forEach((track, i) => {
      const source = doc.get_model_by_name(`curve-${i}`), end = Math.min(t, track.done), stride = Math.max(1, Math.ceil(end / 400));
      const x = [], y = [];
      const curve = world.session ? track.earned : track.regret;
      for (let k = 0; k <= end; k += stride) { x.push(k); y.push(curve[k]); }
      if (end % stride) { x.push(end); y.push(curve[end]); }
      source.data = { x, y };
    });
  }

  function themeChart() {
    if (!doc) return;
    const ink = Lab.token("--ink"), line = Lab.token("--line");
    for (const root of doc.roots()) {
      for (const axis of [...root.below, ...root.left]) {
        axis.setv({ axis_label_text_color: ink, major_label_text_color: ink, axis_line_color: line, major_tick_line_color: line, minor_tick_line_color: null });
      }
      for (const item of root.center) item.setv({ grid_line_color: line });
    }
  }

  async function makeChart() {
    $("chart").replaceChildren();
    doc = null;
    const item = { ...world.chart, target_id: "chart" };
    const manager = await Bokeh.embed.embed_item(item, "chart");
    doc = manager.roots[0].model.document;
    drawnChart = -1;
    themeChart();
  }

  function marks() {
    const canvas = $("marks"), pen = canvas.getContext("2d"), ratio = window.devicePixelRatio || 1, wide = canvas.clientWidth;
    canvas.width = wide * ratio;
    canvas.height = 10 * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const band = 10 / agents().length;
    agents().forEach((track, i) => {
      pen.fillStyle = world.colours[i];
      pen.globalAlpha = 0.25;
      pen.fillRect(8, i * band, ((wide - 16) * track.done) / world.steps, band - 1);
      pen.globalAlpha = 1;
      for (const plan of track.plans) pen.fillRect(8 + ((wide - 16) * plan) / world.steps, i * band, 1, band - 1);
    });
    const ready = agents().every((track) => track.finished);
    if (world.session) {
      $("state-of-run").textContent = ready ? "each line below the slider is a suggestion" : `following the session: ${reach()} steps so far`;
      return;
    }
    $("state-of-run").textContent = ready ? "each line below the slider is a plan" : `running: ${reach()} steps so far`;
  }

  function addMap(track, colour) {
    const box = document.createElement("figure"), canvas = document.createElement("canvas"), words = document.createElement("figcaption");
    box.style.setProperty("--own", colour);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `map of ${track.name}`);
    const numbers = Lab.text("span", undefined, "numbers");
    if (!world.session) numbers.append("regret ", Lab.text("b", "0", "regret"), " · ");
    numbers.append("reward ", Lab.text("b", "0", "reward"));
    words.append(Lab.text("b", track.name), numbers, Lab.text("p", "", "found"));
    words.querySelector(".found").style.flexBasis = "100%";
    box.append(words, canvas);
    $("maps").append(box);
    const map = new Lab.Map(canvas, track, colour);
    map.words = words;
    canvas.addEventListener("click", (event) => {
      const s = map.hit(event.clientX, event.clientY);
      if (s === null) return;
      const chosen = track.policyAt(t, s) ?? Lab.actionsOf(world, s)[0];
      picked = { track, s, a: chosen };
      maps.forEach((one) => { one.picked = s; });
      dirty = true;
    });
    maps.push(map);
  }

  async function show(data) {
    world = new Lab.World(data);
    tracks = [];
    maps = [];
    picked = null;
    playsYou = false;
    t = 0;
    $("maps").replaceChildren();
    $("panel-body").replaceChildren();
    $("panel-title").textContent = "Click a state";
    $("panel-hint").hidden = false;
    $("environment").textContent = world.environment;
    document.title = `${world.environment} · STEERING lab`;
    if (world.session && !$("asks").dataset.dressed) { Lab.dressSession(world, $); $("asks").dataset.dressed = "yes"; }
    pickedAsk = null;
    const many = world.agents.length > 1 ? `${world.agents.length} agents, same noise (seed ${world.seed})` : `one agent (seed ${world.seed})`;
    $("about").textContent = `${world.states} states, ${world.actions} actions, ${world.horizon ? `episodes of ${world.horizon} steps` : "one long life"}; ${many}. ★ marks the best reward; nobody told the agents.`;
    if (world.session) $("about").textContent = `A session: ${world.states} states, ${world.actions} actions, agent ${world.agentInFull}, from its journal. ${world.notes.join(" ")}`;
    length();
    $("curves").replaceChildren(...world.agents.map((name, i) => curve(name, i)));
    world.agents.forEach((name, i) => { tracks.push(new Lab.Track(world, name)); addMap(tracks[i], world.colours[i]); });
    fit();
    await makeChart();
    dirty = true;
  }

  function length() {
    $("time").max = world.steps;
    $("steps").textContent = world.steps;
  }

  function curve(name, i) {
    const item = Lab.text("li", name);
    item.style.setProperty("--own", world.colours[i]);
    item.style.setProperty("--dash", i % 2 ? "dashed" : "solid");
    return item;
  }

  function take({ header, arrays }) {
    header.tracks.forEach((one, i) => {
      const own = {};
      for (const [name, array] of Object.entries(arrays)) if (name.startsWith(`${i}.`)) own[name.slice(String(i).length + 1)] = array;
      tracks[i].take(one, own);
    });
    if (world.session) { world.steps = Math.max(reach(), 1); length(); }
    marks();
    dirty = true;
  }

  /* Live ------------------------------------------------------------------------------------------------------- */

  async function ask(path, body) {
    const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await fetch(path, options);
    if (!answer.ok) throw new Error((await answer.json()).error);
    return body === undefined ? Lab.unpack(await answer.arrayBuffer()) : answer.json();
  }

  async function poll(mine) {
    if (mine !== run) return;
    try {
      const news = await ask(`/api/record?seen=${agents().map((track) => track.seen()).join(";")}`);
      if (mine !== run) return;
      if (world.session && news.header.run !== world.run) { await connect(); return; } /* states or actions were added */
      const wasAtEnd = playing && t >= reach();
      take(news);
      if (world.session && wasAtEnd) go(reach());
      say("");
    } catch (error) {
      say(error instanceof TypeError ? "The lab does not answer; is it still running?" : error.message);
    }
    if (!agents().every((track) => track.finished)) timer = setTimeout(() => poll(mine), world.session ? 500 : 150);
  }

  async function connect() {
    clearTimeout(timer);
    run += 1;
    const mine = run;
    await show(await ask("/api/world"));
    if (world.session) {
      $("setup").hidden = true;
      await poll(mine);
      go(reach());
      play(true);
      return;
    }
    const form = $("form");
    form.environment.value = world.environment;
    form.agents.value = world.agents.join("\n");
    form.steps.value = world.steps;
    form.seed.value = world.seed;
    await poll(mine);
    play(true);
  }

  async function begin(event) {
    event.preventDefault();
    const form = $("form");
    const lines = form.agents.value.split("\n").map((line) => line.trim()).filter(Boolean);
    try {
      play(false);
      await ask("/api/start", { environment: form.environment.value.trim(), agents: lines, steps: Number(form.steps.value), seed: Number(form.seed.value) });
      say("");
      await connect();
    } catch (error) { say(error.message); }
  }

  const keyOf = (a) => ({ left: "←", right: "→", up: "↑", down: "↓" })[world.actionName(a)] ?? String(a + 1);

  async function becomeAgent() {
    try {
      const answer = await ask("/api/act", { action: null });
      play(false);
      const i = world.agents.length;
      if (tracks.length > i) { tracks.pop(); maps.pop(); $("maps").lastChild.remove(); $("curves").lastChild.remove(); }
      const track = new Lab.Track(world, YOU);
      track.start = answer.now;
      tracks.push(track);
      addMap(track, world.colours[i]);
      $("curves").append(curve(YOU, i));
      doc.get_model_by_name(YOU).visible = true;
      playsYou = true;
      const keys = Array.from({ length: world.actions }, (_, a) => `${keyOf(a)} ${world.actionName(a)}`).join(", ");
      $("be-keys").textContent = `Your keys: ${keys}. Escape gives the keys back.`;
      $("maps").lastChild.append(actionButtons());
      go(0);
      fit();
      maps.at(-1).canvas.scrollIntoView({ block: "center" });
    } catch (error) { say(error.message); }
  }

  /* A phone has no keys: every action is a button, too. */
  function actionButtons() {
    const bar = Lab.text("div", undefined, "row");
    for (let a = 0; a < world.actions; a++) {
      const button = Lab.text("button", `${keyOf(a)} ${world.actionName(a)}`, "act");
      button.type = "button";
      button.addEventListener("click", () => act(a));
      bar.append(button);
    }
    return bar;
  }

  async function act(a) {
    try {
      const track = tracks.at(-1), answer = await ask("/api/act", { action: a });
      track.push(answer.state, answer.action, answer.successor, answer.reward);
      track.successors[track.done - 1] = answer.now;
      say("");
      go(track.done);
    } catch (error) { say(error.message); }
  }

  /* Controls --------------------------------------------------------------------------------------------------- */

  function fit() { maps.forEach((map) => map.size()); marks(); dirty = true; }

  function ramp() {
    const { width } = $("ramp"), pen = $("ramp").getContext("2d");
    for (let x = 0; x < width; x++) { pen.fillStyle = Lab.css(Lab.shade(x / (width - 1))); pen.fillRect(x, 0, 1, 12); }
  }

  function theme(name) {
    document.documentElement.dataset.theme = name;
    themeChart();
    dirty = true;
  }

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.target.tagName === "INPUT" && event.target.type !== "checkbox" && event.target.id !== "time") return;
    if (playsYou) {
      if (event.key === "Escape") { playsYou = false; $("be-keys").textContent = ""; return; }
      const arrows = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" }, key = arrows[event.key] ?? event.key;
      const a = Array.from({ length: world.actions }, (_, i) => i).find((i) => keyOf(i) === key || String(i + 1) === key);
      if (a !== undefined) { event.preventDefault(); act(a); return; }
    }
    const pressed = {
      " ": () => play(!playing), ArrowRight: () => { play(false); go(t + 1); }, ArrowLeft: () => { play(false); go(t - 1); },
      n: nextPlan, Home: () => go(0), End: () => go(reach()),
      "+": () => setSpeed(Number($("speed").value) + 5), "-": () => setSpeed(Number($("speed").value) - 5),
      c: () => { $("colour").selectedIndex = ($("colour").selectedIndex + 1) % $("colour").length; dirty = true; },
    }[event.key];
    if (!pressed || (event.key === " " && event.target.tagName === "BUTTON")) return;
    event.preventDefault();
    pressed();
  }

  async function main() {
    theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const first = Number(document.body.dataset.speed) || 20;
    setSpeed(25 * Math.log10(first), first);
    ramp();
    $("play").addEventListener("click", () => play(!playing));
    $("step").addEventListener("click", () => { play(false); go(t + 1); });
    $("plan").addEventListener("click", nextPlan);
    $("speed").addEventListener("input", () => setSpeed(Number($("speed").value)));
    $("time").addEventListener("input", () => { play(false); go(Number($("time").value)); });
    $("colour").addEventListener("change", () => { dirty = true; });
    $("arrows").addEventListener("change", () => { dirty = true; });
    $("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    $("form").addEventListener("submit", begin);
    $("be").addEventListener("click", becomeAgent);
    document.addEventListener("keydown", keys);
    window.addEventListener("resize", () => world && fit());
    requestAnimationFrame(frame);
    const blocks = [...document.querySelectorAll("script.record")];
    if (blocks.length) {
      const [first, second] = await Promise.all(blocks.map((block) => Lab.inflate(block.textContent)));
      await show(Lab.unpack(first));
      take(Lab.unpack(second));
      play(true);
    } else {
      $("setup").hidden = false;
      await connect();
    }
    document.body.dataset.ready = "yes";
  }

  main().catch((error) => say(`The page cannot be shown: ${error.message}`));
})();
