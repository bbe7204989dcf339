from __future__ import annotations

import os
import stat
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from penstock.errors import ArchiveNotReadableError
from penstock.runtime.job_files.unpacking import unpack


@pytest.fixture
def content(tmp_path: Path) -> Path:
    folder = tmp_path / "content"
    (folder / "bin").mkdir(parents=True)
    script = folder / "bin" / "run"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    (folder / "bin" / "link").symlink_to("run")
    return folder


def zipped(folder: Path, path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(folder / "bin" / "run", "bin/run")
        link = zipfile.ZipInfo("bin/link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "run")


def links_zipped(path: Path, **goals: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, goal in goals.items():
            link = zipfile.ZipInfo(name.replace("_", "/").replace("up", ".."))
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(link, goal)


def tarred(folder: Path, path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, ".")


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_links_and_rights_to_execute_are_kept(pack: object, content: Path, tmp_path: Path) -> None:
    assert callable(pack)
    pack(content, tmp_path / "archive")
    unpack(str(tmp_path / "archive"), str(tmp_path / "there"))
    link = tmp_path / "there" / "bin" / "link"
    assert os.readlink(link) == "run"
    assert subprocess.run([link], capture_output=True, text=True, check=True).stdout == "ran\n"


def test_what_is_no_archive_or_damaged_is_refused(content: Path, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    path.write_text("no archive")
    with pytest.raises(ArchiveNotReadableError, match=r"is no archive(.|\n)*\.tar\.gz"):
        unpack(str(path), str(tmp_path / "there"))
    zipped(content, path)
    damaged = bytearray(path.read_bytes())
    damaged[40] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ArchiveNotReadableError, match="cannot be unpacked"):
        unpack(str(path), str(tmp_path / "there"))


def test_no_link_of_an_archive_lies_outside_of_it(tmp_path: Path) -> None:
    archive, there = tmp_path / "archive", tmp_path / "there"
    for goals in ({"up_link": "goal"}, {"out": str(tmp_path), "out_link": "goal"}):
        links_zipped(archive, **goals)
        with pytest.raises(ArchiveNotReadableError, match=r"'.*link' would lie elsewhere"):
            unpack(str(archive), str(there))
        assert not os.path.lexists(tmp_path / "link")
    links_zipped(archive, new_link="goal")
    unpack(str(archive), str(there))
    assert os.readlink(there / "new" / "link") == "goal"


@pytest.mark.parametrize("has_filters", [True, False])
@pytest.mark.filterwarnings("ignore:Python 3.14 will:DeprecationWarning")
def test_no_member_of_an_archive_lies_outside_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_filters: bool
) -> None:
    if not has_filters:  # As before Python 3.11.4.
        monkeypatch.delattr(tarfile, "tar_filter", raising=False)
    path, there = tmp_path / "archive", tmp_path / "there"
    through = tarfile.TarInfo("out")
    through.type, through.linkname = tarfile.SYMTYPE, str(tmp_path)
    for members in (["../file"], [through, "out/file"]):
        with tarfile.open(path, "w") as archive:
            for member in members:
                archive.addfile(member if member is through else tarfile.TarInfo(str(member)))
        with pytest.raises(ArchiveNotReadableError, match=r"'.*file' would lie elsewhere"):
            unpack(str(path), str(there))
        assert not os.path.lexists(tmp_path / "file")
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("/file"))
    unpack(str(path), str(there))
    assert (there / "file").is_file()
