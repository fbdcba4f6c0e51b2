"""fetch() against a server that cuts, stalls, lies and refuses: the file is whole and right, or not there."""

import hashlib
import socket
import threading

import numpy as np
import pytest

from segauge.errors import InvalidInput
from segbench.downloads import DownloadFailed, fetch
from tests.segbench.downloads.server import Behaviour, serving

CONTENT = np.random.default_rng(0).bytes(300_000)
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
MD5 = "md5:" + hashlib.md5(CONTENT).hexdigest()  # noqa: S324 - what some archives publish


def fetched(behaviour, folder, **options):
    with serving(behaviour) as url:
        return fetch(url, folder / "case" / "file.bin", **{"pause_s": 0.01, "stall_timeout_s": 30.0, **options})


def nothing_but(folder, *names):
    """Assert that the folder holds these files, besides the lock."""
    assert sorted(path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock") == sorted(names)


@pytest.mark.parametrize("checksum", ["", SHA256, MD5])
def test_a_file_arrives_whole(tmp_path, checksum):
    told = []
    path = fetched(Behaviour(CONTENT), tmp_path, checksum=checksum, progress=lambda *args: told.append(args))
    assert path.read_bytes() == CONTENT
    assert told[-1] == ("file.bin", len(CONTENT), len(CONTENT))
    nothing_but(tmp_path, "file.bin")


def test_what_is_there_is_not_fetched_again(tmp_path):
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "file.bin").write_bytes(b"here")
    behaviour = Behaviour(CONTENT)
    assert fetched(behaviour, tmp_path).read_bytes() == b"here"
    assert not behaviour.requests


def test_a_cut_connection_goes_on_where_it_was(tmp_path):
    behaviour = Behaviour(CONTENT, cut_after=[100_000, 50_000])
    assert fetched(behaviour, tmp_path, checksum=SHA256).read_bytes() == CONTENT
    assert [request.get("Range") for request in behaviour.requests] == [None, "bytes=100000-", "bytes=150000-"]


def test_a_killed_download_goes_on_in_the_next_run(tmp_path):
    behaviour = Behaviour(CONTENT, cut_after=[100_000])
    with serving(behaviour) as url:
        target = tmp_path / "file.bin"
        with pytest.raises(DownloadFailed, match="ended after 100000, 1 times; 100000 bytes are kept"):
            fetch(url, target, attempts=1)
        assert not target.exists()
        assert fetch(url, target).read_bytes() == CONTENT
    assert behaviour.requests[-1]["Range"] == "bytes=100000-"
    assert behaviour.requests[-1]["If-Range"] == '"v1"'


def test_a_file_that_changed_meanwhile_is_fetched_from_its_start(tmp_path):
    behaviour = Behaviour(CONTENT, cut_after=[100_000])
    with serving(behaviour) as url:
        with pytest.raises(DownloadFailed):
            fetch(url, tmp_path / "file.bin", attempts=1)
        behaviour.content, behaviour.etag = CONTENT[::-1], '"v2"'
        assert fetch(url, tmp_path / "file.bin").read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("trick", [{"ranges": False}, {"wrong_range": True}, {"etag": ""}])
def test_a_server_without_right_ranges_is_asked_for_everything_again(tmp_path, trick):
    behaviour = Behaviour(CONTENT, cut_after=[100_000], **trick)
    assert fetched(behaviour, tmp_path).read_bytes() == CONTENT


def test_a_beginning_longer_than_the_file_is_thrown_away(tmp_path):
    behaviour = Behaviour(CONTENT, cut_after=[100_000])
    with serving(behaviour) as url:
        with pytest.raises(DownloadFailed):
            fetch(url, tmp_path / "file.bin", attempts=1)
        behaviour.content = CONTENT[:5000]
        assert fetch(url, tmp_path / "file.bin", pause_s=0.01).read_bytes() == CONTENT[:5000]


def test_a_standstill_is_noticed_and_overcome(tmp_path):
    assert fetched(Behaviour(CONTENT, stalls=1), tmp_path, stall_timeout_s=0.2).read_bytes() == CONTENT


