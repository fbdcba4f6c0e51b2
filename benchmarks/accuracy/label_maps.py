"""Compare our label maps with those of the packages themselves, read from their wheels without installing anything.

    python benchmarks/accuracy/label_maps.py [--wheels DIR]

Fetches the wheels with pip, without dependencies, unless the folder has them. Prints one line per map; exits with 1 if
any differs.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from segbench.label_orders import TOTALSEGMENTATOR_V1, TOTALSEGMENTATOR_V2
from segbench.models.ctfm import ctfm
from segbench.models.moose import PARTS, moose
from segbench.models.totalsegmentator import totalsegmentator

PACKAGES = ("TotalSegmentator==2.18.0", "moosez==3.2.2", "lighter-zoo==0.1.3")

#: What MOOSE calls a structure where the cards use TotalSegmentator's word.
MOOSE_WORDS = {"urinary_bladder": "bladder", "portal_vein_and_splenic_vein": "portal_splenic_vein"}


def fetch_wheels(folder: Path) -> dict[str, zipfile.ZipFile]:
    """Return the wheels by package, downloaded if need be."""
    found = {}
    for package in PACKAGES:
        name = package.partition("==")[0]
        pattern = name.lower().replace("-", "_") + "-*.whl"
        if not list(folder.glob(pattern)):
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), package]
            subprocess.run(command, check=True)
        found[name] = zipfile.ZipFile(next(folder.glob(pattern)))
    return found


def totalsegmentator_map(wheel: zipfile.ZipFile, task: str) -> dict[str, int]:
    """Return the class map of a task: a literal in the source, parsed and never run."""
    tree = ast.parse(wheel.read("totalsegmentator/map_to_binary.py"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "class_map":
            return {name: label for label, name in ast.literal_eval(node.value)[task].items()}
    raise SystemExit("TotalSegmentator: no class_map in map_to_binary.py")


def moose_map(wheel: zipfile.ZipFile, model: str) -> dict[str, int]:
    """Return the labels of a model from the table in the package's description."""
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    row = re.search(rf"\| `{model}` +\|([^|]+)\|", wheel.read(name).decode())
    if row is None:
        raise SystemExit(f"MOOSE: no row for {model} in its description")
    return {word: int(number) for number, word in re.findall(r"(\d+): ?(\w+)", row.group(1))}


def moose_labels(part: str) -> dict[str, int]:
    """Return what our card says about one model of MOOSE, in the model's own numbers and words."""
    if part == "organs":
        ours = {name: labels[0] for name, labels in moose({}).card.structures.items() if len(labels) == 1}
    else:
        ours = dict(PARTS[part])
    return {MOOSE_WORDS.get(name, name): label for name, label in ours.items()}


def ctfm_outputs(wheel: zipfile.ZipFile) -> int:
    """Return the number of output channels of the whole-body model, from the package's description."""
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return max(int(number) for number in re.findall(r"out_channels=(\d+)", wheel.read(name).decode()))


def main() -> int:
    """Compare, print, and say whether all agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, help="folder that keeps the wheels")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        wheels = fetch_wheels(args.wheels or Path(temporary))
        whole = totalsegmentator_map(wheels["TotalSegmentator"], "total")
        single = {name: labels[0] for name, labels in totalsegmentator({}).card.structures.items() if len(labels) == 1}
        comparisons = {
            "TotalSegmentator total": (dict(TOTALSEGMENTATOR_V2), whole),
            "TotalSegmentator total_v1": (
                dict(TOTALSEGMENTATOR_V1),
                totalsegmentator_map(wheels["TotalSegmentator"], "total_v1"),
            ),
            "TotalSegmentator card": (single, whole),
            "CT-FM card": ({n: v[0] for n, v in ctfm({}).card.structures.items() if len(v) == 1}, whole),
            "CT-FM outputs": (
                {"channels": len(TOTALSEGMENTATOR_V2) + 1},
                {"channels": ctfm_outputs(wheels["lighter-zoo"])},
            ),
        }
        for part in PARTS:
            theirs = moose_map(wheels["moosez"], f"clin_ct_{part}")
            ours = moose_labels(part)
            comparisons[f"MOOSE {part} card"] = (ours, {name: theirs.get(name, 0) for name in ours})
    wrong = 0
    for name, (ours, theirs) in comparisons.items():
        differing = sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))
        wrong += bool(differing)
        words = "agree" if not differing else "DIFFER: " + ", ".join(
            f"{key} {ours.get(key)} (theirs {theirs.get(key)})" for key in differing[:8]
        )  # fmt: skip
        print(f"{name:<28} {len(ours):>4} labels {words}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
