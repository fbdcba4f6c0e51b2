// The case viewer: slices, masks as toggles, errors in colour, a surface to turn. NiiVue draws; this file chooses what.
// Without WebGL 2, or without NiiVue, the page keeps its fixed slices.
(() => {
  "use strict";
  const host = document.querySelector("[data-viewer]");
  const stored = document.getElementById("data-viewer");
  if (!host || !stored || typeof niivue === "undefined") return;
  if (!document.createElement("canvas").getContext("webgl2")) return;

  const find = (part) => host.querySelector(`[data-part=${part}]`);
  const canvas = find("canvas"), readout = find("readout"), scores = find("scores"), status = find("status");
  const chosen = { case: find("case"), structure: find("structure"), model: find("model") };
  const cases = JSON.parse(stored.textContent).cases;
  // Agreement, missed (in the ground truth only), added (in the prediction only).
  const COLOURS = [[77, 169, 224], [240, 180, 41], [214, 69, 155]];
  const shows = ["agreement", "missed", "added"].map((name) => find(name));
  const withImage = find("image");

  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const inflated = async (text) => {
    const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const unpacked = async (text, count) => {
    const packed = await inflated(text), bits = new Uint8Array(count);
    for (let i = 0; i < count; i += 1) bits[i] = (packed[i >> 3] >> (i & 7)) & 1;
    return bits;
  };

  // A NIfTI-1 file of 8-bit voxels in memory: 348 bytes of header, 4 of padding, then the voxels.
  const nifti = (one, voxels) => {
    const file = new ArrayBuffer(352 + voxels.length), view = new DataView(file);
    const short = (at, value) => view.setInt16(at, value, true), float = (at, value) => view.setFloat32(at, value, true);
    view.setInt32(0, 348, true);
    [3, ...one.dims, 1, 1, 1, 1].forEach((size, i) => short(40 + 2 * i, size));
    short(70, 2);
    short(72, 8);
    [1, ...one.spacing, 1, 1, 1, 1].forEach((edge, i) => float(76 + 4 * i, edge));
    float(108, 352);
    float(112, 1);
    view.setUint8(123, 2);
    short(254, 1);
    one.spacing.forEach((edge, i) => { float(280 + 20 * i, edge); float(292 + 16 * i, one.origin[i]); });
    [110, 43, 49, 0].forEach((letter, i) => view.setUint8(344 + i, letter));
    new Uint8Array(file, 352).set(voxels);
    return file;
  };
  const volume = async (one, voxels, name, colormap, opacity) => niivue.NVImage.loadFromFile({
    file: new File([nifti(one, voxels)], `${name}.nii`), name: `${name}.nii`, colormap, opacity,
    cal_min: 0, cal_max: 255, trustCalMinMax: false,
  });

  const nv = new niivue.Niivue({
    backColor: [0.05, 0.063, 0.08, 1], dragAndDropEnabled: false, isRadiologicalConvention: true, loadingText: "",
    show3Dcrosshair: true, crosshairWidth: 0.25, multiplanarShowRender: 1, isColorbar: false, logLevel: "fatal",
    meshThicknessOn2D: 0, crosshairColor: [1, 1, 1, 0.7], multiplanarPadPixels: 4, tileMargin: 4,
  });
  // The view in space shows the surface alone; the volume around it would hide it.
  nv.drawImage3D = () => {};
  let base = null, overlay = null, mesh = null, shown = null, started = false, turn = 0;

  const current = () => {
    const one = cases[Number(chosen.case.value)];
    const structure = one.structures[chosen.structure.value];
    return { one, structure, model: chosen.model.value };
  };
  const fill = (select, names, wanted) => {
    select.replaceChildren(...names.map(([value, text]) => new Option(text, value)));
    if (names.some(([value]) => value === wanted)) select.value = wanted;
    select.closest("label").hidden = names.length < 2;
  };
  const choices = (wanted = {}) => {
    const one = cases[Number(chosen.case.value)];
    fill(chosen.structure, Object.keys(one.structures).map((name) => [name, name]), wanted.structure);
    const models = Object.keys(one.structures[chosen.structure.value].preds);
    fill(chosen.model, models.map((name) => [name, name]), wanted.model);
  };

  const colours = () => {
    const alpha = shows.map((box) => (box.checked ? 255 : 0));
    overlay.setColormapLabel({
      R: [0, ...COLOURS.map((one) => one[0])], G: [0, ...COLOURS.map((one) => one[1])],
      B: [0, ...COLOURS.map((one) => one[2])], A: [0, ...alpha], I: [0, 1, 2, 3],
      labels: ["", "agreement", "missed", "added"],
    });
    overlay.opacity = 0.6;
    base.opacity = withImage.checked ? 1 : 0;
    nv.updateGLVolume();
  };

  const surface = (packed) => {
    if (mesh) nv.removeMesh(mesh);
    mesh = null;
    find("scale").hidden = !packed || !packed.largest;
    if (!packed) return;
    const points = new Int16Array(bytesOf(packed.points).buffer), quads = new Uint16Array(bytesOf(packed.faces).buffer);
    const shades = bytesOf(packed.values), places = new Float32Array(points.length);
    points.forEach((value, i) => { places[i] = value / 32767 * packed.reach + packed.centre[i % 3]; });
    const triangles = new Uint32Array(quads.length / 4 * 6);
    for (let f = 0; f < quads.length / 4; f += 1) {
      triangles.set([0, 1, 2, 0, 2, 3].map((k) => quads[4 * f + k]), 6 * f);
    }
    const colour = new Uint8Array(4 * shades.length), last = packed.palette.length - 1;
    shades.forEach((shade, i) => {
      const at = shade / 255 * last, low = packed.palette[Math.floor(at)], high = packed.palette[Math.ceil(at)];
      colour.set([...low.map((value, k) => Math.round(value + (at % 1) * (high[k] - value))), 255], 4 * i);
    });
    mesh = new niivue.NVMesh(places, triangles, "surface", colour, 1, true, nv.gl);
    nv.addMesh(mesh);
    find("largest").textContent = `${packed.largest.toPrecision(3)} mm`;
    find("palette").style.background = `linear-gradient(to right, ${packed.palette.map((one) => `rgb(${one})`).join()})`;
  };

  const place = () => Array.from(nv.frac2mm(nv.scene.crosshairPos)).slice(0, 3);
  const goTo = (mm) => {
    nv.scene.crosshairPos = nv.mm2frac(mm);
    nv.updateGLVolume();
    moved();
  };
  const address = () => {
    const { one } = current();
    const parts = new URLSearchParams({
      case: one.case, structure: chosen.structure.value, model: chosen.model.value,
      at: place().map((mm) => mm.toFixed(1)).join(","), show: shows.map((box) => Number(box.checked)).join(""),
    });
    history.replaceState(null, "", `#view?${parts}`);
  };
  let waiting = 0;
  const moved = () => {
    const { one } = current();
    const voxel = place().map((mm, i) => Math.round((mm - one.origin[i]) / one.spacing[i]) + 1);
    readout.textContent = `Slices: sagittal ${voxel[0]} of ${one.dims[0]}, coronal ${voxel[1]} of ${one.dims[1]}, `
      + `axial ${voxel[2]} of ${one.dims[2]}`;
    clearTimeout(waiting);
    waiting = setTimeout(address, 250);
  };
  nv.onLocationChange = moved;

  const draw = async (at) => {
    const mine = turn += 1;
    const { one, structure, model } = current();
    const count = one.dims[0] * one.dims[1] * one.dims[2];
    const [gt, pred] = await Promise.all([
      unpacked(structure.gt, count),
      structure.preds[model] ? unpacked(structure.preds[model], count) : new Uint8Array(count),
    ]);
    const codes = gt.map((inside, i) => (inside ? (pred[i] ? 1 : 2) : (pred[i] ? 3 : 0)));
    const grey = shown === one ? null : one.image ? await inflated(one.image) : new Uint8Array(count).fill(60);
    if (mine !== turn) return;
    if (grey) {
      for (const old of [overlay, base]) if (old) nv.removeVolume(old);
      base = await volume(one, grey, "image", "gray", 1);
      overlay = await volume(one, codes, "masks", "gray", 1);
      if (mine !== turn) return;
      nv.addVolume(base);
      nv.addVolume(overlay);
      nv.opts.isOrientationTextVisible = one.oriented;
      withImage.closest("label").hidden = !one.image;
      shown = one;
    } else overlay.img.set(codes);
    colours();
    surface(structure.surface);
    scores.replaceChildren(...(structure.scores[model] ?? []).concat(one.facts).flatMap(([name, text]) => {
      const term = document.createElement("dt"), value = document.createElement("dd");
      term.textContent = name;
      value.textContent = text;
      return [term, value];
    }));
    status.textContent = `Shown: ${one.case}, ${chosen.structure.value}`;
    goTo(at ?? structure.start);
  };

  const choose = (number, wanted = {}, at) => {
    chosen.case.value = String((number + cases.length) % cases.length);
    choices(wanted);
    return draw(at);
  };
  const step = (by) => choose(Number(chosen.case.value) + by, {
    structure: chosen.structure.value, model: chosen.model.value,
  });
  const slice = (axis, by) => {
    const { one } = current();
    const at = place();
    at[axis] = Math.max(one.origin[axis], Math.min(one.origin[axis] + one.spacing[axis] * (one.dims[axis] - 1), at[axis] + by * one.spacing[axis]));
    goTo(at);
  };
  const flip = (box) => { box.checked = !box.checked; colours(); address(); };
  const nextModel = () => {
    const names = Array.from(chosen.model.options, (one) => one.value);
    chosen.model.value = names[(names.indexOf(chosen.model.value) + 1) % names.length];
    draw(place());
  };
  const keys = {
    ArrowUp: () => slice(2, 1), ArrowDown: () => slice(2, -1), ArrowLeft: () => slice(0, 1), ArrowRight: () => slice(0, -1),
    PageUp: () => slice(1, 1), PageDown: () => slice(1, -1),
    n: () => step(1), p: () => step(-1), m: nextModel,
    1: () => flip(shows[0]), 2: () => flip(shows[1]), 3: () => flip(shows[2]), 0: () => flip(withImage),
  };
  // Before NiiVue's own keys, which mean other things.
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Tab") return;
    event.stopImmediatePropagation();
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }, { capture: true });

  const wantedFrom = () => {
    const [name, query] = location.hash.split("?");
    if (name !== "#view" || !query) return null;
    const parts = new URLSearchParams(query);
    const at = (parts.get("at") ?? "").split(",").map(Number);
    return {
      number: Math.max(0, cases.findIndex((one) => one.case === parts.get("case"))),
      structure: parts.get("structure"), model: parts.get("model"), show: parts.get("show") ?? "",
      at: at.length === 3 && at.every(Number.isFinite) ? at : undefined,
    };
  };
  const restore = () => {
    const wanted = wantedFrom();
    shows.forEach((box, i) => { if (wanted && /^[01]{3}$/.test(wanted.show)) box.checked = wanted.show[i] === "1"; });
    return choose(wanted ? wanted.number : 0, wanted ?? {}, wanted?.at);
  };

  const start = async () => {
    if (started) return;
    started = true;
    host.hidden = false;
    document.documentElement.classList.add("with-viewer");
    document.querySelectorAll("[data-view-case]").forEach((link) => { link.hidden = false; });
    await nv.attachToCanvas(canvas);
    nv.setSliceType(nv.sliceTypeMultiplanar);
    await restore();
    host.dataset.ready = "";
  };

  fill(chosen.case, cases.map((one, i) => [String(i), one.case]));
  chosen.case.closest("label").hidden = false;
  chosen.case.addEventListener("change", () => choose(Number(chosen.case.value)));
  chosen.structure.addEventListener("change", () => choose(Number(chosen.case.value), {
    structure: chosen.structure.value, model: chosen.model.value,
  }));
  chosen.model.addEventListener("change", () => draw(place()));
  [...shows, withImage].forEach((box) => box.addEventListener("change", () => { colours(); address(); }));
  find("previous").addEventListener("click", () => step(-1));
  find("next").addEventListener("click", () => step(1));
  document.querySelectorAll("[data-view-case]").forEach((link) => link.addEventListener("click", async () => {
    await start();
    await choose(cases.findIndex((one) => one.case === link.dataset.viewCase), { structure: link.dataset.structure });
    host.scrollIntoView({ block: "start" });
    canvas.focus({ preventScroll: true });
  }));
  addEventListener("hashchange", () => { if (started && wantedFrom()) restore(); });
  if (wantedFrom()) start().then(() => host.scrollIntoView({ block: "start" }));
  else {
    host.hidden = false; // so that it has a place to come into view at
    new IntersectionObserver((entries, observer) => {
      if (entries.some((entry) => entry.isIntersecting)) { observer.disconnect(); start(); }
    }, { rootMargin: "300px" }).observe(host);
  }
})();
