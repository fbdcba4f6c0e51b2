"""The common axis: every value inside, ticks that are round."""

import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from segbench.site.axes import MARGIN, WIDTH, axis_for, tick_step

numbers = st.floats(-1e6, 1e6, allow_nan=False)


@settings(max_examples=60)
@given(st.lists(numbers, min_size=1, max_size=20))
def test_every_value_stands_between_the_ends_in_its_order(values):
    span = max(values) - min(values)
    # Differences near the last digit of the values cannot be drawn.
    assume(span == 0 or span > 1e-6 * max(map(abs, values)))
    axis = axis_for(values)
    assert axis.low < min(values) <= max(values) < axis.high
    places = [float(axis.at(value)) for value in sorted(values)]
    assert places == sorted(places)
    assert MARGIN <= places[0] <= places[-1] <= WIDTH - MARGIN


def test_the_axis_does_not_pass_the_bounds_of_the_scale():
    axis = axis_for([0.98, 1.0], (0.0, 1.0))
    assert axis.high == 1.0
    assert axis.low < 0.98
    assert axis_for([0.0, 0.3], (0.0, 1.0)).low == 0.0


def test_ticks_are_round_and_labelled_with_enough_digits():
    axis = axis_for([0.80, 0.95], (0.0, 1.0))
    assert [label for _, label in axis.ticks] == ["0.80", "0.85", "0.90", "0.95"]
    assert tick_step(4.0) == 1.0
    assert tick_step(0.1) == 0.02
    assert [label for _, label in axis_for([-1.0, 1.0]).ticks] == ["-1.0", "-0.5", "0.0", "0.5", "1.0"]


def test_without_a_value_there_is_no_axis():
    assert axis_for([None, math.nan]) is None
    assert axis_for([3.0]) is not None
