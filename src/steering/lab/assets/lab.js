"use strict";
/* Playing: time, controls, and the server where there is one. */
(() => {
  const $ = (id) => document.getElementById(id);
  const YOU = Lab.YOU, PATIENCE = 2000, SLOW = 2.5;
  let world, tracks, maps, run = 0, timer = 0, failed = 0, t = 0, playing = false, speed = 20, last = 0, owed = 0, dirty = true;
  let picked = null, pickedAsk = null, playsYou = false, spokeAt = 0, ownSpeed = false;
  const chart = new Lab.Chart();

  /* How far the record reaches: as far as the slowest agent, but nobody waits for a person, nor for an agent of which
     nothing was heard for long. */
  const agents = () => tracks.filter((track) => track.name !== YOU);
  function reach() {
    if (playsYou) return Math.max(...tracks.map((track) => track.done));
    const late = (track) => !track.finished && performance.now() - track.heard > PATIENCE && agents().some((other) => other.done > track.done);
    for (const track of agents()) track.slow ||= late(track);
    const awaited = agents().filter((track) => !track.slow);
    return awaited.length ? Math.min(...awaited.map((track) => track.done)) : Math.max(...agents().map((track) => track.done));
  }

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
    $("speed-text").textContent = `${Number(speed.toFixed(speed < 10 ? 1 : 0))} a second`;
  }

  const faster = (more) => { ownSpeed = true; setSpeed(Number($("speed").value) + more); };

  /* Small worlds are played slowly enough to be followed, large ones so that something happens. */
  function natural() {
    const pace = world.session ? 20 : Math.round(Math.max(5, Math.min(100, 2 * Math.sqrt(world.states))));
    return [25 * Math.log10(pace), pace];
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
    chart.keep(world, tracks, t, now, playing ? 250 : 60);
    requestAnimationFrame(frame);
  }

  function draw() {
    const kind = $("colour").value, lists = tracks.map((track) => Lab.values(track, kind, t)), scale = Lab.scale(lists, kind);
    maps.forEach((map, i) => {
      const here = Math.min(t, tracks[i].done);
      map.draw(here, lists[i], scale, $("arrows").checked);
      Lab.describe(map.words, tracks[i], here, t);
    });
    const now = performance.now();
    if (!playing || speed <= SLOW || now - spokeAt > 900) { /* nobody reads twenty sentences a second */
      spokeAt = now;
      maps.forEach((map, i) => { if (map.why) map.why.textContent = Lab.now(tracks[i], Math.min(t, tracks[i].done)); });
    }
    $("low").textContent = Lab.number(scale.low);
    $("high").textContent = Lab.number(scale.high);
    const unknown = lists.some((list) => Number.isNaN(list[0]));
    const grey = world.session ? " Grey: not worked out (no belief, or too many states)." : " Grey: that agent has no such belief, or there are too many states for it.";
    $("meaning").textContent = Lab.MEANINGS[kind] + (unknown ? grey : "");
    $("time").value = t;
    $("now").textContent = t;
    if (world.session) Lab.showAsks(tracks[0], t, pickedAsk, (id) => { pickedAsk = id; dirty = true; });
    if (picked) Lab.showPanel(picked.track, picked.s, picked.a, t, (a) => { picked.a = a; dirty = true; });
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
    $("state-of-run").classList.toggle("idle", ready);
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
    const how = world.how?.[world.agents.indexOf(track.name)], numbers = Lab.text("span", undefined, "numbers");
    if (!world.session) numbers.append("regret ", Lab.text("b", "0", "regret"), " · ");
    numbers.append("reward ", Lab.text("b", "0", "reward"));
    words.append(Lab.text("b", track.name), numbers);
    if (how) words.append(Lab.text("p", how, "how quiet"));
    words.append(Lab.text("p", "", "found"));
    box.append(words, canvas);
    $("maps").append(box);
    const map = new Lab.Map(canvas, track, colour);
    map.words = words;
    if (!world.session && track.name !== YOU) box.append(map.why = Lab.text("p", "", "now"));
    canvas.addEventListener("click", (event) => {
      const s = map.hit(event.clientX, event.clientY);
      if (s !== null) pick(track, s);
    });
    maps.push(map);
  }

  function pick(track, s) {
    picked = { track, s, a: track.policyAt(t, s) ?? Lab.actionsOf(world, s)[0] };
    maps.forEach((one) => { one.picked = s; });
    dirty = true;
  }

  /* Cells of a large map are small, and some people have no pointer: a state can be named, too. */
  function pickNamed() {
    const given = $("which").value.trim(), named = world.stateNames.indexOf(given), s = named >= 0 ? named : Number(given || NaN);
    const known = Number.isInteger(s) && s >= 0 && s < world.states;
    say(known || !given ? "" : `There is no state ${given}; there are ${world.states}, from 0 on.`);
    if (known) pick(picked?.track ?? tracks[0], s);
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
    $("about").textContent = `${world.about ? `${world.about} ` : ""}${world.states} states, ${world.actions} actions, ${world.horizon ? `episodes of ${world.horizon} steps` : "no episodes"}; ${many}. The agents know none of it: they see where an action led and what it paid.`;
    if (world.session) $("about").textContent = `A session: ${world.states} states, ${world.actions} actions, agent ${world.agentInFull}, from its journal. ${world.notes.join(" ")}`;
    length();
    $("curves").replaceChildren(...world.agents.map((name, i) => curve(name, i)));
    world.agents.forEach((name, i) => { tracks.push(new Lab.Track(world, name)); tracks[i].draws = Boolean(world.draws?.[i]); addMap(tracks[i], world.colours[i]); });
    if (!ownSpeed) setSpeed(...natural());
    $("signs").hidden = Boolean(world.session);
    fit();
    await chart.make(world.chart, $("chart"));
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
    const packed = answer.headers.get("content-type").startsWith("application/octet");
    return packed ? Lab.unpack(await answer.arrayBuffer()) : answer.json();
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
      failed = 0;
    } catch (error) {
      failed += 1;
      say(error instanceof TypeError ? "The lab does not answer; is it still running?" : error.message);
    }
    const pause = failed ? Math.min(5000, 500 * 2 ** failed) : world.session ? 500 : 150; /* who is gone is asked less often */
    if (!agents().every((track) => track.finished)) timer = setTimeout(() => poll(mine), pause);
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
      await drawCurves(mine);
      return;
    }
    const form = $("form");
    form.environment.value = world.environment;
    form.agents.value = world.agents.join("\n");
    form.steps.value = world.steps;
    form.seed.value = world.seed;
    await poll(mine);
    play(true);
    await drawCurves(mine);
  }

  /* The chart comes last: its library is large. */
  async function drawCurves(mine) {
    const figure = await ask("/api/chart");
    if (mine === run) await chart.make(figure, $("chart"));
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
      chart.show(YOU);
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
    chart.theme();
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
      "+": () => faster(5), "-": () => faster(-5),
      c: () => { $("colour").selectedIndex = ($("colour").selectedIndex + 1) % $("colour").length; dirty = true; },
    }[event.key];
    if (!pressed || (event.key === " " && event.target.tagName === "BUTTON")) return;
    event.preventDefault();
    pressed();
  }

  async function main() {
    theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const first = Number(document.body.dataset.speed);
    if (first) { ownSpeed = true; setSpeed(25 * Math.log10(first), first); }
    ramp();
    $("play").addEventListener("click", () => play(!playing));
    $("step").addEventListener("click", () => { play(false); go(t + 1); });
    $("plan").addEventListener("click", nextPlan);
    $("speed").addEventListener("input", () => { ownSpeed = true; setSpeed(Number($("speed").value)); });
    $("time").addEventListener("input", () => { play(false); go(Number($("time").value)); });
    $("colour").addEventListener("change", () => { dirty = true; });
    $("arrows").addEventListener("change", () => { dirty = true; });
    $("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    $("which").addEventListener("change", pickNamed);
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
