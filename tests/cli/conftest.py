"""Commands print tables: in the tests the terminal is wide, however the tests are run."""

import pytest


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