def test_a_standstill_for_ever_fails_with_what_to_do(tmp_path):
    with pytest.raises(DownloadFailed, match=r"nothing came for 0\.2 s, 2 times.*Or fetch .* by other means"):
        fetched(Behaviour(CONTENT, stalls=2, ranges=False), tmp_path, attempts=2, stall_timeout_s=0.2)
    assert not (tmp_path / "case" / "file.bin").exists()


def test_a_length_larger_than_the_file_is_no_file(tmp_path):
    lie = Behaviour(CONTENT, announce="300500", ranges=False)
    with pytest.raises(DownloadFailed, match="300500 bytes announced, the connection ended after 300000, 2 times"):
        fetched(lie, tmp_path, attempts=2)
    assert not (tmp_path / "case" / "file.bin").exists()


def test_a_length_smaller_than_the_file_is_found_by_checksum_or_size(tmp_path):
    with pytest.raises(DownloadFailed, match=r"its sha256 is .*, expected"):
        fetched(Behaviour(CONTENT, announce="1000"), tmp_path, checksum=SHA256)
    with pytest.raises(DownloadFailed, match="300000 bytes expected, the server announces 1000: this is another file"):
        fetched(Behaviour(CONTENT, announce="1000"), tmp_path, size=len(CONTENT))
    nothing_but(tmp_path)


def test_without_any_length_a_checksum_is_needed(tmp_path):
    assert fetched(Behaviour(CONTENT, announce=""), tmp_path / "a", checksum=SHA256).read_bytes() == CONTENT
    with pytest.raises(DownloadFailed, match="the server sends no length, and no checksum is known"):
        fetched(Behaviour(CONTENT, announce=""), tmp_path / "b")


def test_chunks_have_an_end_of_their_own(tmp_path):
    assert fetched(Behaviour(CONTENT, chunked=True), tmp_path / "a").read_bytes() == CONTENT
    with pytest.raises(DownloadFailed, match="the connection was cut"):
        fetched(Behaviour(CONTENT, chunked=True, cut_after=[1, 1]), tmp_path / "b", attempts=2)


def test_another_file_is_refused_and_deleted(tmp_path):
    with pytest.raises(DownloadFailed, match=r"damaged on the way, or another version\. It was deleted"):
        fetched(Behaviour(CONTENT[::-1]), tmp_path, checksum=SHA256)
    nothing_but(tmp_path)


def test_passing_errors_are_tried_again_and_lasting_ones_are_not(tmp_path):
    assert fetched(Behaviour(CONTENT, status=[503, 429]), tmp_path / "a").read_bytes() == CONTENT
    behaviour = Behaviour(CONTENT, status=[403] * 5)
    with pytest.raises(DownloadFailed, match=r"403 .*terms may have to be accepted.*Ask the makers"):
        fetched(behaviour, tmp_path / "b", by_hand="Ask the makers.")
    assert len(behaviour.requests) == 1


def test_a_host_out_of_reach_says_what_to_do(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DownloadFailed, match=r"out of reach .*HTTPS_PROXY.*put it at .*file\.bin"):
        fetch(f"http://127.0.0.1:{port}/x", tmp_path / "file.bin")


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_no_way_out_of_http(tmp_path, place):
    with pytest.raises(InvalidInput, match="begins with http"):
        fetch(place, tmp_path / "file.bin")
    with pytest.raises(DownloadFailed):
        fetched(Behaviour(CONTENT, redirect=place), tmp_path)
    nothing_but(tmp_path)


def test_a_compressed_answer_is_refused(tmp_path):
    with pytest.raises(DownloadFailed, match="compresses what it sends"):
        fetched(Behaviour(CONTENT, encoding="gzip"), tmp_path)


def test_a_misspelt_checksum_is_refused_before_anything(tmp_path):
    with pytest.raises(InvalidInput, match="checksum: expected"):
        fetch("http://127.0.0.1:1/x", tmp_path / "x", checksum="sha1:00")


def test_two_at_once_fetch_it_once(tmp_path):
    behaviour = Behaviour(CONTENT, stalls=1)
    found = []
    with serving(behaviour) as url:
        threads = [
            threading.Thread(target=lambda: found.append(fetch(url, tmp_path / "f", pause_s=0.01, stall_timeout_s=1.0)))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [path.read_bytes() == CONTENT for path in found] == [True, True]
    assert len(behaviour.requests) == 2  # the one that stalled and its continuation
