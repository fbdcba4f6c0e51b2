"use strict";
(() => {
  const every = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  every("[data-needs-script]").forEach((element) => { element.hidden = false; });

  // ---- theme, printing, copying
  const themes = ["automatic", "light", "dark"];
  let theme = "automatic";
  try { theme = themes.includes(localStorage.getItem("segauge-theme")) ? localStorage.getItem("segauge-theme") : theme; } catch { /* files may have no storage */ }
  const button = document.querySelector("[data-action=theme]");
  const applyTheme = () => {
    if (theme === "automatic") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    if (button) button.textContent = `Theme: ${theme}`;
    document.dispatchEvent(new Event("themechange"));
  };
  button?.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("segauge-theme", theme); } catch { /* see above */ }
    applyTheme();
  });
  document.querySelector("[data-action=print]")?.addEventListener("click", () => window.print());
  // Paper has no buttons: what is folded is opened and every row of a table shown, until the page is on the screen again.
  // A link to something folded opens it.
  const openTarget = () => {
    for (let one = document.getElementById(location.hash.slice(1)); one; one = one.parentElement) {
      if (one.tagName === "DETAILS") one.open = true;
    }
  };
  addEventListener("hashchange", openTarget);
  openTarget();
  const folded = new Set();
  addEventListener("beforeprint", () => every("details:not([open])").forEach((one) => { folded.add(one); one.open = true; }));
  addEventListener("afterprint", () => { folded.forEach((one) => { one.open = false; }); folded.clear(); });
  every("[data-action=copy]").forEach((one) => one.addEventListener("click", async () => {
    const source = document.getElementById(one.dataset.from);
    try { await navigator.clipboard.writeText(source.textContent); one.textContent = "Copied"; } catch {
      getSelection().selectAllChildren(source);
      one.textContent = "Selected: press Ctrl+C";
    }
  }));

  // ---- the tooltip of a figure's shape
  const tip = document.getElementById("tip");
  const tellAt = (x, y, pointed) => {
    const shape = pointed?.closest?.("svg.figure [role=img]");
    if (!shape) { tip.hidden = true; return; }
    tip.textContent = shape.getAttribute("aria-label");
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18}px`;
  };
  let pointer = null;
  const follow = (event) => {
    pointer = { x: event.clientX, y: event.clientY };
    tellAt(pointer.x, pointer.y, event.target);
  };
  document.addEventListener("pointermove", follow);
  document.addEventListener("pointerdown", follow);
  // A page that scrolls under a pointer at rest puts another shape, or none, below it.
  document.addEventListener("scroll", () => {
    if (!tip.hidden) tellAt(pointer.x, pointer.y, document.elementFromPoint(pointer.x, pointer.y));
  }, true);

  // ---- tables: sorted, filtered, a page at a time
  const shown = (number) => {
    if (number === null) return "";
    if (Number.isInteger(number)) return String(number);
    const size = Math.abs(number);
    return size >= 1000 ? number.toFixed(0) : size >= 10 ? number.toFixed(2) : size >= 0.0995 ? number.toFixed(4) : number.toPrecision(3);
  };
  // Letters of the small print that fit side by side on A4, and the most that a column of words needs: it may break there.
  const ON_PAPER = 118, BREAKS_AT = 10;
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const buildTable = (host, { columns, rows }) => {
    const perPage = Number(host.dataset.rows);
    const text = (column, row) => (column.texts ? column.texts[column.values[row]] : shown(column.values[row]));
    let lowered = [];
    let order = Array.from({ length: rows }, (_, row) => row);
    let sorted = null, descending = false, page = 0, onPaper = false, shownColumns = columns;
    const [head, body, input, count] = ["thead", "tbody", "input", ".count"].map((one) => host.querySelector(one));
    const [previous, where, next] = host.querySelector(".pages").children;

    const filtered = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      if (!words.length) return order;
      const hits = words.map((word) => lowered.map((texts) => texts && new Set(texts.flatMap((one, i) => (one.includes(word) ? [i] : [])))));
      return order.filter((row) => hits.every((sets) => sets.some((set, c) => set && set.has(columns[c].values[row]))));
    };
    const isShort = (words) => (onPaper ? words.split(" ").every((word) => word.length <= BREAKS_AT) : words.length <= 28);
    const columnsOnPaper = () => {
      let room = ON_PAPER;
      const tooMany = columns.findIndex((column) => {
        const longest = column.values.reduce((most, _, row) => Math.max(most, text(column, row).length), column.name.length);
        room -= 1.5 + Math.min(longest, BREAKS_AT);
        return room < 0;
      });
      return tooMany < 0 ? columns : columns.slice(0, Math.max(1, tooMany));
    };
    const draw = () => {
      const kept = filtered();
      const pages = Math.max(1, Math.ceil(kept.length / perPage));
      page = Math.max(0, Math.min(page, pages - 1));
      const drawn = onPaper ? kept : kept.slice(page * perPage, (page + 1) * perPage);
      body.replaceChildren(...drawn.map((row) => {
        const line = document.createElement("tr");
        shownColumns.forEach((column, c) => {
          const cell = document.createElement(c === 0 ? "th" : "td");
          if (c === 0) cell.scope = "row";
          if (column.number) { cell.className = "number"; cell.textContent = text(column, row); } else {
            const isolated = document.createElement("bdi");
            isolated.textContent = text(column, row);
            if (isShort(isolated.textContent)) cell.className = "short";
            cell.append(isolated);
          }
          line.append(cell);
        });
        return line;
      }));
      count.textContent = kept.length === rows ? `${rows} rows` : `${kept.length} of ${rows} rows`;
      if (shownColumns.length < columns.length) count.textContent += `, the first ${shownColumns.length} of ${columns.length} columns; the file itself has all`;
      where.textContent = `page ${page + 1} of ${pages}`;
      previous.disabled = page === 0;
      next.disabled = page === pages - 1;
      host.querySelector(".pages").hidden = pages === 1;
    };
    const sortBy = (c) => {
      descending = sorted === c ? !descending : false;
      sorted = c;
      const column = columns[c], sign = descending ? -1 : 1;
      // A cell without a number stays behind all others, whichever way is sorted.
      const key = column.texts ? (() => {
        const place = column.texts.map((_, i) => i).sort((a, b) => collator.compare(column.texts[a], column.texts[b]));
        const rank = []; place.forEach((i, at) => { rank[i] = at; });
        return (row) => rank[column.values[row]];
      })() : (row) => column.values[row];
      order = Array.from({ length: rows }, (_, row) => row).sort((a, b) => {
        const x = key(a), y = key(b);
        if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1;
        return sign * (x - y) || a - b;
      });
      every("th", head).forEach((cell, i) => {
        if (i === c) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
        else cell.removeAttribute("aria-sort");
      });
      page = 0;
      draw();
    };
    const drawHead = () => {
      lowered = columns.map((column) => column.texts?.map((one) => one.toLowerCase()));
      const line = document.createElement("tr");
      shownColumns.forEach((column, c) => {
        const cell = document.createElement("th"), press = document.createElement("button");
        cell.scope = "col";
        if (column.number) cell.className = "number";
        if (onPaper && isShort(column.name)) cell.classList.add("short");
        if (c === sorted) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
        press.type = "button";
        press.textContent = column.name;
        if (column.hint) press.title = column.hint;
        press.addEventListener("click", () => sortBy(c));
        cell.append(press);
        line.append(cell);
      });
      head.replaceChildren(line);
    };
    // More columns of the same rows, for pages that load them when a reader asks.
    host.insertColumns = (at, more) => {
      columns.splice(at, 0, ...more);
      if (sorted !== null && sorted >= at) sorted += more.length;
      drawHead();
      draw();
    };
    drawHead();
    input.addEventListener("input", () => { page = 0; draw(); });
    previous.addEventListener("click", () => { page -= 1; draw(); });
    next.addEventListener("click", () => { page += 1; draw(); });
    const drawFor = (paper) => {
      onPaper = paper;
      shownColumns = paper ? columnsOnPaper() : columns;
      drawHead();
      draw();
    };
    addEventListener("beforeprint", () => drawFor(true));
    addEventListener("afterprint", () => drawFor(false));
    draw();
  };
  // Pages that load their rows later build such a table then.
  window.segaugeTable = buildTable;
  every("[data-table]").forEach((host) => {
    const known = document.getElementById(`data-${host.dataset.table}`);
    if (known) buildTable(host, JSON.parse(known.textContent));
  });

  // ---- surfaces: a small view that turns, drawn from back to front
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const views = document.getElementById("data-surfaces");
  const surfaces = views ? JSON.parse(views.textContent) : {};
  every("canvas[data-surface]").forEach((canvas) => {
    const mesh = surfaces[canvas.dataset.surface];
    if (!mesh) return;
    const points = new Int16Array(bytes(mesh.points).buffer), shades = bytes(mesh.values);
    const faces = new Uint16Array(bytes(mesh.faces).buffer), count = faces.length / 4;
    const palette = mesh.palette.map((one) => one.map(Number));
    const context = canvas.getContext("2d");
    let turn = 0.6, tilt = 0.35, asked = false;
    const draw = () => {
      asked = false;
      const size = Math.min(720, Math.max(240, Math.round(canvas.clientWidth * devicePixelRatio)));
      if (canvas.width !== size) { canvas.width = size; canvas.height = size; }
      context.clearRect(0, 0, size, size);
      const n = points.length / 3, at = new Float32Array(points.length);
      const [ct, st, cu, su] = [Math.cos(turn), Math.sin(turn), Math.cos(tilt), Math.sin(tilt)];
      const scale = size * 0.45 / 32767;
      for (let i = 0; i < n; i += 1) {
        const x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2];
        const u = ct * x - st * y, v = st * x + ct * y;
        at[3 * i] = size / 2 + scale * u;
        at[3 * i + 1] = size / 2 - scale * (cu * z + su * v);
        at[3 * i + 2] = cu * v - su * z;
      }
      const depth = new Float32Array(count), order = new Uint32Array(count);
      for (let f = 0; f < count; f += 1) {
        order[f] = f;
        depth[f] = at[3 * faces[4 * f] + 2] + at[3 * faces[4 * f + 2] + 2];
      }
      order.sort((a, b) => depth[b] - depth[a]);
      context.lineWidth = 0.7;
      for (const f of order) {
        const [a, b, c, d] = [0, 1, 2, 3].map((k) => 3 * faces[4 * f + k]);
        const area = (at[b] - at[a]) * (at[d + 1] - at[a + 1]) - (at[b + 1] - at[a + 1]) * (at[d] - at[a]);
        const wide = Math.hypot(at[b] - at[a], at[b + 1] - at[a + 1]) * Math.hypot(at[d] - at[a], at[d + 1] - at[a + 1]);
        const light = 0.45 + 0.55 * Math.min(1, Math.abs(area) / (wide || 1));
        const value = Math.max(shades[faces[4 * f]], shades[faces[4 * f + 1]], shades[faces[4 * f + 2]], shades[faces[4 * f + 3]]) / 255 * (palette.length - 1);
        const low = palette[Math.floor(value)], high = palette[Math.ceil(value)], part = value % 1;
        const colour = low.map((one, k) => Math.round(light * (one + part * (high[k] - one))));
        context.fillStyle = context.strokeStyle = `rgb(${colour})`;
        context.beginPath();
        context.moveTo(at[a], at[a + 1]); context.lineTo(at[b], at[b + 1]); context.lineTo(at[c], at[c + 1]); context.lineTo(at[d], at[d + 1]);
        context.closePath(); context.fill(); context.stroke();
      }
    };
    const ask = () => { if (!asked) { asked = true; requestAnimationFrame(draw); } };
    canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
    canvas.addEventListener("pointermove", (event) => {
      if (!event.buttons) return;
      turn += event.movementX * 0.01;
      tilt = Math.max(-1.57, Math.min(1.57, tilt + event.movementY * 0.01));
      ask();
    });
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.15], ArrowDown: [0, 0.15] }[event.key];
      if (!step) return;
      event.preventDefault();
      turn += step[0];
      tilt = Math.max(-1.57, Math.min(1.57, tilt + step[1]));
      ask();
    });
    // Drawn only once it comes into view: a page of many cases opens at once.
    new IntersectionObserver((entries, observer) => {
      if (entries.some((entry) => entry.isIntersecting)) { observer.disconnect(); ask(); }
    }, { rootMargin: "200px" }).observe(canvas);
    addEventListener("resize", ask);
    addEventListener("beforeprint", draw);
  });
  applyTheme();
})();
