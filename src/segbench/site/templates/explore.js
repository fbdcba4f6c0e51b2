"use strict";
// The pages that compare two models and that show one case: everything from the files of scores, the choice in the address.
(() => {
  const form = document.querySelector("[data-explore]"), source = document.getElementById("data-catalog");
  if (!form || !source) return;
  const catalog = JSON.parse(source.textContent), host = document.getElementById("explored"), kind = form.dataset.explore;
  const fields = form.elements;
  const plain = (tag, content = "", attributes = {}) => {
    const one = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => one.setAttribute(name, value));
    if (Array.isArray(content)) one.append(...content); else if (content !== "") one.textContent = content;
    return one;
  };
  const shape = (tag, attributes, content = "") => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([name, value]) => one.setAttribute(name, value));
    if (content !== "") one.textContent = content;
    return one;
  };
  const number = (value, digits = 3) => (value === null || value === undefined ? "–" : Number(value.toPrecision(digits)).toString());
  const signed = (value) => (value === null || value === undefined ? "–" : `${value > 0 ? "+" : ""}${number(value)}`);
  const mean = (values) => values.reduce((sum, one) => sum + one, 0) / values.length;
  const table = (caption, heads, rows) => {
    const line = (cells, tag) => plain("tr", cells.map((cell, i) => {
      const one = tag === "th" || i === 0 ? plain("th", "", { scope: tag === "th" ? "col" : "row" }) : plain("td");
      if (typeof cell === "string") one.append(plain("bdi", cell)); else one.append(cell);
      return one;
    }));
    const found = plain("table", [plain("caption", caption), plain("thead", [line(heads, "th")]), plain("tbody", rows.map((row) => line(row, "td")))]);
    return plain("div", [found], { class: "scroll", tabindex: "0", role: "region", "aria-label": caption });
  };
  const options = (select, choices, wanted) => {
    select.replaceChildren(...choices.map(({ key, title }) => new Option(title, key)));
    select.value = choices.some((one) => one.key === wanted) ? wanted : choices[0]?.key ?? "";
  };
  const names = ["set", "structure", "metric", ...(kind === "compare" ? ["a", "b"] : ["case"])];
  const state = () => Object.fromEntries(names.map((name) => [name, fields[name].value]));
  const asked = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const link = (words, choice) => plain("a", words, { href: `case.html#${new URLSearchParams(choice)}` });
  let scores = null;

  const choose = async (wanted) => {
    options(fields.set, catalog, wanted.set);
    const chosen = catalog.find((one) => one.key === fields.set.value);
    if (!chosen || !chosen.structures.length) { host.replaceChildren(plain("p", "There are no scores of single cases.")); return; }
    options(fields.structure, chosen.structures, wanted.structure);
    options(fields.metric, chosen.structures.find((one) => one.key === fields.structure.value).metrics, wanted.metric);
    const { set, structure, metric } = state();
    try {
      scores = await window.segbenchLoad(`data/${set}/${structure}/${metric}.js`);
    } catch {
      host.replaceChildren(plain("p", "These scores could not be loaded: their file is not next to this page."));
      return;
    }
    const models = scores.models.map((name) => ({ key: name, title: name }));
    if (kind === "compare") {
      options(fields.a, models, wanted.a);
      options(fields.b, models, wanted.b);
      if (fields.a.value === fields.b.value && models.length > 1) fields.b.value = models.find((one) => one.key !== fields.a.value).key;
    } else {
      const ordered = scores.hardest.map((i) => ({ key: scores.cases[i], title: scores.cases[i] }));
      options(fields.case, ordered, wanted.case);
    }
    history.replaceState(null, "", `#${new URLSearchParams({ ...state(), ...viewOf(wanted) })}`);
    const about = await window.segbenchLoad(`data/${set}.js`);
    host.replaceChildren(...(kind === "compare" ? compared(about) : shown(about)));
    if (kind === "case") await view(about);
  };

  // ---- the viewer of a case: its masks are loaded when the case is opened
  const viewOf = (wanted) => Object.fromEntries(["model", "at", "show"].filter((name) => wanted[name]).map((name) => [name, wanted[name]]));
  const screen = document.querySelector("[data-viewer]"), unviewed = document.querySelector("[data-unviewed]");
  let viewer = null, viewed = "";
  const view = async (about) => {
    const { set, structure, case: name } = state(), known = Object.keys(about.volumes);
    if (!screen) return;
    // Out of sight, but of its size: a picture without width makes the library complain.
    const away = (reason) => { screen.classList.add("away"); unviewed.hidden = !reason; };
    if (!known.includes(name)) { away(known.length); return; }
    if (viewed !== set) {
      for (const place of viewed ? [] : ["assets/niivue.js", "assets/viewer.js"]) await window.segbenchScript(place);
      viewer ??= window.segaugeViewer(screen, feed);
      viewed = set;
    }
    if (!viewer) return;
    feed.cases = known;
    feed.load = (one) => window.segbenchLoad(about.volumes[one]);
    feed.titles = Object.fromEntries(catalog.find((one) => one.key === set).structures.map(({ key, title }) => [key, title]));
    const { structures } = await feed.load(name);
    if (!(structure in structures)) { away(true); return; }
    screen.hidden = false;
    unviewed.hidden = true;
    screen.classList.remove("away");
    await viewer.show();
  };
  const feed = {
    cases: [], load: null, titles: {}, title: (key) => feed.titles[key] ?? key, read: asked,
    write: (parts) => {
      const now = state();
      // A late word about the case or structure before this one.
      if (parts.case !== now.case || parts.structure !== now.structure) return;
      history.replaceState(null, "", `#${new URLSearchParams({ ...now, ...parts })}`);
    },
    step: (by) => step(by),
  };
  const step = (by) => {
    const select = fields.case;
    select.selectedIndex = Math.max(0, Math.min(select.options.length - 1, select.selectedIndex + by));
    return choose(next());
  };
  // Another case or structure begins at its own worst place, with the same model and layers.
  const next = () => ({ ...asked(), ...state(), at: "" });

  // ---- two models
  const scatter = (points, choice, unit) => {
    const size = 340, room = 48, all = points.flatMap(({ x, y }) => [x, y]);
    const low = Math.min(...all), high = Math.max(...all), wide = high - low || 1;
    const at = (value) => room + ((value - low) / wide) * (size - 2 * room);
    const svg = shape("svg", { viewBox: `0 0 ${size} ${size}`, width: size, height: size, class: "scatter", role: "group", "aria-label": `Each case: ${choice.a} across, ${choice.b} upwards` });
    svg.append(shape("line", { x1: at(low), y1: size - at(low), x2: at(high), y2: size - at(high), class: "zero" }));
    svg.append(shape("text", { x: size / 2, y: size - 4, "text-anchor": "middle" }, `${choice.a}${unit ? ` (${unit})` : ""}`));
    svg.append(shape("text", { x: 10, y: size / 2, "text-anchor": "middle", transform: `rotate(-90 10 ${size / 2})` }, choice.b));
    [low, high].forEach((end) => svg.append(shape("text", { x: at(end), y: size - room + 16, "text-anchor": "middle" }, number(end)), shape("text", { x: room - 6, y: size - at(end) + 4, "text-anchor": "end" }, number(end))));
    points.forEach(({ x, y, id }) => {
      const dot = shape("a", { href: `case.html#${new URLSearchParams({ ...choice, case: id })}` });
      const circle = shape("circle", { cx: at(x), cy: size - at(y), r: 4 });
      circle.append(shape("title", {}, `${id}: ${number(x)} and ${number(y)}`));
      dot.append(circle);
      svg.append(dot);
    });
    return svg;
  };
  const compared = (about) => {
    const choice = state(), [i, j] = [choice.a, choice.b].map((name) => scores.models.indexOf(name));
    const pair = scores.pairs.find(([a, b]) => (a === i && b === j) || (a === j && b === i));
    const parts = [];
    if (pair) {
      const turned = pair[0] !== i, turn = (low, high) => (turned ? [high === null ? null : -high, low === null ? null : -low] : [low, high]);
      const delta = turned ? -pair[2] : pair[2], verdict = turned ? { better: "worse", worse: "better" }[pair[9]] ?? pair[9] : pair[9];
      const words = { better: `${choice.a} is significantly better than ${choice.b}.`, worse: `${choice.b} is significantly better than ${choice.a}.`, equivalent: "The two are equivalent: the difference does not matter in practice.", undecided: "Statistically tied: the gap is within noise." }[verdict];
      const range = ([low, high]) => (low === null ? "" : ` [${signed(low)}, ${signed(high)}]`);
      parts.push(plain("p", words, { class: "lead" }));
      const p = pair[7] === null ? "" : pair[7] < 0.001 ? "< 0.001" : pair[7].toFixed(3);
      const kindOf = scores.by_ranks ? "difference of mean ranks" : "mean difference";
      parts.push(table(`${choice.a} \u2212 ${choice.b}, ${pair[8]} cases`, ["quantity", "value"], [
        [kindOf, signed(delta)], ["all pairs together", range(turn(pair[3], pair[4])).trim()], ["this pair alone", range(turn(pair[5], pair[6])).trim() || "–"], ["p", p],
      ]));
    } else parts.push(plain("p", "This pair was not tested: one of the two is not ranked.", { class: "lead" }));
    const points = scores.cases.map((id, k) => ({ id, x: scores.values[i][k], y: scores.values[j][k] })).filter(({ x, y }) => x !== null && y !== null);
    const sign = scores.higher ? 1 : -1, wins = points.filter(({ x, y }) => sign * (x - y) > 0).length, ties = points.filter(({ x, y }) => x === y).length;
    if (points.length) {
      parts.push(plain("p", `${choice.a} is better in ${wins} of ${points.length} cases, tied in ${ties}, worse in ${points.length - wins - ties}.`));
      parts.push(plain("h2", "Every case"), plain("div", [scatter(points, choice, scores.unit)], { class: "scroll" }), plain("p", "A dot on the line: both models score the same. Each dot opens its case.", { class: "small" }));
    }
    const metric = about.metrics[choice.metric];
    if (metric && metric.structures.length > 1) {
      const [one, other] = [choice.a, choice.b].map((name) => metric.means[name] ?? []);
      parts.push(plain("h2", "Every structure"), table(`Mean ${metric.title}`, ["structure", choice.a, choice.b, "difference"], metric.structures.map((name, k) => [name, number(one[k]), number(other[k]), one[k] === null || other[k] === null || one[k] === undefined || other[k] === undefined ? "–" : signed(one[k] - other[k])])));
    }
    const whole = points.length ? mean(points.map(({ x, y }) => x - y)) : 0, rows = [];
    Object.entries(about.metadata).forEach(([column, values]) => {
      const groups = new Map();
      points.forEach((point) => { const value = values[point.id]; if (value) groups.set(value, [...(groups.get(value) ?? []), point.x - point.y]); });
      if (groups.size < 2 || groups.size > 12) return;
      groups.forEach((differences, value) => {
        if (differences.length >= 5) rows.push([`${column}: ${value}`, String(differences.length), signed(mean(differences)), mean(differences) * whole < 0 ? "sign flips" : ""]);
      });
    });
    if (rows.length) parts.push(plain("h2", "Groups"), table("Mean difference in each group of 5 cases or more; untested", ["group", "n", `${choice.a} \u2212 ${choice.b}`, "sign"], rows));
    return parts;
  };

  // ---- one case
  const shown = (about) => {
    const choice = state(), k = scores.cases.indexOf(choice.case), sign = scores.higher ? -1 : 1;
    const rows = scores.models.map((name, j) => ({ name, value: scores.values[j][k], failed: scores.failed[j].includes(k) }));
    rows.sort((a, b) => (a.value === null) - (b.value === null) || sign * (a.value - b.value));
    const place = scores.hardest.indexOf(k) + 1;
    const parts = [plain("h2", choice.case), plain("p", `Number ${place} of ${scores.cases.length} from the hardest.`, { class: "small" })];
    parts.push(table(`Scores of all models${scores.unit ? ` in ${scores.unit}` : ""}`, ["model", "score", "status"], rows.map((one) => [one.name, one.value === null ? (one.failed ? "failed" : "not measurable") : number(one.value, 4), one.failed && one.value !== null ? "failed" : ""])));
    const known = Object.entries(about.metadata).map(([column, values]) => [column, values[choice.case] ?? ""]).filter(([, value]) => value);
    if (known.length) parts.push(plain("h3", "Metadata"), table("What is known about the case", ["column", "value"], known));
    return parts;
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => choose(kind === "case" ? next() : state()));
  form.addEventListener("click", (event) => {
    const by = Number(event.target.dataset.step ?? 0);
    if (by && fields.case) step(by);
  });
  addEventListener("hashchange", () => choose(asked()));
  choose(asked());
})();
