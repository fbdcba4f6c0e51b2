"""Results to report on: made of plain numbers, or of phantoms in memory."""

import numpy as np

from segauge.evaluation import Case, EvaluationResult, evaluate
from segauge.metrics.catalog import DEFAULT_METRICS, resolve_metrics
from segauge.scores import ScoreTable, Status

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd()|' /C calc'!A0",
    "x" * 300,
    "🫀 heart",
    "\u202egnirts desrever",
    "a\nb\tc",
    "]]>&amp;<!--",
    "\\input{/etc/passwd} $x^2$ %",
    "| cell | [a](http://x.y) `code`",
    "\x00\x1b[31m",
    "{{ 7 * 7 }} {% raw %}",
    "__proto__",
)


def synthetic(n=20, structures=("liver", "pancreas", "left kidney"), *, cases=None, curve=True, seed=0):
    """Return a result of random but plausible scores, with missed, spurious and absent structures."""
    rng = np.random.default_rng(seed)
    tolerances = (0.5, 1, 2, 5, 10) if curve else ()
    metrics = resolve_metrics([*DEFAULT_METRICS, "lesion_f1", *(f"nsd@{t:g}" for t in tolerances)])
    keys = [info.key for info in metrics]
    values = np.full((n, len(structures), len(keys)), np.nan)
    status = np.empty((n, len(structures)), dtype=object)
    status[:] = Status.PRESENT
    lot = rng.random((n, len(structures)))
    status[lot < 0.03], status[lot > 0.99], status[(lot > 0.95) & (lot <= 0.99)] = (
        Status.MISSED,
        Status.SPURIOUS,
        Status.ABSENT,
    )
    dice = rng.beta(18, 1.6, (n, len(structures)))
    distance = (1 - dice) * 30 * rng.lognormal(0, 0.4, dice.shape)
    volume = rng.lognormal(4, 0.6, dice.shape)
    found = {
        "dice": dice,
        "iou": dice / (2 - dice),
        "sensitivity": dice,
        "precision": dice,
        "hd": 2 * distance,
        "hd95": distance,
        "assd": distance / 6,
        "masd": distance / 6,
        "nsd": np.exp(-distance / 10),
        "pred_volume": volume * rng.normal(1, 0.05, dice.shape),
        "gt_volume": volume,
        "relative_volume_difference": rng.normal(0, 0.05, dice.shape),
        "lesion_f1": np.sqrt(dice),
        **{f"nsd@{t:g}": 1 - np.exp(-t * 6 / (distance + 0.4)) for t in tolerances},
    }
    for k, key in enumerate(keys):
        values[:, :, k] = np.where(status == Status.PRESENT, found[key], np.nan)
    names = tuple(cases or (f"case_{i:04d}" for i in range(n)))
    table = ScoreTable(names, tuple(structures), tuple(keys), values, status)
    metadata = {case: {"sex": "FM"[i % 2], "scanner": "ABC"[i % 3], "age": 30 + i} for i, case in enumerate(names)}
    files = {case: {side: {"name": case, "sha256": "ab" * 32} for side in ("pred", "gt")} for case in names}
    protocol = {
        "versions": {"segauge": "0.3"},
        "options": {"surface": "marching-cubes", "hd": "directed", "nsd_tolerance_mm": 1.0},
        "files": files,
    }
    return EvaluationResult(table, metrics, metadata, {names[0]: ("a remark",)}, ("a warning",), {}, protocol)


def balls(shape=(40, 44, 36), *, centre=(20, 22, 18), radius=9, label=1):
    """Return a label array with one ball."""
    grid = np.indices(shape)
    inside = sum((axis - middle) ** 2 for axis, middle in zip(grid, centre, strict=True)) <= radius**2
    return (inside * label).astype(np.uint8)


def phantom_cases():
    """Return cases with one known failure each."""
    gt = balls()
    cut = gt.copy()
    cut[:, :, 18:] = 0
    return [
        Case("fine", gt, gt),
        Case("missed", np.zeros_like(gt), gt),
        Case("shifted", balls(centre=(20, 22, 24)), gt),
        Case("cut", cut, gt),
        Case("large", balls(radius=12), gt),
    ]


def phantom_result():
    """Return the cases and their result."""
    cases = phantom_cases()
    return cases, evaluate(cases, structures={"organ": 1}, n_resamples=200)
