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
        const begin = head.classList.contains("higher") || head.textContent.trim() === "wins again" ? "descending" : "ascending";
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
  window.segbenchBoard = window.segbenchColumns = (address, content) => loaded.set(address, content);
  const load = (address, place = address) => new Promise((resolve, reject) => {
    if (loaded.has(address)) { resolve(loaded.get(address)); return; }
    const script = document.createElement("script");
    script.src = place;
    script.onload = () => { script.remove(); loaded.has(address) ? resolve(loaded.get(address)) : reject(new Error(address)); };
    script.onerror = () => { script.remove(); reject(new Error(address)); };
    document.head.append(script);
  });

  // ---- cases: a press on the button loads the columns of further models
  every("[data-more-columns]").forEach((press) => {
    const parts = JSON.parse(press.dataset.moreColumns);
    const table = document.querySelector(`[data-table="${press.dataset.for}"]`);
    let at = Number(press.dataset.at), next = 0;
    const label = () => {
      press.disabled = false;
      press.hidden = next >= parts.length;
      press.textContent = parts[next]?.title ?? "";
    };
    press.addEventListener("click", async () => {
      press.disabled = true;
      try {
        const columns = await load(parts[next].address, document.body.dataset.root + parts[next].address);
        table.insertColumns(at, columns);
        at += columns.length;
        next += 1;
        label();
      } catch {
        press.textContent = "These columns could not be loaded: their file is not beside this page.";
      }
    });
    label();
  });

  // ---- the front page: selectors, whose state is the end of the address
  const form = document.querySelector("[data-selectors]"), source = document.getElementById("data-catalog");
  if (!form || !source) return;
  const catalog = JSON.parse(source.textContent), host = document.getElementById("board");
  const { set, structure, metric, ranked } = form.elements;
  let showing = host.dataset.board ?? "";

  const options = (select, choices, wanted) => {
    select.replaceChildren(...choices.map(({ key, title }) => new Option(title, key)));
    select.value = choices.some((one) => one.key === wanted) ? wanted : choices[0]?.key ?? "";
  };
  const choose = (wanted) => {
    const chosen = catalog.find((one) => one.key === wanted.set) ?? catalog[0];
    set.value = chosen.key;
    options(structure, chosen.structures, wanted.structure);
    options(metric, chosen.structures.find((one) => one.key === structure.value)?.metrics ?? [], wanted.metric);
    ranked.checked = wanted.ranked === "1";
  };
  const asked = () => Object.fromEntries(new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : form.dataset.default));
  const state = () => {
    const words = new URLSearchParams({ set: set.value, structure: structure.value, metric: metric.value });
    if (ranked.checked) words.set("ranked", "1");
    return `#${words}`;
  };
  const show = async () => {
    host.classList.toggle("only-ranked", ranked.checked);
    const address = `data/${set.value}/${structure.value}/${metric.value}.js`;
    if (address === showing) return;
    showing = address;
    host.classList.add("loading");
    try {
      const markup = await load(address);
      if (showing !== address) return;
      host.replaceChildren(...new DOMParser().parseFromString(markup, "text/html").body.childNodes);
      every("[data-sortable]", host).forEach(sortable);
    } catch {
      const words = document.createElement("p");
      words.textContent = "This board could not be loaded: its file is not beside this page.";
      host.replaceChildren(words);
    }
    host.classList.remove("loading");
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => {
    choose({ set: set.value, structure: structure.value, metric: metric.value, ranked: ranked.checked ? "1" : "" });
    location.hash = state();
  });
  addEventListener("hashchange", () => { choose(asked()); show(); });
  choose(asked());
  show();
})();
