// The case viewer: slices, masks as toggles, errors in colour, a surface to turn. NiiVue draws; this file chooses what.
// Without WebGL 2, or without NiiVue, the page keeps its fixed slices.
"use strict";
// A source has the names of the cases, a function that loads one of them, and the address: read() returns what it asks
// for, write(parts) keeps what is shown. `title(structure)` is what readers call a structure. A page that chooses the
// case and the structure itself gives `step(by)`, and calls show() of what this returns.
window.segaugeViewer = (host, source) => {
  if (!host || typeof niivue === "undefined") return null;
  if (!document.createElement("canvas").getContext("webgl2")) return null;

  const find = (part) => host.querySelector(`[data-part=${part}]`);
  const canvas = find("canvas"), readout = find("readout"), scores = find("scores"), status = find("status");
  const chosen = { case: find("case"), structure: find("structure"), model: find("model") };
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
  let base = null, overlay = null, mesh = null, shown = null, turn = 0, one = null;

  const title = source.title ?? ((name) => name);
  const fill = (select, names, wanted) => {
    select.replaceChildren(...names.map(([value, text]) => new Option(text, value)));
    if (names.some(([value]) => value === wanted)) select.value = wanted;
    select.closest("label").hidden = names.length < 2 || (Boolean(source.step) && select !== chosen.model);
  };
  const choices = (wanted = {}) => {
    fill(chosen.structure, Object.keys(one.structures).map((name) => [name, title(name)]), wanted.structure);
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
  const address = () => source.write({
    case: one.case, structure: chosen.structure.value, model: chosen.model.value,
    at: place().map((mm) => mm.toFixed(1)).join(","), show: shows.map((box) => Number(box.checked)).join(""),
  });
  let waiting = 0;
  const moved = () => {
    const voxel = place().map((mm, i) => Math.round((mm - one.origin[i]) / one.spacing[i]) + 1);
    readout.textContent = `Slices: sagittal ${voxel[0]} of ${one.dims[0]}, coronal ${voxel[1]} of ${one.dims[1]}, `
      + `axial ${voxel[2]} of ${one.dims[2]}`;
    clearTimeout(waiting);
    waiting = setTimeout(address, 250);
  };
  nv.onLocationChange = moved;

  const draw = async (at) => {
    const mine = turn += 1;
    const structure = one.structures[chosen.structure.value], model = chosen.model.value;
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
    surface(structure.surfaces[model]);
    scores.replaceChildren(...(structure.scores[model] ?? []).concat(one.facts).flatMap(([name, text]) => {
      const term = document.createElement("dt"), value = document.createElement("dd");
      term.textContent = name;
      value.textContent = text;
      return [term, value];
    }));
    status.textContent = `Shown: ${one.case}, ${title(chosen.structure.value)}`;
    goTo(at ?? structure.start);
  };

  const choose = async (number, wanted = {}, at) => {
    const place = (number + source.cases.length) % source.cases.length, mine = turn += 1;
    const loaded = await source.load(source.cases[place]);
    if (mine !== turn) return;
    one = loaded;
    chosen.case.value = String(place);
    choices(wanted);
    await draw(at);
  };
  const kept = () => ({ structure: chosen.structure.value, model: chosen.model.value });
  const step = (by) => (source.step ? source.step(by) : choose(Number(chosen.case.value) + by, kept()));
  const slice = (axis, by) => {
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

  const numbers = (text) => {
    const found = (text ?? "").split(",").map(Number);
    return text && found.length === 3 && found.every(Number.isFinite) ? found : undefined;
  };
  const restore = () => {
    const wanted = source.read();
    shows.forEach((box, i) => { if (/^[01]{3}$/.test(wanted?.show ?? "")) box.checked = wanted.show[i] === "1"; });
    const model = wanted?.model ?? chosen.model.value;
    return choose(Math.max(0, source.cases.indexOf(wanted?.case)), { structure: wanted?.structure, model }, numbers(wanted?.at));
  };

  let started = null;
  const start = () => {
    started ??= (async () => {
      host.hidden = false;
      document.documentElement.classList.add("with-viewer");
      await nv.attachToCanvas(canvas);
      nv.setSliceType(nv.sliceTypeMultiplanar);
    })();
    return started;
  };
  const show = async () => {
    await start();
    await restore();
    host.dataset.ready = "";
  };

  fill(chosen.case, source.cases.map((name, i) => [String(i), name]));
  [chosen.case.closest("label"), find("previous"), find("next")].forEach((part) => { part.hidden = Boolean(source.step); });
  chosen.case.addEventListener("change", () => choose(Number(chosen.case.value)));
  chosen.structure.addEventListener("change", () => choose(Number(chosen.case.value), kept()));
  chosen.model.addEventListener("change", () => draw(place()));
  [...shows, withImage].forEach((box) => box.addEventListener("change", () => { colours(); address(); }));
  find("previous").addEventListener("click", () => step(-1));
  find("next").addEventListener("click", () => step(1));
  const open = async (name, structure) => {
    await start();
    await choose(source.cases.indexOf(name), { structure });
    host.dataset.ready = "";
    host.scrollIntoView({ block: "start" });
    canvas.focus({ preventScroll: true });
  };
  return { show, open };
};

// A report: all cases are in the page, and the viewer starts when it comes into view.
(() => {
  const host = document.querySelector("[data-viewer]"), stored = document.getElementById("data-viewer");
  if (!host || !stored) return;
  const cases = new Map(JSON.parse(stored.textContent).cases.map((one) => [one.case, one]));
  const read = () => {
    const [name, query] = location.hash.split("?");
    return name === "#view" && query ? Object.fromEntries(new URLSearchParams(query)) : null;
  };
  const viewer = window.segaugeViewer(host, {
    cases: Array.from(cases.keys()), load: (name) => cases.get(name), read,
    write: (parts) => history.replaceState(null, "", `#view?${new URLSearchParams(parts)}`),
  });
  if (!viewer) return;
  document.querySelectorAll("[data-view-case]").forEach((link) => {
    link.hidden = false;
    link.addEventListener("click", () => viewer.open(link.dataset.viewCase, link.dataset.structure));
  });
  addEventListener("hashchange", () => { if (read()) viewer.show(); });
  if (read()) viewer.show().then(() => host.scrollIntoView({ block: "start" }));
  else {
    host.hidden = false; // so that it has a place to come into view at
    new IntersectionObserver((entries, observer) => {
      if (entries.some((entry) => entry.isIntersecting)) { observer.disconnect(); viewer.show(); }
    }, { rootMargin: "300px" }).observe(host);
  }
})();
