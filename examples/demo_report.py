"""Write the report of the phantom cases of `demo.py` to site/report.html: the second page that `make demo` leaves."""

from __future__ import annotations

from pathlib import Path

from demo import CASES, METRICS

from segauge import Case, Grid, evaluate
from segauge.phantoms import perturbed, scene


def main() -> None:
    """Measure the cases with everything that the report shows, and write it."""
    cases = []
    for seed, (name, change) in enumerate(CASES):
        spacing = (2.0, 2.0, 5.0) if name == "thick slices" else (2.0, 2.0, 2.0)
        truth = scene(Grid.from_spacing([round(200 / edge) for edge in spacing], spacing), seed=seed)
        prediction = perturbed(truth, seed=seed, **change)
        cases.append(Case(name, prediction.label_map, truth.label_map))
    result = evaluate(cases, structures=truth.labeling, metrics=METRICS, nsd_tolerance=2.0)
    Path("site").mkdir(exist_ok=True)
    print("written:", result.to_html("site/report.html", cases=cases, title="Phantom abdomens: one model in detail"))


if __name__ == "__main__":
    main()
