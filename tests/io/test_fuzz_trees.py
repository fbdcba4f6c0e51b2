"""Damaged JSON and YAML: trees of values with branches cut, doubled, moved and replaced; only our own errors come out.

SEGAUGE_FUZZ_TREES=100000 makes a long run of it, from other seeds for each SEGAUGE_FUZZ_SEED.
"""

import copy
import json
import os
import random
import time
import tracemalloc

import pytest

from segauge.errors import SegaugeError
from segauge.io.tables import read_scores
from segauge.io.yaml_files import read_yaml

EXAMPLES = int(os.environ.get("SEGAUGE_FUZZ_TREES", "100"))
SEED = int(os.environ.get("SEGAUGE_FUZZ_SEED", "0"))
#: A file of this test has a few kilobytes, and readers keep some hundred bytes for each value.
MEMORY_BOUND = 16_000_000
SECONDS = 5.0
MOST_BYTES = 10_000

_ROWS = [{"case_id": "c0", "structure": "liver", "status": "present", "reason": "", "dice": 0.9, "meta.age": 40},
         {"case_id": "c1", "structure": "liver", "status": "unreadable", "reason": "cut", "dice": None}]  # fmt: skip
_CELL = {"case": "c0", "structure": "liver", "status": "present", "scores": {"dice": 0.5}}
SEEDS = {
    "evaluation": {"schema": "segauge-evaluation/1", "n_cases": 2, "per_case": _ROWS,
                   "protocol": {"options": {"surface": "voxel"}, "versions": {"segauge": "1"}}},
    "scores": {"schema": "segauge-scores/1", "models": {"A": [_CELL], "B": [{**_CELL, "scores": {"dice": 0.7}}]}},
    "nnunet": {"metric_per_case": [{"reference_file": "gt/c1.nii.gz", "metrics": {"1": {"Dice": 0.5, "TP": 4}}}],
               "mean": {"1": {"Dice": 0.5}}, "foreground_mean": {"Dice": 0.5}},
}  # fmt: skip
ODD = [None, True, -1, 0, 1e308, -1e308, 2**70, 10**320, "", "nan", "\x00\x1b[2J", "=1+1", "ß" * 300, [], {}, [[]],
       {"": {}}, float("nan"), float("inf")]  # fmt: skip


def places(tree):
    """Return every container of a tree with each of its keys."""
    found, level = [], [tree]
    while level:
        node = level.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        found += [(node, key) for key in keys]
        level += [node[key] for key in keys]
    return found


def mutated(tree, chance):
    """Return a tree with one to four branches cut, doubled, replaced by something odd, nested or renamed."""
    tree = copy.deepcopy(tree)
    for _ in range(chance.randint(1, 4)):
        found = places(tree)
        if not found:
            return tree
        node, key = chance.choice(found)
        match chance.randrange(6):
            case 0:
                del node[key]
            case 1:
                node[key] = chance.choice(ODD)
            case 2:
                node[key] = [copy.deepcopy(node[key])] * chance.choice([1, 2, 50])
            case 3:
                node[key] = copy.deepcopy(chance.choice(found)[0])
            case 4 if isinstance(node, dict):
                node[chance.choice(["case", "Dice", "", "dice", "x" * 99])] = node.pop(key)
            case _:
                for _ in range(chance.choice([1, 40, 150])):
                    node[key] = {"a": node[key]}
    return tree


def spoilt(text, chance):
    """Return the bytes of a text, a tenth of them with a piece cut out, doubled or overwritten."""
    data = bytearray(text.encode("utf-8", errors="surrogatepass"))
    if data and chance.random() < 0.1:
        at = chance.randrange(len(data))
        data[at : at + chance.choice([0, 1, 9])] = chance.choice(
            [b"", b"\xff", b"{", b"&a *a", b"- ", b"\t", b"9" * 400]
        )
    return bytes(data)


def survive(read, path, data):
    """Read a file; raise whatever is no error of ours, or took too long."""
    path.write_bytes(data)
    begun = time.monotonic()
    try:
        read(path)
    except SegaugeError:
        return False
    finally:
        assert time.monotonic() - begun < SECONDS
    return True


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize("kind", ["json", "yaml"])
def test_damaged_trees_give_our_own_errors(tmp_path, name, kind):
    chance = random.Random(f"{SEED} {name} {kind}")  # noqa: S311 - no secret
    path = tmp_path / ("summary.json" if name == "nnunet" else f"results.{kind}")
    read = read_scores if kind == "json" else lambda file: read_yaml(file, "a protocol")
    assert survive(read, path, json.dumps(SEEDS[name]).encode())  # the seed itself is right
    tracemalloc.start()
    peak = kept = 0
    try:
        for number in range(EXAMPLES):
            data = spoilt(json.dumps(mutated(SEEDS[name], chance)), chance)
            if len(data) > MOST_BYTES:  # a parse of a large YAML file takes longer than the limit
                continue
            tracemalloc.reset_peak()
            begun_with = tracemalloc.get_traced_memory()[0]
            try:
                kept += survive(read, path, data)
            except Exception as error:
                raise AssertionError(
                    f"example {number} of {SEED} {name} {kind}: {path.read_bytes()[:300]!r}"
                ) from error
            peak = max(peak, tracemalloc.get_traced_memory()[1] - begun_with)
    finally:
        tracemalloc.stop()
    assert peak < MEMORY_BOUND
    assert 0 < kept < EXAMPLES  # some are still right, and some are not
    print(f"{name} {kind}: {EXAMPLES} inputs, {kept} read, peak {peak / 1e6:.1f} MB")  # noqa: T201 - figures of a long run
