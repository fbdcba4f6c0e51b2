"""What docstrings show is what the package does."""

import doctest

import pytest

import segauge
import segauge.phantoms
import segbench


@pytest.mark.parametrize("module", [segauge, segauge.phantoms, segbench])
def test_examples_in_docstrings(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted
    assert not outcome.failed
