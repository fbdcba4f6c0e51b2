"""`segbench analyze` on the Touchstone folder: what is in the files that it writes, by their rules and by ours."""

import csv
import re
from html import unescape

import numpy as np
import pytest

from segauge.io.tables import Repairs, read_metadata, read_scores
from segbench.cli import main

pytestmark = [pytest.mark.shared, pytest.mark.long]

ORGANS = (
    "aorta", "gall_bladder", "kidney_left", "kidney_right", "liver", "pancreas", "postcava", "spleen", "stomach",
)  # fmt: skip

#: The published values have two decimals, in per cent.
PRINTED = 0.00005


def analyze(shared, out, *arguments):
    folder = shared / "data" / "touchstone" / "totalsegmentator_results"
    options = ["--metric", "dice", "--figures", "none", "--out", str(out)]
    assert main(["analyze", str(folder), *options, *map(str, arguments)]) == 0
    return out


def rows_of(out, name):
    with (out / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def theirs(shared, tmp_path_factory):
    """One metric by their rules."""
    metadata = ("--metadata", shared / "data" / "touchstone" / "metaTotalSeg.csv", "--key", "image_id")
    return analyze(shared, tmp_path_factory.mktemp("theirs"), "--preset", "touchstone", *metadata)


@pytest.fixture(scope="module")
def ours(shared, tmp_path_factory):
    """One metric by ours, without groups; fewer resamples than usual, which no check here depends on."""
    return analyze(shared, tmp_path_factory.mktemp("ours"), "--n-resamples", 500)


@pytest.fixture(scope="module")
def tables(shared):
    return read_scores(
        shared / "data" / "touchstone" / "totalsegmentator_results", repairs=Repairs(cases="keep")
    ).tables


def test_boards_have_the_published_means(theirs):
    boards = {(row["structure"], row["average rule"], row["model"]): row for row in rows_of(theirs, "boards-dice")}
    published = {
        ("aorta", "", "MedNeXt"): 0.7191, ("liver", "", "MedNeXt"): 0.9299, ("aorta", "", "STU-Net L"): 0.7572,
        ("pancreas", "", "ResEncL"): 0.7628, ("postcava", "", "SAM-Adapter"): 0.0480,
        ("average", "structure-means", "MedNeXt"): 0.8087, ("average", "structure-means", "STU-Net L"): 0.8297,
        ("average", "case-mean", "MedNeXt"): 0.7392, ("average", "case-mean", "STU-Net L"): 0.7893,
        ("average", "case-mean", "ResEncL"): 0.7783,
    }  # fmt: skip
    for key, value in published.items():
        assert float(boards[key]["mean"]) == pytest.approx(value, abs=PRINTED), key
    cases = (614, 135, 295, 275, 443, 295, 481, 392, 408)
    assert [int(boards[organ, "", "MedNeXt"]["n"]) for organ in ORGANS] == list(cases)
    audit = {row["model"]: row for row in rows_of(theirs, "audit")}
    assert (audit["MedNeXt"]["cases"], audit["STU-Net L"]["cases"], audit["STU-Net L"]["lacking"]) == (
        "743",
        "656",
        "87",
    )
    assert (audit["MedNeXt"]["without any number"], audit["MedNeXt"]["with every structure"]) == ("127", "100")


@pytest.mark.parametrize("organ", ["aorta", "gall_bladder"])
def test_significance_maps_cell_by_cell(theirs, tables, organ):
    """Against SciPy's Wilcoxon test and statsmodels' Holm correction, from the files alone."""
    from scipy.stats import wilcoxon
    from statsmodels.stats.multitest import multipletests

    scores = {
        _shown(folder): dict(zip(table.cases, table.column(organ, "dice"), strict=True))
        for folder, table in tables.items()
    }
    pairs = [(a, b) for a in scores for b in scores if a != b]
    plain = []
    for a, b in pairs:
        shared = [case for case in scores[a] if case in scores[b]]
        one, other = (np.array([scores[name][case] for case in shared]) for name in (a, b))
        both = np.isfinite(one) & np.isfinite(other)
        options = {"alternative": "greater", "zero_method": "wilcox", "correction": False, "method": "asymptotic"}
        plain.append(wilcoxon(one[both], other[both], **options).pvalue)
    beats = dict(zip(pairs, multipletests(plain, method="holm")[1] < 0.05, strict=True))
    cells = {(row["row"], row["column"]): row for row in rows_of(theirs, "pairs-dice") if row["structure"] == organ}
    assert len(cells) == len(pairs) == 342
    for (a, b), cell in cells.items():
        assert cell["verdict"] == ("better" if beats[a, b] else "worse" if beats[b, a] else "undecided"), (organ, a, b)


def _shown(folder):
    """Return a folder's name as boards show it."""
    for prefix in ("Vision_Language_", "nnU-Net_", "MONAI_", "_"):
        if folder.startswith(prefix):
            return folder.removeprefix(prefix).replace("_", " ")
    return folder


def test_group_tests_follow_from_the_scores(theirs, shared, tables):
    """Women and men on the average: Mann-Whitney per model, Bonferroni over the 19 tests of the figure."""
    from scipy.stats import mannwhitneyu

    metadata = read_metadata(shared / "data" / "touchstone" / "metaTotalSeg.csv", key="image_id")
    rows = [r for r in rows_of(theirs, "group-tests-dice") if (r["family"], r["structure"]) == ("sex", "average")]
    found = {row["model"]: row for row in rows}
    assert len(rows) == len(found) == 19
    for folder in ("nnU-Net_MedNeXt", "nnU-Net_STU-Net_L", "_SAM-Adapter"):
        table, groups = tables[folder], {"m": [], "f": []}
        for case, values in zip(table.cases, table.values[:, :, table.metrics.index("dice")], strict=True):
            sex = metadata[case]["gender"]
            if np.isfinite(values).any() and sex in groups:
                groups[sex].append(np.nanmean(values))
        plain = mannwhitneyu(*groups.values(), alternative="two-sided").pvalue
        row = found[_shown(folder)]
        assert sorted((row["n a"], row["n b"])) == sorted(str(len(group)) for group in groups.values())
        assert float(row["p"]) == pytest.approx(plain, rel=1e-9)
        assert float(row["p corrected"]) == pytest.approx(min(19 * plain, 1.0), rel=1e-9)


def test_the_web_board_and_its_pairing_by_row(theirs, tables):
    web = [row for row in rows_of(theirs, "web-board-dice") if row["structure"] == "aorta"]
    assert [int(row["rank"]) for row in web] == sorted(int(row["rank"]) for row in web)
    column = tables["nnU-Net_MedNeXt"].column("aorta", "dice")
    column = column[np.isfinite(column)]
    row = next(row for row in web if row["model"] == "MedNeXt")
    assert float(row["median"]) == pytest.approx(np.median(column))
    assert [float(row[key]) for key in ("2.5 %", "97.5 %")] == pytest.approx(np.percentile(column, (2.5, 97.5)))
    tests = {(r["structure"], r["model a"], r["model b"]): r for r in rows_of(theirs, "web-tests-dice")}
    pair = tests["aorta", "STU-Net B", "STU-Net H"]
    assert float(pair["p by row"]) == pytest.approx(0.62, abs=0.005)  # as published
    assert float(pair["p by case id"]) == pytest.approx(1.9e-12, rel=0.05)
    assert pair["verdict changes"] == "yes"


def test_the_page_explains_what_equal_cases_pairing_and_intervals_change(ours):
    page = unescape((ours / "methods.html").read_text(encoding="utf-8"))
    for words in (
        "743 cases in all, 656 shared by all",
        "lack 87 cases that the other models have",
        "dice: with every model on its own cases 4 of 11 boards would have another leader",
        "STU-Net L would lead with 0.7893 on its own cases; on equal cases ResEncL has 0.7909 and STU-Net L 0.7893",
        "dice: cases are paired by id. Paired by their row in the file, 306 of 1539 comparisons would pair different",
        "and 102 would get another verdict",
        "every verdict is of a mean difference with its interval",
        "call 1224 of 1539 pairs significant",
        "34 favour the model with the worse mean",
    ):
        assert words in page, words
    boards = {(row["structure"], row["average rule"], row["model"]): row for row in rows_of(ours, "boards-dice")}
    for row in boards.values():
        assert float(row["low"]) < float(row["mean"]) < float(row["high"])
    for model in ("ResEncL", "STU-Net L"):
        assert boards["average", "case-mean", model]["n"] == "529"  # the 656 without those that have no organ
    assert float(boards["average", "case-mean", "ResEncL"]["mean"]) == pytest.approx(0.7909, abs=PRINTED)
    # p = 1.5e-7 by Wilcoxon, for hardly any difference.
    pairs = {(row["structure"], row["row"], row["column"]): row for row in rows_of(ours, "pairs-dice")}
    liver = pairs["liver", "MedNeXt", "STU-Net B"]
    assert liver["verdict"] == "undecided"
    assert float(liver["low"]) < 0 < float(liver["high"])


#: What Touchstone publishes, and where one command writes it, for every organ and family of groups.
OUTPUTS = {
    "README boards, both averages": ("tables/overview-dice.csv", "tables/boards-dice.csv"),
    "figures of the boards": (
        "figures/boards/average-structure-means-dice.svg",
        "figures/boards/average-case-mean-dice.svg",
        "figures/boards/{organ}-dice.svg",
    ),
    "significance map of each organ, and of several": ("figures/maps/{organ}-dice.svg", "figures/maps/all-dice.svg"),
    "verdicts as numbers": ("tables/pairs-dice.csv",),
    "group box plots, average and organs": (
        "figures/groups/{family}/average-dice.svg",
        "figures/groups/{family}/{organ}-dice.svg",
    ),
    "stars as numbers": ("tables/group-tests-dice.csv",),
    "aggregated figure": ("figures/groups/all-models-dice.svg", "tables/group-tests-aggregated-dice.csv"),
    "dataset figure, all cases and splits": ("figures/cohort.svg", "tables/cohort.csv"),
    "web board": ("tables/web-board-dice.csv", "tables/web-tests-dice.csv"),
}
FAMILIES = ("age", "sex", "pathology", "manufacturer", "scanner-model", "institute")


def test_one_command_writes_every_figure_and_table_of_theirs(shared, tmp_path):
    """Two organs of four models, so that drawing takes seconds; the page links to all that there is."""
    organs = ("aorta", "liver")
    results = shared / "data" / "touchstone" / "totalsegmentator_results"
    for model in ("nnU-Net_MedNeXt", "nnU-Net_STU-Net_B", "nnU-Net_STU-Net_L", "_SAM-Adapter"):
        with (results / model / "dsc.csv").open(encoding="utf-8", newline="") as file:
            rows = [[row[key] for key in ("name", *organs)] for row in csv.DictReader(file)]
        (tmp_path / "few" / model).mkdir(parents=True)
        text = "\n".join(",".join(row) for row in (["name", *organs], *rows))
        (tmp_path / "few" / model / "dsc.csv").write_text(text + "\n", encoding="utf-8")
    out, metadata = tmp_path / "out", shared / "data" / "touchstone" / "metaTotalSeg.csv"
    options = ["--preset", "touchstone", "--figures", "svg", "--processes", "1", "--out", str(out)]
    assert main(["analyze", str(tmp_path / "few"), "--metadata", str(metadata), *options]) == 0
    expected = {
        pattern.format(organ=organ, family=family)
        for patterns in OUTPUTS.values()
        for pattern in patterns
        for organ in organs
        for family in FAMILIES
    }
    assert sorted(name for name in expected if not (out / name).is_file()) == []
    page = (out / "methods.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'href="((?:figures|tables)/[^"]+)"', page))
    assert sorted(expected - linked) == []
    assert sorted(link for link in linked if not (out / link).is_file()) == []
    cohort = {row["column"] for row in rows_of(out, "cohort")}
    columns = {"age", "gender", "institute", "manufacturer", "scanner_model", "kvp", "pathology", "pathology_location"}
    assert columns <= cohort
    assert {"all", "test", "train", "val"} <= set(rows_of(out, "cohort")[0])
