"""extract(): archives of datasets come out whole, hostile ones leave nothing behind."""

import gzip
import io
import tarfile
import tracemalloc
import zipfile

import pytest

from segbench.downloads import ArchiveLimits, UnsafeArchive, extract

FILES = {"amos22/dataset.json": b"{}", "amos22/imagesTr/amos_0001.nii.gz": b"image", "amos22/._x": b"mac"}


def a_zip(path, files, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def a_tar(path, files, mode="w", **fields):
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for field, value in fields.items():
                setattr(info, field, value)
            archive.addfile(info, io.BytesIO(content))
    return path


def left(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix not in (".lock", ".zip", ".tar"))


@pytest.mark.parametrize("make", [a_zip, a_tar, lambda path, files: a_tar(path, files, "w:gz")])
def test_files_and_folders_come_out(tmp_path, make):
    folder = extract(make(tmp_path / "a.zip", FILES), tmp_path / "data")
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == FILES
    assert left(tmp_path) == ["data"]


def test_a_folder_that_is_there_is_done(tmp_path):
    (tmp_path / "data").mkdir()
    assert extract(tmp_path / "no such archive", tmp_path / "data") == tmp_path / "data"


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/etc/evil", "C:/evil", "a\\..\\..\\evil"])
@pytest.mark.parametrize("make", [a_zip, a_tar])
def test_no_path_leads_out(tmp_path, make, name):
    with pytest.raises(UnsafeArchive, match="leads out of the folder"):
        extract(make(tmp_path / "a.zip", {"fine": b"", name: b"x"}), tmp_path / "in" / "data")
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path / "in" / "evil").exists()
    assert left(tmp_path / "in") == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_no_links_and_no_devices(tmp_path, kind):
    archive = a_tar(tmp_path / "a.tar", {"link": b""}, type=kind, linkname="/etc/passwd")
    with pytest.raises(UnsafeArchive, match="link or a device"):
        extract(archive, tmp_path / "data")
    assert left(tmp_path) == []


def test_no_links_in_zip_files(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(UnsafeArchive, match="link or a device"):
        extract(path, tmp_path / "data")


@pytest.mark.parametrize("make", [a_zip, lambda path, files: a_tar(path, files, "w:gz")])
def test_a_bomb_is_stopped_by_its_ratio(tmp_path, make):
    bomb = make(tmp_path / "a.zip", {f"{i}.bin": bytes(2**20) for i in range(8)})
    limits = ArchiveLimits(free_bytes=2**20)
    assert bomb.stat().st_size * limits.max_ratio < 8 * 2**20
    with pytest.raises(UnsafeArchive, match="looks like a bomb"):
        extract(bomb, tmp_path / "data", limits=limits)
    assert left(tmp_path) == []


def test_a_bomb_that_lies_about_its_size_is_stopped_too(tmp_path):
    path = a_zip(tmp_path / "a.zip", {"x": bytes(4 * 2**20)})
    data = bytearray(path.read_bytes())
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = (10).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(UnsafeArchive):
        extract(path, tmp_path / "data", limits=ArchiveLimits(free_bytes=2**20))
    assert left(tmp_path) == []


def test_total_size_and_number_of_files_are_limited(tmp_path):
    archive = a_zip(tmp_path / "a.zip", {str(i): b"12345678" for i in range(4)})
    with pytest.raises(UnsafeArchive, match="larger than 20 bytes"):
        extract(archive, tmp_path / "data", limits=ArchiveLimits(max_bytes=20))
    with pytest.raises(UnsafeArchive, match="more than 3 entries"):
        extract(archive, tmp_path / "data", limits=ArchiveLimits(max_files=3))
    assert extract(archive, tmp_path / "data", limits=ArchiveLimits(max_bytes=32, max_files=4)).is_dir()


@pytest.mark.parametrize("content", [b"", b"not an archive at all"])
def test_what_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(UnsafeArchive, match="neither a zip nor a tar"):
        extract(tmp_path / "a.zip", tmp_path / "data")


def test_a_damaged_archive_leaves_nothing(tmp_path):
    path = a_zip(tmp_path / "a.zip", {"x": bytes(range(256)) * 50}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[500] ^= 255
    path.write_bytes(data)
    with pytest.raises(UnsafeArchive, match="cannot be extracted"):
        extract(path, tmp_path / "data")
    assert left(tmp_path) == []


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_header_that_is_a_bomb_is_refused_before_it_is_read(tmp_path, kind):
    """Names of files are read whole and count as no file: 95 kB took 303 MB."""
    header = tarfile.TarInfo("name")
    header.type, header.size = kind, 50_000_000
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(header.tobuf(tarfile.PAX_FORMAT) + bytes(50_000_000 + 10_240)))
    tracemalloc.start()
    with pytest.raises(UnsafeArchive, match="a name, or a link, of 50000000 bytes"):
        extract(path, tmp_path / "out")
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()
    assert not (tmp_path / "out").exists()


def test_long_names_are_read(tmp_path):
    name = "/".join(["folder" * 10] * 8) + "/a.txt"
    extract(a_tar(tmp_path / "a.tar", {name: b"x"}), tmp_path / "out")
    assert (tmp_path / "out" / name).read_bytes() == b"x"
