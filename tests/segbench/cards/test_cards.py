"""Cards are values: to JSON and back, through pickle, and strict about what they are given."""

import json
import pickle

import pytest

from segauge.errors import InvalidInput
from segbench.cards import DatasetCard, ModelCard, dataset_card, dataset_cards, model_card, model_cards


@pytest.mark.parametrize("card", [*dataset_cards(), *model_cards()], ids=lambda card: card.name)
def test_every_card_survives_json_and_pickle(card):
    text = json.dumps(card.to_dict(), allow_nan=False)
    assert type(card).from_dict(json.loads(text)) == card
    assert pickle.loads(pickle.dumps(card)) == card  # noqa: S301 - our own bytes, as a worker process gets them


def test_a_misspelt_key_is_an_error_with_a_suggestion():
    with pytest.raises(InvalidInput, match="did you mean 'licence'"):
        DatasetCard.from_dict({"name": "mine", "license": "CC0"})
    with pytest.raises(InvalidInput, match="expected the key 'name'"):
        ModelCard.from_dict({})


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("title", 3, "title should be a text, got 3"),
        ("show_images", "yes", "show_images should be true or false"),
        ("n_cases", "many", "n_cases should be a whole number"),
        ("n_cases", True, "n_cases should be a whole number"),
        ("lineage", "kits19", "lineage should be a list of edges"),
        ("lineage", ["kits19"], "expected keys and values, got 'kits19'"),
        ("structures", ["kidney"], "structures should be names and labels"),
        ("aliases", "kits", "aliases should be a list of texts"),
    ],
)
def test_a_field_of_another_kind_is_refused_in_words(key, value, words):
    with pytest.raises(InvalidInput, match=words):
        DatasetCard.from_dict({"name": "mine", key: value})


def test_an_edge_needs_a_source_and_a_known_relation():
    with pytest.raises(InvalidInput, match="source should be a text"):
        DatasetCard("a", lineage=({"relation": "contains", "other": "b", "source": ""},))
    with pytest.raises(InvalidInput, match="did you mean 'contains'"):
        DatasetCard("a", lineage=({"relation": "contain", "other": "b", "source": "x"},))


def test_labels_become_a_labeling_in_the_order_asked_for():
    labeling = dataset_card("kits23").labeling(["tumor", "kidney"])
    assert dict(labeling.structures) == {"tumor": (2,), "kidney": (1, 2, 3)}
    with pytest.raises(InvalidInput, match="did you mean 'kidney'"):
        dataset_card("kits23").labeling(["kidneys"])


def test_the_union_that_answers_the_whole_kidney_has_the_cysts_where_the_model_knows_them():
    assert model_card("TotalSegmentator").structures["kidney"] == (2, 3, 23, 24)
    assert model_card("CT-FM").structures["aorta"] == (52,)
    assert model_card("MONAI wholeBody").structures["aorta"] == (7,)
    assert not model_card("MONAI wholeBody").supports("prostate")


def test_cards_are_frozen():
    with pytest.raises(TypeError):
        dataset_card("kits23").structures["liver"] = (9,)


def test_unknown_names_come_with_a_suggestion():
    with pytest.raises(InvalidInput, match="did you mean 'kits23'"):
        dataset_card("kits32")
    with pytest.raises(InvalidInput, match="did you mean 'TotalSegmentator'"):
        model_card("TotalSegmentater")
