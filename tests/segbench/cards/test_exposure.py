"""Who has seen what: the real lineage against what is known of it, and the rules of the graph on small ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segauge.errors import InvalidInput
from segbench.cards import (
    DatasetCard,
    Exposure,
    ExposureLevel,
    Lineage,
    LineageEdge,
    ModelCard,
    TrainingSet,
    dataset_card,
    dataset_cards,
    exposure,
    known_lineage,
    model_card,
    model_cards,
)

NONE, IMAGES, LABELS, UNKNOWN = ExposureLevel.NONE, ExposureLevel.IMAGES, ExposureLevel.LABELS, ExposureLevel.UNKNOWN

DATASETS = ("totalsegmentator-v2", "kits23", "amos22", "btcv", "lits", "msd-liver", "word", "abdomenatlas", "dap-atlas")
#: Per model what it has seen of DATASETS, from the makers' own texts, without the lineage.
EXPECTED = {
    "TotalSegmentator": (LABELS, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE),
    # Only some of the 69 collections that it was pre-trained on are listed, so what is not listed is not known.
    "CT-FM": (LABELS, IMAGES, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, IMAGES, NONE),
    "MONAI wholeBody": (LABELS, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE),
    "STU-Net": (LABELS, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE),
    "MOOSE": (NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, LABELS),
    "CLIP Universal": (NONE, LABELS, LABELS, LABELS, LABELS, LABELS, LABELS, LABELS, NONE),
    "MedNeXt": (NONE, LABELS, LABELS, LABELS, LABELS, LABELS, LABELS, LABELS, NONE),
    "nnU-Net ResEncL": (NONE, LABELS, LABELS, LABELS, LABELS, LABELS, LABELS, LABELS, NONE),
    "SegVol": (UNKNOWN, LABELS, LABELS, LABELS, LABELS, LABELS, LABELS, LABELS, UNKNOWN),
    "deepbet": (UNKNOWN,) * 9,
    "brainextractor": (NONE,) * 9,
}


@pytest.mark.parametrize("model", EXPECTED)
def test_real_models_on_real_datasets(model):
    found = tuple(exposure(model_card(model), name, known_lineage()).level for name in DATASETS)
    assert dict(zip(DATASETS, found, strict=True)) == dict(zip(DATASETS, EXPECTED[model], strict=True))


def test_the_path_that_convicts_is_said_in_words_with_its_sources():
    found = exposure(model_card("MedNeXt"), dataset_card("kits23"), known_lineage())
    assert found.reason == "trained on AbdomenAtlas 1.0 Mini, which contains KiTS23"
    assert found.path == ("abdomenatlas-1.0-mini", "kits23")
    assert len(found.sources) == 2
    images = exposure(model_card("CT-FM"), "kits23", known_lineage())
    assert images.path == ("idc-v14-ct", "c4kc-kits", "kits19", "kits23")
    assert "which is a subset of KiTS19, which is contained in KiTS23" in images.reason


def test_what_the_makers_do_not_say_stands_beside_a_clean_verdict():
    found = exposure(model_card("TotalSegmentator"), "kits23", known_lineage())
    assert found.is_clean
    assert "420" in found.caveat


def test_msd_lung_shares_images_with_what_ct_fm_was_pretrained_on():
    """It comes from NSCLC-Radiogenomics; the answer was "none", as if the list of collections were complete."""
    found = exposure(model_card("CT-FM"), "msd-lung", known_lineage())
    assert found.level is IMAGES
    assert found.path == ("idc-v14-ct", "nsclc-radiogenomics", "msd-lung")


@pytest.mark.parametrize("name", ["flare21", "flare22-unlabelled", "flare23"])
def test_flare_contains_abdomenct_1k_and_so_kits(name):
    """The answers were "unknown"."""
    assert exposure(trained_on(name), "abdomenct-1k", known_lineage()).level is LABELS
    assert exposure(trained_on(name), "kits23", known_lineage()).level is LABELS


def test_msd_brain_tumours_come_from_brats():
    """The answer was "none"."""
    assert exposure(trained_on("BraTS"), "Task01_BrainTumour", known_lineage()).level is LABELS
    assert exposure(trained_on("msd-brain-tumour"), "brats17", known_lineage()).level is LABELS


def test_a_list_of_some_sources_is_never_closed():
    part, other = DatasetCard("part", lineage=()), DatasetCard("other", lineage=())
    whole = DatasetCard("whole", lineage=(edge("contains", "part"),), partial=True)
    known = Lineage.of([part, other, whole])
    assert exposure(trained_on("whole"), "part", known).level is LABELS
    found = exposure(trained_on("whole"), "other", known)
    assert (found.level, found.reason) == (UNKNOWN, "trained on whole; only some of the sources of whole are listed")
    assert exposure(trained_on("other"), "whole", known).level is UNKNOWN
    lacking = DatasetCard("whole", lineage=(edge("contains", "part"),), partial=True, lacks=("other",))
    relabelled = DatasetCard("again", lineage=(edge("relabels", "other"),))
    known = Lineage.of([part, other, lacking, relabelled])
    assert exposure(trained_on("whole"), "other", known).level is NONE
    assert exposure(trained_on("whole"), "again", known).level is NONE


def test_a_remark_in_a_thread_convicts_nobody():
    """Sources that only ask, or that nobody of the makers confirmed, are unverified; two of them were "high"."""
    said = [edge for card in dataset_cards() for edge in card.lineage or () if "remark" in edge.source]
    assert said
    assert all(edge.confidence.value == "unverified" for edge in said)
    assert not [edge.source for card in dataset_cards() for edge in card.lineage or () if "PanTS" in edge.source]


@pytest.mark.parametrize(
    ("written", "name"),
    [("LiTS17", "lits"), ("KiTS2023", "kits23"), ("AbdomenAtlas1.0Mini", "abdomenatlas-1.0-mini"),
     ("Task03_Liver", "msd-liver"), ("abdomen_ct_1k", "abdomenct-1k"), ("FLARE 22", "flare22-labelled")],
)  # fmt: skip
def test_names_as_others_write_them(written, name):
    """The first four were unknown datasets."""
    assert known_lineage().name_of(written) == name


def test_a_training_set_that_nobody_described_is_not_clean():
    known = Lineage.of([DatasetCard("open", title="Open"), DatasetCard("test", lineage=())])
    found = exposure(trained_on("open"), "test", known)
    assert found.level is UNKNOWN
    assert "Open" in found.reason


def test_part_of_a_larger_set_may_overlap_with_another_part_of_it():
    found = exposure(trained_on("flare22-labelled"), "kits23", known_lineage())
    assert found.level is UNKNOWN
    assert "KiTS19" in found.reason
    assert exposure(trained_on("flare22-labelled"), "msd-pancreas", known_lineage()).level is LABELS


def trained_on(*names, pretrained=()):
    return ModelCard(
        "a model",
        trained_on=tuple(TrainingSet(name, "a paper") for name in names),
        pretrained_on=tuple(TrainingSet(name, "a paper") for name in pretrained),
    )


def edge(relation, other, confidence="high"):
    return LineageEdge(relation, other, "somewhere", confidence)


def lineage(**edges):
    return Lineage.of(DatasetCard(name, lineage=tuple(kin)) for name, kin in edges.items())


def test_two_sets_that_contain_the_same_third_share_images():
    known = lineage(part=[], left=[edge("contains", "part")], right=[edge("contains", "part")])
    assert exposure(trained_on("left"), "right", known).level is LABELS


def test_two_sets_contained_in_the_same_third_do_not():
    known = lineage(left=[], right=[], whole=[edge("contains", "left"), edge("contains", "right")])
    assert exposure(trained_on("left"), "right", known).level is NONE


def test_two_subsets_of_one_set_may():
    known = lineage(whole=[], left=[edge("subset_of", "whole")], right=[edge("subset_of", "whole")])
    assert exposure(trained_on("left"), "right", known).level is UNKNOWN


def test_other_labels_on_the_same_images_count_as_labels():
    known = lineage(original=[], again=[edge("relabels", "original")])
    assert exposure(trained_on("again"), "original", known).level is LABELS
    assert exposure(trained_on("original"), "again", known).level is LABELS


def test_an_unverified_edge_leaves_the_question_open_and_a_verified_way_round_settles_it():
    known = lineage(part=[], whole=[edge("contains", "part", "unverified")])
    assert exposure(trained_on("whole"), "part", known).level is UNKNOWN
    known = lineage(
        part=[], way=[edge("contains", "part")], whole=[edge("contains", "part", "unverified"), edge("contains", "way")]
    )
    found = exposure(trained_on("whole"), "part", known)
    assert found.level is LABELS
    assert found.path == ("whole", "way", "part")


def test_labels_weigh_more_than_images_and_images_more_than_unknown():
    known = lineage(a=[], b=[])
    assert exposure(trained_on("a", pretrained=["a"]), "a", known).level is LABELS
    assert exposure(trained_on("nowhere", pretrained=["a"]), "a", known).level is IMAGES
    assert exposure(trained_on("nowhere", pretrained=["b"]), "a", known).level is UNKNOWN


def test_silence_about_any_step_of_the_training_is_unknown():
    known = lineage(a=[], b=[])
    assert exposure(ModelCard("silent", trained_on=()), "a", known).level is UNKNOWN
    assert exposure(ModelCard("silent", pretrained_on=()), "a", known).level is UNKNOWN
    assert exposure(ModelCard("classical", trained_on=(), pretrained_on=()), "a", known).level is NONE


def test_a_dataset_whose_images_come_from_nobody_knows_where_is_open_to_trained_models_only():
    known = Lineage.of([DatasetCard("mine"), DatasetCard("public", lineage=())])
    assert exposure(trained_on("public"), "mine", known).level is UNKNOWN
    assert exposure(ModelCard("classical", trained_on=(), pretrained_on=()), "mine", known).level is NONE


def test_circles_end():
    known = lineage(a=[edge("contains", "b")], b=[edge("contains", "a")], c=[])
    assert exposure(trained_on("a"), "b", known).level is LABELS
    assert exposure(trained_on("a"), "c", known).level is NONE


def test_names_and_aliases():
    known = known_lineage()
    assert known.name_of("AMOS") == known.name_of("amos22") == "amos22"
    with pytest.raises(InvalidInput, match="Two dataset cards"):
        Lineage.of([DatasetCard("a"), DatasetCard("b", aliases=("A",))])


def test_every_edge_and_training_set_of_the_library_leads_to_a_card():
    known = known_lineage()
    others = [edge.other for card in dataset_cards() for edge in card.lineage or ()]
    others += [
        part.dataset for card in model_cards() for part in (*(card.trained_on or ()), *(card.pretrained_on or ()))
    ]
    assert not [name for name in others if known.name_of(name) not in known.datasets]


RELATIONS = ("contains", "relabels", "subset_of")
WEIGHT = (NONE, UNKNOWN, IMAGES, LABELS)
PLACES = tuple("abcdef")
EDGES = st.lists(
    st.tuples(
        st.sampled_from(PLACES),
        st.sampled_from(RELATIONS),
        st.sampled_from(PLACES),
        st.sampled_from(["high", "unverified"]),
    ),
    max_size=8,
)


def drawn(edges):
    kin = {name: [] for name in PLACES}
    for name, relation, other, confidence in edges:
        if name != other:
            kin[name].append(edge(relation, other, confidence))
    return lineage(**kin)


@given(EDGES, EDGES)
def test_knowing_more_never_makes_anybody_cleaner(edges, more):
    before, after = drawn(edges), drawn([*edges, *more])
    for learned in (trained_on("a"), trained_on(pretrained=["a"])):
        levels = [WEIGHT.index(exposure(learned, "b", known).level) for known in (before, after)]
        assert levels[0] <= levels[1]


@given(EDGES)
def test_sharing_images_is_mutual(edges):
    known = drawn(edges)
    assert exposure(trained_on("a"), "b", known).level is exposure(trained_on("b"), "a", known).level


@given(EDGES)
def test_every_path_is_made_of_edges_that_were_given(edges):
    known = drawn(edges)
    found = exposure(trained_on("a"), "b", known)
    steps = {frozenset((name, other)) for name, _, other, _ in edges}
    assert all(frozenset(pair) in steps for pair in zip(found.path, found.path[1:], strict=False))
    if found.path:
        assert (found.path[0], found.path[-1]) == ("a", "b")
        assert len(found.sources) == len(found.path)


def test_a_record_of_an_earlier_version_has_the_sentence_of_today():
    former = "nothing that it was trained on is known to share images with it"
    assert Exposure("m", "d", ExposureLevel.NONE, former).reason == "no known overlap with its training data"
