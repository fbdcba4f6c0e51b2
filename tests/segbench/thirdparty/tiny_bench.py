"""A package of somebody else: a dataset of boxes and a model that thresholds them, found through entry points alone."""

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from segauge import Grid
from segauge.errors import InvalidInput
from segauge.io.images import read_image, write_nifti
from segbench.cards import DatasetCard, ModelCard, TrainingSet
from segbench.registry import DatasetCase
from segbench.suggestions import unknown

CARD = DatasetCard(
    "tiny",
    "Tiny boxes",
    structures={"organ": (1, 2), "lesion": (2,), "left": (3,), "right": (4,), "never": (9,)},
    licence="CC0",
    metadata_columns=("sex",),
    lineage=(),
)
GRID = Grid((20, 18, 16), np.array([[1.5, 0, 0, -10], [0, 1.0, 0, 5], [0, 0, 2.0, 0], [0, 0, 0, 1]], dtype=float))


def scene(number):
    """Return the labels of one case: an organ with a lesion (in every other case), and two small paired organs."""
    labels = np.zeros(GRID.shape, dtype=np.uint8)
    labels[3 : 10 + number % 3, 4:10, 3:9] = 1
    if number % 2 == 0:
        labels[5:8, 5:8, 4:7] = 2
    labels[14:17, 12:16, 10:13] = 3
    labels[3:6, 12:16, 10:13] = 4
    return labels


@dataclass(frozen=True)
class TinyDataset:
    """Boxes of known shape, written when asked for."""

    root: Path
    count: int
    card: DatasetCard = CARD

    def case_ids(self):
        return [f"tiny_{number:02d}" for number in range(self.count)]

    def prepare(self, case_ids, progress=None):  # noqa: ARG002 - nothing here takes long
        self.root.mkdir(parents=True, exist_ok=True)
        for case in self.cases(case_ids):
            number = int(case.case_id[-2:])
            labels = scene(number)
            noise = np.random.default_rng(number).normal(0, 8, GRID.shape)
            write_nifti(case.gt, labels, GRID)
            write_nifti(case.image, (100.0 * labels + noise).astype(np.float32), GRID)

    def cases(self, case_ids):
        return [
            DatasetCase(
                case,
                self.root / f"{case}_image.nii.gz",
                self.root / f"{case}_labels.nii.gz",
                {"sex": "F" if int(case[-2:]) % 3 else "M"},
            )
            for case in case_ids
        ]


def tiny_dataset(root, options):
    for key in options:
        if key != "count":
            raise InvalidInput(unknown("option of tiny", key, ["count"]))
    return TinyDataset(Path(root), options.get("count", 4))


@dataclass(frozen=True)
class ThresholdModel:
    """Thresholds the image; `shift` spoils it by so many voxels, `fail_on` makes it fail on a case."""

    name: str
    shift: int = 0
    fail_on: str = ""
    labels: tuple = (11, 12, 13, 14)
    trained_on: tuple = ()
    needs_gpu: bool = False
    requirements: tuple = ()
    options: dict = field(default_factory=dict)

    @property
    def card(self):
        organ, lesion, left, right = self.labels
        return ModelCard(
            self.name,
            "1.0",
            licence="CC0",
            structures={
                "organ": (organ, lesion),
                "lesion": (lesion,),
                "left": (left,),
                "right": (right,),
                "never": (19,),
            },
            trained_on=tuple(TrainingSet(name, "its makers") for name in self.trained_on),
            pretrained_on=(),
        )

    def command(self, image, output, device, environment_python):  # noqa: ARG002 - it runs anywhere
        return [
            sys.executable, str(Path(__file__)), str(image), str(output),
            "--shift", str(self.shift), "--fail-on", self.fail_on,
        ]  # fmt: skip


def threshold_model(options):
    known = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    plain = {key: value for key, value in options.items() if key != "name"}
    return ThresholdModel(**{"name": "tiny-threshold", **known}, options=plain)


def cardless(root, options):
    return object()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("image", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--shift", type=int)
    parser.add_argument("--fail-on")
    args = parser.parse_args()
    if args.fail_on and args.fail_on in args.image.name:
        raise SystemExit(f"cannot segment {args.image}")
    image = read_image(args.image)
    labels = np.rint(image.array / 100).astype(np.uint8).clip(0, 4)
    labels = np.roll(np.where(labels > 0, labels + 10, 0).astype(np.uint8), args.shift, axis=0)
    write_nifti(args.output, labels, image.grid)


if __name__ == "__main__":
    main()
