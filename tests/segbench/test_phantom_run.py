"""The built-in phantom benchmark from config to verified record."""

from segbench.config import RunConfig
from segbench.pipeline import run
from segbench.records import load_record
from segbench.verification import verify_statistics


def test_the_whole_walk_on_phantoms(tmp_path):
    config = RunConfig.from_dict(
        {
            "dataset": {"name": "phantom", "root": str(tmp_path / "data"), "size": 2},
            "models": [{"type": "classical", "method": name} for name in ("threshold", "mean-field")],
            "structures": ["liver", "spleen"],
            "metrics": ["dice", "nsd"],
            "nsd_tolerance": 2.0,
            "n_resamples": 200,
            "cache_dir": str(tmp_path / "cache"),
            "results_path": str(tmp_path / "run.json"),
        }
    )
    record = run(config)
    boards = {(board["structure"], board["metric"]): board for board in record.analysis["boards"]}
    order = [standing["model"] for standing in boards["liver", "dice"]["rows"]]
    assert order == ["mean-field", "threshold"]
    assert all(standing["estimate"]["value"] > 0.5 for standing in boards["spleen", "dice"]["rows"])
    assert [entry.exposure.level.value for entry in record.models] == ["none", "none"]
    assert not record.suspects
    back = load_record(tmp_path / "run.json")
    assert back.fingerprint() == record.fingerprint()
    assert verify_statistics(back).holds
    assert str(tmp_path) not in (tmp_path / "run.json").read_text()
