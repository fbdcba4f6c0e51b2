"""evaluate(convention=...): other tools' numbers over a folder, said in the protocol."""

import numpy as np
import pytest

import segauge
from segauge.errors import InvalidInput


def one_case():
    pred, gt = np.zeros((2, 12, 12, 12), dtype=np.uint8)
    pred[2:8, 2:8, 2:8], gt[3:8, 2:8, 4:10] = 1, 1
    return segauge.Case("a", pred, gt, spacing=(1.0, 1.0, 2.5))


def test_the_numbers_are_those_of_measure_and_the_protocol_says_whose():
    case = one_case()
    result = segauge.evaluate(
        [case], metrics=["hd95", "assd"], convention="monai", structures={"x": 1}, executor="serial"
    )
    alone = segauge.measure(
        case.pred, case.gt, {"x": 1}, ["hd95", "assd"], spacing=(1.0, 1.0, 2.5), convention="monai"
    )  # fmt: skip
    assert result.rows[0]["hd95"] == alone["x", "hd95"].value
    assert result.rows[0]["assd"] == alone["x", "assd"].value
    assert result.protocol["options"]["convention"] == "monai"


def test_an_unknown_convention_is_refused_before_the_first_case():
    with pytest.raises(InvalidInput, match="convention: expected one of"):
        segauge.evaluate([one_case()], convention="itk", executor="serial")
