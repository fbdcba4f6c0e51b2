"""Speed on a folder: 20 KiTS-size cases, reading included, ours against a plain loop of surface-distance.

    python -m benchmarks.speed.folder [--cases 20] [--jobs 2]

Both read the same .nii.gz files and give Dice, HD95 and NSD at 2 mm of kidney+masses, masses and tumour; ours gives all
its usual metrics beside. The peer is the loop that people write (nibabel, one mask per region, surface-distance), over
the same number of processes. With the KiTS23 readers next to the project the cases are theirs (one reader against
the reference); otherwise phantoms of 512 x 512 x 120 voxels. Dice of both must agree to the last digit.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

# One thread per process on both sides: the processes are what is compared.
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

PROJECT = Path(__file__).resolve().parents[2]
REGIONS = {"kidney_and_masses": (1, 2, 3), "masses": (2, 3), "tumour": (2,)}
TOLERANCE_MM = 2.0

Pair = tuple[str, Path, Path]


def reader_pairs(wanted: int) -> list[Pair]:
    """Return pairs of (id, pred, gt) from the KiTS23 readers, [] without them."""
    folder = Path(os.environ.get("SEGAUGE_SHARED", PROJECT.parent / "shared")) / "data" / "kits23_readers"
    pairs = []
    for reader in ("reader1", "reader2", "reader3"):
        for pred in sorted((folder / reader).glob("*.nii.gz")):
            gt = folder / "reference" / pred.name
            if gt.is_file():
                pairs.append((f"{pred.name[:-7]}-{reader}", pred, gt))
    return pairs[:wanted] if len(pairs) >= wanted else []


def phantom_pairs(folder: Path, wanted: int) -> list[Pair]:
    """Write phantoms of KiTS's usual size and return their pairs."""
    import nibabel as nib

    affine = np.diag([0.78, 0.78, 2.5, 1.0])
    x, y, z = np.ogrid[:512, :512, :120]
    pairs = []
    for i in range(wanted):
        files = []
        for side, shift in (("gt", 0), ("pred", 2)):
            labels = np.zeros((512, 512, 120), dtype=np.uint8)
            for cx, label, radius in ((160, 1, 60), (350, 1, 55), (350, 2, 25), (330, 3, 12)):
                inside = (x - cx - shift - i) ** 2 + (y - 250) ** 2 + (3.2 * (z - 60)) ** 2 < (radius + shift) ** 2
                labels[inside] = label
            path = folder / f"{side}_{i:02}.nii.gz"
            nib.save(nib.Nifti1Image(labels, affine), path)
            files.append(path)
        pairs.append((f"phantom_{i:02}", files[1], files[0]))
    return pairs


def plain_case(pair: Pair) -> list[float]:
    """Return Dice, HD95 and NSD of each region as a plain loop computes them."""
    import nibabel as nib
    import surface_distance

    _, pred_path, gt_path = pair
    image = nib.load(gt_path)
    gt, pred = np.asarray(image.dataobj), np.asarray(nib.load(pred_path).dataobj)
    spacing = [float(edge) for edge in image.header.get_zooms()[:3]]
    scores = []
    for labels in REGIONS.values():
        one, other = np.isin(gt, labels), np.isin(pred, labels)
        distances = surface_distance.compute_surface_distances(one, other, spacing)
        scores.append(float(surface_distance.compute_dice_coefficient(one, other)))
        scores.append(float(surface_distance.compute_robust_hausdorff(distances, 95)))
        scores.append(float(surface_distance.compute_surface_dice_at_tolerance(distances, TOLERANCE_MM)))
    return scores


def cpu_seconds() -> float:
    """Return the processor time of this process and of its children that have ended: what a busy machine spares."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    """Time both and print the ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    from segauge import Case, evaluate

    with tempfile.TemporaryDirectory() as folder:
        pairs = reader_pairs(args.cases) or phantom_pairs(Path(folder), args.cases)
        print(f"{len(pairs)} cases, first {pairs[0][0]}, {args.jobs} processes, {os.cpu_count()} cores")
        start, cpu = time.perf_counter(), cpu_seconds()
        result = evaluate(
            [Case(name, pred, gt) for name, pred, gt in pairs],
            structures=REGIONS,
            nsd_tolerance=TOLERANCE_MM,
            detection=False,
            jobs=args.jobs,
            executor="processes",
        )
        ours, our_cpu = time.perf_counter() - start, cpu_seconds() - cpu
        if result.failures:
            sys.exit(f"failed: {result.failures}")
        print(f"segauge           {ours:8.1f} s  {our_cpu:8.1f} s of processor time", flush=True)
        start, cpu = time.perf_counter(), cpu_seconds()
        with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
            plain = list(pool.map(plain_case, pairs))
        theirs, their_cpu = time.perf_counter() - start, cpu_seconds() - cpu
        print(f"surface-distance  {theirs:8.1f} s  {their_cpu:8.1f} s of processor time")
        print(f"ratio             {theirs / ours:8.1f}    {their_cpu / our_cpu:8.1f}")
    dice = result.table.values[:, :, result.table.metrics.index("dice")]
    other = np.array(plain)[:, ::3]
    both = np.isfinite(other) & np.isfinite(dice)
    print(f"largest difference in Dice over {both.sum()} values: {np.abs(dice - other)[both].max():.1e}")


if __name__ == "__main__":
    main()
