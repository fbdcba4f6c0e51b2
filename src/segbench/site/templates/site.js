"use strict";
(() => {
  const every = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

  // ---- boards: a click on a heading sorts by it; a row without a number stays behind all others
  const sortable = (table) => {
    const heads = every("thead th", table), body = table.tBodies[0];
    const original = Array.from(body.rows);
    heads.forEach((head, column) => {
      if (!head.dataset.sort) return;
      const press = document.createElement("button");
      press.type = "button";
      press.append(...head.childNodes);
      head.append(press);
      press.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        // The best comes first: a metric where higher is better begins with the highest.
        const begin = head.classList.contains("higher") || head.textContent.startsWith("chance") ? "descending" : "ascending";
        const way = !before ? begin : before === "ascending" ? "descending" : "ascending";
        const sign = way === "ascending" ? 1 : -1;
        const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
        const order = original.slice().sort((a, b) => {
          const x = key(a), y = key(b);
          if (x === "" || y === "") return x === y ? 0 : x === "" ? 1 : -1;
          return sign * (head.dataset.sort === "number" ? Number(x) - Number(y) : collator.compare(x, y));
        });
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", way);
        body.replaceChildren(...order);
      });
    });
  };
  every("[data-sortable]").forEach(sortable);

  // ---- files that are loaded when they are needed: scripts that call this with what they hold, since a page that was
  // opened from disk may read no other files
  const loaded = new Map();
  window.segbenchData = (address, content) => loaded.set(address, content);
  window.segbenchScript = (address) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.body.dataset.root + address;
    script.onload = () => { script.remove(); resolve(); };
    script.onerror = () => { script.remove(); reject(new Error(address)); };
    document.head.append(script);
  });
  window.segbenchLoad = async (address) => {
    if (!loaded.has(address)) await window.segbenchScript(address);
    if (!loaded.has(address)) throw new Error(address);
    return loaded.get(address);
  };

  // ---- tabs of a board: one part at a time, named in the address
  const tabs = document.querySelector("[data-tabs]"), parts = every("section.tab");
  if (tabs && parts.length) {
    const links = every("a[href^='#']", tabs);
    const show = () => {
      const asked = location.hash.slice(1), known = parts.some((one) => one.id === asked) ? asked : parts[0].id;
      parts.forEach((one) => { one.hidden = one.id !== known; });
      links.forEach((one) => {
        if (one.hash.slice(1) === known) one.setAttribute("aria-current", "true"); else one.removeAttribute("aria-current");
      });
      if (known === "cases") fill();
    };
    const host = document.querySelector("[data-scores]");
    let filled = false;
    const fill = async () => {
      if (!host || filled) return;
      filled = true;
      const found = await window.segbenchLoad(host.dataset.scores);
      const column = (values, j) => values.map((value, i) => (value === null && found.failed[j].includes(i) ? null : value));
      const texts = { name: "case", texts: found.cases, values: found.cases.map((_, i) => i) };
      const numbers = found.models.map((name, j) => ({ name, number: true, values: column(found.values[j], j) }));
      window.segaugeTable(host.querySelector("[data-table]"), { columns: [texts, ...numbers], rows: found.cases.length });
    };
    addEventListener("hashchange", show);
    addEventListener("beforeprint", () => parts.forEach((one) => { one.hidden = false; }));
    addEventListener("afterprint", show);
    show();
  }

  // ---- the overview: metric, search, filters and two models to compare
  every("[data-matrix]").forEach((matrix) => {
    const metric = matrix.querySelector("[data-metric]"), search = matrix.querySelector("[data-search]");
    const clean = matrix.querySelector("[data-clean]"), go = matrix.querySelector("[data-compare]");
    const tables = every("[data-shown]", matrix), key = matrix.dataset.matrix;
    const picked = new Set();
    const show = () => {
      const shown = metric?.value ?? tables[0]?.dataset.shown, words = search.value.trim().toLowerCase();
      tables.forEach((one) => { one.hidden = one.dataset.shown !== shown; });
      every("tbody tr", matrix).forEach((row) => {
        row.hidden = !row.dataset.words.includes(words) || (clean?.checked && row.dataset.exposure !== "none");
      });
      every("[data-model]", matrix).forEach((box) => { box.checked = picked.has(box.dataset.model); });
      go.hidden = picked.size !== 2;
      const [a, b] = picked;
      go.textContent = `Compare ${a} and ${b}`;
      go.href = `compare.html#${new URLSearchParams({ set: key, metric: shown, a: a ?? "", b: b ?? "" })}`;
    };
    matrix.addEventListener("input", (event) => {
      const name = event.target.dataset.model;
      if (name !== undefined) {
        if (event.target.checked) picked.add(name); else picked.delete(name);
        if (picked.size > 2) picked.delete([...picked][0]);
      }
      const state = new URLSearchParams({ metric: metric?.value ?? "", search: search.value, clean: clean?.checked ? "1" : "" });
      history.replaceState(null, "", `#${key}&${state}`);
      show();
    });
    const [asked, ...rest] = location.hash.slice(1).split("&"), state = new URLSearchParams(rest.join("&"));
    if (asked === key) {
      if (metric && state.get("metric")) metric.value = state.get("metric");
      search.value = state.get("search") ?? "";
      if (clean) clean.checked = state.get("clean") === "1";
    }
    show();
  });
})();
