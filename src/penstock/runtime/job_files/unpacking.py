"""Unpacks archives of any usual kind."""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile

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
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="tar")
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
        raise ArchiveNotReadableError(
            f"The archive {path!r} cannot be unpacked to {folder!r}: {error}",
            hint="Pack it again, and look whether there is room for what is in it.",
        ) from error


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
        link, whole = os.path.join(folder, name), os.path.realpath(folder)
        place = os.path.realpath(os.path.dirname(link))
        if os.path.commonpath([whole, place]) != whole:
            raise OSError(f"the link {name!r} would lie elsewhere")
        os.makedirs(place, exist_ok=True)
        os.symlink(goal, link)
