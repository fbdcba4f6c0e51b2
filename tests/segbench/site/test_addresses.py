"""Names are data: whatever they are, files stay in the site's folder and links lead nowhere dangerous."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segbench.addresses import MOST_LETTERS, safe_link, slugs


@settings(max_examples=30)
@given(st.lists(st.text(max_size=60), unique=True, max_size=6))
def test_slugs_are_plain_and_all_different(names):
    made = slugs(names)
    assert list(made) == names
    assert len(set(made.values())) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug) for slug in made.values())
    assert all(len(slug) <= MOST_LETTERS + 4 for slug in made.values())


def test_slugs_keep_the_words_and_number_what_is_alike():
    assert slugs(["Left Kidney", "left_kidney", "../../etc", "nsd@2", "腎"]) == {
        "Left Kidney": "left-kidney",
        "left_kidney": "left-kidney-2",
        "../../etc": "etc",
        "nsd@2": "nsd-2",
        "腎": "x" + slugs(["腎"])["腎"][1:],
    }


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", " data:text/html,x", "//evil", "https://a b", "", "file:///x"]
)
def test_only_web_addresses_become_links(address):
    assert safe_link(address) == ""


def test_web_addresses_stay():
    assert safe_link(" https://doi.org/10.1/x ") == "https://doi.org/10.1/x"
