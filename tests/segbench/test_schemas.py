"""The published schemas are those of the code, accept the configs of the project, and cost nobody who asks for help."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from segauge.errors import InvalidInput
from segbench.cards import DatasetCard, dataset_cards, model_cards
from segbench.config import RunConfig
from segbench.records.schema import schemas
from segbench.typed import validated

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / "docs" / "reference" / "schemas"


def test_the_published_schemas_are_those_of_the_code():
    """Write them again with `python .ci/write_schemas.py`."""
    published = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
    assert published == schemas()


def test_a_schema_names_every_key_and_no_other():
    config = schemas()["config"]
    assert config["additionalProperties"] is False
    assert {"dataset", "models"} == set(config["required"])
    for path in (PROJECT / "configs").glob("*.yaml"):
        assert set(yaml.safe_load(path.read_text(encoding="utf-8"))) <= set(config["properties"])


@pytest.mark.parametrize(("kind", "cards"), [("dataset-card", dataset_cards()), ("model-card", model_cards())])
def test_cards_have_the_keys_of_their_schema(kind, cards):
    assert all(set(card.to_dict()) == set(schemas()[kind]["properties"]) for card in cards)


@pytest.mark.parametrize("command", ["import segauge", "import segbench.cli; segbench.cli.main(['--help'])"])
def test_nobody_loads_pydantic_who_does_not_need_it(command):
    program = f"import sys\ntry:\n    {command}\nexcept SystemExit:\n    pass\nprint('pydantic' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "a", "lineage": [{"relation": "contains", "other": "b"}]}, "lineage.1: expected the key 'source'"),
        ({"name": "a", "lineage": [{"relation": "contains", "other": "b", "source": "c", "notes": "d"}]},
         "lineage.1: No key 'notes'; did you mean 'note'"),
        ({"name": "a", "lineage": [{"relation": "contain", "other": "b", "source": "c"}]},
         "lineage.1.relation: No relation 'contain'; did you mean 'contains'"),
        ({"name": "a", "aliases": ["b", 3]}, "aliases.2 should be a text, got 3"),
        ({"name": "a", "n_cases": 1.5}, "n_cases should be a whole number, got 1.5"),
        ({"name": "a", "tolerances_mm": {"liver": float("nan")}}, "tolerances_mm.liver should be a number, got nan"),
        ({"name": "a", "title": True}, "title should be a text .YAML takes no, yes"),
        ({"name": "a", 3: 4}, "a key should be a text, got 3"),
        ({"name": "a", "structures": {"liver": [1, True]}}, "expected label values, which are whole numbers"),
    ],
)  # fmt: skip
def test_errors_name_the_place(given, words):
    with pytest.raises(InvalidInput, match=words):
        DatasetCard.from_dict(given)


def test_no_word_of_pydantic_reaches_a_user():
    """Every field, given each kind of wrong value, is refused in our words or taken."""
    for key in schemas()["config"]["properties"]:
        for wrong in (True, -1, 1.5, "x", [], [1], {}, {"a": None}, [[]], float("nan"), "\x00"):
            try:
                RunConfig.from_dict({"dataset": "kits23", "models": ["ctfm"], key: wrong})
            except InvalidInput as error:
                said = str(error)
                assert "input should" not in said.lower(), said
                assert "pydantic" not in said.lower(), said
                assert said.startswith("config: "), said


def test_no_keys_at_all():
    with pytest.raises(InvalidInput, match="expected keys and values, got 3"):
        validated(DatasetCard, 3, "x")
