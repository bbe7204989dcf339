"""Unpacks archives of any usual kind."""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from typing import Any

from penstock.errors import ArchiveNotReadableError


def check_archive(path: str) -> None:
    """Make sure that a file is an archive.

    Raises:
        ArchiveNotReadableError: If it is none, or none that can be unpacked.
    """
    if not (zipfile.is_zipfile(path) or tarfile.is_tarfile(path)):
        raise ArchiveNotReadableError(
            f"{path!r} is no archive.",
            hint="Give a .zip (.jar, .whl, .egg) or a .tar, which may be compressed, as .tar.gz is.",
        )


def unpack(path: str, folder: str) -> None:
    """Unpack an archive, with links and rights to execute, into a folder that is made if need be.

    Raises:
        ArchiveNotReadableError: If it is no archive, or damaged.
    """
    check_archive(path)
    os.makedirs(folder, exist_ok=True)
    try:
        if zipfile.is_zipfile(path):
            _unpack_zip(path, folder)
        else:
            _unpack_tar(path, folder)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
        raise ArchiveNotReadableError(
            f"The archive {path!r} cannot be unpacked to {folder!r}: {error}",
            hint="Pack it again, and look whether there is room for what is in it.",
        ) from error


def _unpack_tar(path: str, folder: str) -> None:
    # Python has filters from 3.11.4 on; without one, later ones warn.
    how: dict[str, Any] = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
    with tarfile.open(path) as archive:
        archive.extractall(folder, _members_inside(archive, folder), **how)  # noqa: S202 - each was checked


def _members_inside(archive: tarfile.TarFile, folder: str) -> Iterator[tarfile.TarInfo]:
    """Yield members one by one, as each may be a link through which the next would lie elsewhere."""
    for member in archive:
        member.name = member.name.lstrip("/")
        _check_is_inside(folder, member.name)
        yield member


def _check_is_inside(folder: str, name: str) -> None:
    whole = os.path.realpath(folder)
    if os.path.commonpath([whole, os.path.realpath(os.path.join(folder, name))]) != whole:
        raise OSError(f"{name!r} would lie elsewhere")


def _unpack_zip(path: str, folder: str) -> None:
    """Unpack as `ZipFile` does, which leaves out links and rights."""
    links = []
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            mode = entry.external_attr >> 16
            if stat.S_ISLNK(mode):
                links.append((entry.filename, archive.read(entry).decode()))
                continue
            target = archive.extract(entry, folder)
            if mode & stat.S_IXUSR and not entry.is_dir():
                os.chmod(target, stat.S_IMODE(os.stat(target).st_mode) | mode & 0o111)
    # The last, so that no file is written through one of them.
    for name, goal in links:
        _check_is_inside(folder, name)
        link = os.path.join(folder, name)
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(goal, link)
