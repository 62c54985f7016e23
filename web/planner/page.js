"use strict";
(async () => {
  const $ = id => document.getElementById(id);
  const made = (tag, props = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(props)) {
      if (key === "style" || key.includes("-")) element.setAttribute(key, value); else element[key] = value;
    }
    element.append(...children);
    return element;
  };

  // --- the planner, as WebAssembly -----------------------------------------------------------------------------------------
  const packed = Uint8Array.from(atob($("wasm").textContent.trim()), c => c.charCodeAt(0));
  const bytes = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const module = await WebAssembly.compile(bytes);
  let wasm = (await WebAssembly.instantiate(module)).exports;
  const encoder = new TextEncoder(), decoder = new TextDecoder();
  const ask = request => {
    try {
      const text = encoder.encode(JSON.stringify(request));
      const at = wasm.room(text.length);
      new Uint8Array(wasm.memory.buffer, at, text.length).set(text);
      const length = wasm.answer();
      return JSON.parse(decoder.decode(new Uint8Array(wasm.memory.buffer, wasm.place(), length)));
    } catch (error) {
      // After a trap the instance cannot be used any more.
      wasm = new WebAssembly.Instance(module).exports;
      return { error: "The planner stopped: " + error.message };
    }
  };

  // --- numbers -------------------------------------------------------------------------------------------------------------
  const digits = value => value === 0 ? "0" : value >= 1e10 || value < 1e-3 ? value.toExponential(2) : value >= 100 ? value.toFixed(0) : value.toPrecision(3);
  const time = ns => ns < 1e4 ? digits(ns) + " ns" : ns < 1e7 ? digits(ns / 1e3) + " µs" : ns < 1e10 ? digits(ns / 1e6) + " ms" : digits(ns / 1e9) + " s";
  const energy = j => j >= 1 ? digits(j) + " J" : j >= 1e-3 ? digits(j * 1e3) + " mJ" : j >= 1e-6 ? digits(j * 1e6) + " µJ" : digits(j * 1e9) + " nJ";
  const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const percent = share => (100 * share).toFixed(0) + " %";

  // --- what is asked -------------------------------------------------------------------------------------------------------
  const start = ask({ ask: "start" });
  let facts = null, best = null;
  for (const { name, title } of start.shipped) $("shipped").append(made("option", { value: name, textContent: `${title} (${name})` }));
  $("shipped").append(made("option", { value: "own", textContent: "a profile of my own …" }));
  for (const { name } of start.strategies) $("strategy").append(made("option", { value: name, textContent: name }));
  $("strategy").value = "exact";

  const documents = () => {
    const shipped = start.shipped.find(({ name }) => name === $("shipped").value);
    return shipped ? { profile: shipped.profile, platform: shipped.platform } : { profile: $("profile").value, platform: $("platform").value };
  };
  const cores = () => facts.kinds.map((kind, index) => `${kind}=${$("cores-" + index).value || 0}`).join(",");
  const unit = () => facts.bits ? "Mb/s" : "frames/s";
  const rate = () => {
    const share = Number($("rate").value);
    return share && best ? Number((best * share / 100).toPrecision(3)) : 0;
  };
  const goal = () => {
    const written = id => $(id).value.trim();
    const exactly = written("exactly") || (rate() ? rate() + unit() : "");
    const demands = [["rate", exactly], ["period", written("period")], ["power", written("power")], ["latency", written("latency")]];
    return [$("aim").value, ...demands.filter(([, value]) => value).map(([key, value]) => `${key}=${value}`)].join(",");
  };
  const question = ask => ({ ask, ...documents(), cores: cores(), goal: goal(), strategy: $("strategy").value });

  // --- what is shown -------------------------------------------------------------------------------------------------------
  const fail = message => {
    $("error").hidden = !message;
    $("error").textContent = message || "";
    $("result").style.opacity = message ? 0.35 : 1;
    return !message;
  };
  const colour = (kind, replicable) => `var(--k${Math.max(0, facts.kinds.indexOf(kind)) % 4}${replicable ? "r" : ""})`;

  const load = () => {
    $("own").hidden = $("shipped").value !== "own";
    const read = ask({ ask: "profile", ...documents() });
    if (!fail(read.error && ($("shipped").value === "own" && !$("profile").value ? "Paste a profile: JSON, as `bief profile rx -o receiver.json` writes it." : read.error))) return;
    facts = read;
    const part = $("cores");
    part.replaceChildren(part.firstElementChild);
    facts.kinds.forEach((kind, index) => {
      const here = facts.cores[index] ?? 4, most = Math.max(16, 2 * here);
      const slide = made("input", { type: "range", id: "slide-" + index, min: 0, max: most, value: here, "aria-label": `${kind} cores` });
      const number = made("input", { type: "number", id: "cores-" + index, min: 0, max: facts.most, value: here, "aria-label": `number of ${kind} cores` });
      slide.addEventListener("input", () => { number.value = slide.value; update(); });
      number.addEventListener("input", () => { slide.value = number.value; update(); });
      part.append(made("div", { className: "slide" }, made("label", { htmlFor: "slide-" + index, textContent: kind }), slide, number));
    });
    update();
  };

  const update = () => {
    if (!facts) return;
    // What can be reached at all is the end of the slider.
    const reach = ask({ ...question("plan"), goal: "fewest-big", strategy: "exact" });
    best = reach.error ? null : facts.bits ? reach.mbps : reach.frames_per_second;
    const strategy = start.strategies.find(({ name }) => name === $("strategy").value);
    $("rate-label").textContent = "Rate";
    $("rate-out").textContent = $("exactly").value.trim() || (rate() ? `${digits(rate())} ${unit()}` : "any");
    $("spread-out").textContent = `± ${$("spread").value} %`;
    $("depth-out").textContent = $("depth").value;
    $("summary").textContent = strategy.summary + (strategy.goals ? "" : " Takes no goals.");
    const plan = ask(question("plan"));
    if (fail(plan.error)) show(plan);
  };

  const figure = (name, value, more) => made("div", {}, made("dt", { textContent: name }), made("dd", { textContent: value }), ...(more ? [made("dt", { textContent: more })] : []));

  const show = plan => {
    const rates = plan.frames_per_second === null ? "no limit" : plan.mbps !== null ? digits(plan.mbps) + " Mb/s" : digits(plan.frames_per_second) + " /s";
    const frames = plan.frames_per_second === null ? "the tasks weigh nothing" : digits(plan.frames_per_second) + " frames/s";
    $("figures").replaceChildren(
      figure("rate", rates, frames),
      figure("period", time(plan.period_ns), counted(plan.stages.length, "stage")),
      figure("cores", Object.values(plan.used).reduce((a, b) => a + b, 0), Object.entries(plan.used).map(([kind, count]) => `${count} ${kind}`).join(" + ")),
      figure("power", plan.watts === null ? "unknown" : digits(plan.watts) + " W", plan.watts === null ? "no watts are known" : energy(plan.joules_per_frame) + " a frame"),
      figure("latency", time(plan.latency_ns), "in the stages"));
    const limiting = plan.limit.stage;
    if (limiting === undefined) {
      $("limit").textContent = `More threads than cores share the ${plan.limit.kind} cores.`;
    } else {
      const stage = plan.stages[limiting], names = facts.tasks.slice(stage.first, stage.first + stage.tasks);
      const fixed = names.find(task => !task.replicable);
      $("limit").textContent = `Stage ${limiting + 1} limits: ` + (fixed ? `“${fixed.name}” may not be replicated.` : `${counted(stage.tasks, "task")} on ${counted(stage.cores, "core")}.`);
    }
    $("gain").textContent = plan.gains.map(({ kind, period_ns }) => `One more ${kind} core: ${time(period_ns)} (−${digits(100 * (1 - period_ns / plan.period_ns))} %).`).join(" ");
    $("legend").replaceChildren(...facts.kinds.flatMap(kind => [
      made("span", {}, made("span", { className: "key", style: `background:${colour(kind, true)}` }), `${kind}`),
      made("span", {}, made("span", { className: "key", style: `background:${colour(kind, false)}` }), `${kind}, may not be replicated`)]),
      made("span", {}, "A bar is as long as its stage is busy; the line below it, as it was in the simulation."));
    $("stages").replaceChildren(...plan.stages.map((stage, index) => {
      const tasks = facts.tasks.slice(stage.first, stage.first + stage.tasks), kind = facts.kinds.indexOf(stage.kind);
      const bar = made("div", { className: "bar", style: `width:${Math.min(100, 100 * stage.busy)}%` });
      tasks.forEach((task, offset) => bar.append(made("i", { title: `${stage.first + offset + 1} ${task.name}: ${time(task.ns[kind])}`,
        style: `flex:${task.ns[kind]} 0 0;background:${colour(stage.kind, task.replicable)}` })));
      const beside = stage.work_ns - tasks.reduce((sum, task) => sum + task.ns[kind], 0);
      if (beside > 0) bar.append(made("i", { title: `hand-over: ${time(beside)}`, style: `flex:${beside} 0 0;background:var(--sync)` }));
      const head = made("div", { className: "head" }, made("span", { className: "number", textContent: index + 1 }),
        made("b", { textContent: stage.on }), made("span", { className: "soft", textContent: counted(stage.tasks, "task") }),
        made("span", { className: "time" + (index === limiting ? " limit" : ""), textContent: `${time(stage.period_ns)} · ${percent(stage.busy)}` }));
      const names = tasks.map((task, offset) => `${stage.first + offset + 1} ${task.name}`).join(", ");
      return made("li", { className: index === limiting ? "is-limit" : "" }, head,
        made("div", { className: "lane" }, bar, made("div", { className: "seen", id: "seen-" + index, style: "width:0" })),
        made("div", { className: "names", textContent: names }));
    }));
    $("front-part").hidden = plan.front.length < 2;
    const most = 24, others = plan.front.length - most;
    $("front").replaceChildren(...plan.front.slice(0, most).map(point => {
      const same = facts.kinds.every(kind => (point.cores[kind] || 0) === (plan.used[kind] || 0));
      const shown = Object.entries(point.cores).map(([kind, count]) => `${count} ${kind}`).join(" + ");
      const button = made("button", { type: "button", textContent: `${shown}, ${counted(point.stages, "stage")}`, "aria-pressed": same });
      button.addEventListener("click", () => {
        facts.kinds.forEach((kind, index) => { $("cores-" + index).value = $("slide-" + index).value = point.cores[kind] || 0; });
        update();
      });
      return made("li", {}, button);
    }), ...(others > 0 ? [made("li", { className: "soft", textContent: `and ${others} more that the JSON lists` })] : []));
    $("json").textContent = plan.schedule;
    simulated(plan);
  };

  const simulated = plan => {
    // As many as a slider leaves time for.
    const executions = Math.round(Math.min(4000, Math.max(100, 1e5 / facts.tasks.length)));
    const seen = ask({ ...question("simulate"), spread: $("spread").value / 100, depth: Number($("depth").value), executions });
    $("sim-table").hidden = Boolean(seen.error);
    if (seen.error) {
      $("sim").textContent = seen.error;
      return;
    }
    const planned = Math.max(plan.period_ns, plan.pace_ns || 0), loss = seen.period_ns / planned - 1;
    const shown = seen.mbps !== null ? digits(seen.mbps) + " Mb/s" : digits(seen.frames_per_second || 0) + " frames/s";
    $("sim").textContent = `${shown}, a period of ${time(seen.period_ns)}: ${loss > 0.0005 ? (100 * loss).toFixed(1) + " % longer than planned" : "as planned"}. ` +
      `Half of the executions take ${time(seen.latency_ns.p50)} or less, 99 % take ${time(seen.latency_ns.p99)} or less.`;
    const row = (tag, cells) => made("tr", {}, ...cells.map(cell => made(tag, { textContent: cell })));
    $("sim-table").replaceChildren(made("thead", {}, row("th", ["stage", "busy", "waits for input", "for room"])),
      made("tbody", {}, ...seen.stages.map((stage, index) => row("td", [index + 1, percent(stage.busy), percent(stage.waiting_for_input), percent(stage.waiting_for_output)]))));
    seen.stages.forEach((stage, index) => { $("seen-" + index).style.width = Math.min(100, 100 * stage.busy) + "%"; });
  };

  // --- what a person does --------------------------------------------------------------------------------------------------
  $("form").addEventListener("submit", event => event.preventDefault());
  for (const id of ["shipped", "profile", "platform"]) $(id).addEventListener("input", load);
  for (const id of ["aim", "rate", "period", "latency", "power", "exactly", "strategy", "spread", "depth"]) $(id).addEventListener("input", update);
  $("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText($("json").textContent);
      $("copy").textContent = "Copied";
    } catch {
      getSelection().selectAllChildren($("json"));
      $("copy").textContent = "Selected";
    }
    setTimeout(() => { $("copy").textContent = "Copy"; }, 1500);
  });
  // For tests, and for those who look into the page.
  window.planner = { ask, documents, question };
  load();
  document.body.dataset.ready = "yes";
})().catch(error => {
  document.getElementById("error").hidden = false;
  document.getElementById("error").textContent = "This browser cannot run the planner: " + error.message;
});
