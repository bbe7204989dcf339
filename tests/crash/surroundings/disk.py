"""A disk that keeps no more than was synced: what else it has when the power comes back is chance.

In every process of a job `os.fsync` only notes what it was asked for: of a file its content, by a hard link
and its length; of a folder the names in it. What nobody asked for is lost at a cut, or some of it is: new
names, other contents of old ones, deletions, the ends of files. A rename happened or did not. Spark's JVM
asks for nothing.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import random
import shutil
import stat
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "PENSTOCK_CRASH_DISK"

Names = dict[str, tuple[int, bool]]
"""The names in a folder, each with its inode and whether it is a folder."""


class Disk:
    """Some folders, on a disk that lies to those who do not sync.

    Args:
        memory: The folder in which it is noted what was synced, on the same file system.
        roots: The folders. They are there to stay.
    """

    def __init__(self, memory: Path, roots: Sequence[Path]) -> None:
        self._memory = memory
        self._roots = [Path(os.path.abspath(root)) for root in roots]

    @property
    def variable(self) -> str:
        """What the environment variable has to say."""
        return json.dumps([str(self._memory), *map(str, self._roots)])

    def add(self, root: Path) -> None:
        """Have one more folder on the disk."""
        self._roots.append(root)
        self.take_all()

    def take_all(self) -> None:
        """Take all that is there now for synced."""
        shutil.rmtree(self._memory, ignore_errors=True)
        for name in ("files", "names"):
            (self._memory / name).mkdir(parents=True)
        for root in self._roots:
            root.mkdir(parents=True, exist_ok=True)
            for folder, _, files in os.walk(root):
                for path in (folder, *(os.path.join(folder, file) for file in files)):
                    descriptor = os.open(path, os.O_RDONLY)
                    self.sync(descriptor)
                    os.close(descriptor)

    def sync(self, file: Any) -> None:
        """Note what a file or folder is: in place of `os.fsync`."""
        descriptor = file if isinstance(file, int) else file.fileno()
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if not any(path.is_relative_to(root) for root in self._roots):
            return
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            self._note(self._names_file(path), json.dumps(_names_in(path)))
            return
        with contextlib.suppress(FileExistsError, FileNotFoundError):
            # A link keeps the inode from being given to another file.
            os.link(path, self._content(status.st_ino))
        self._note(self._length_file(status.st_ino), str(status.st_size))

    def _note(self, place: Path, text: str) -> None:
        draft = place.with_name(uuid.uuid4().hex)
        draft.write_text(text)
        draft.replace(place)

    def _names_file(self, folder: Path) -> Path:
        return self._memory / "names" / hashlib.sha256(bytes(folder)).hexdigest()

    def _content(self, inode: int) -> Path:
        return self._memory / "files" / str(inode)

    def _length_file(self, inode: int) -> Path:
        return self._memory / "files" / f"{inode}.length"

    def cut(self, chance: random.Random, share: float) -> None:
        """Make of the folders what the disk has when the power is back. No process may use them.

        Args:
            chance: Decides.
            share: How much of what was not synced is there all the same, from 0 to 1.
        """
        seed = chance.random()

        @functools.cache
        def happened(inode: int) -> bool:
            return random.Random(f"{seed} {inode}").random() < share

        for root in self._roots:
            self._cut_folder(root, happened, chance, share)
        self.take_all()

    def _cut_folder(
        self, folder: Path, happened: Callable[[int], bool], chance: random.Random, share: float
    ) -> None:
        now = _names_in(folder)
        synced = self._synced_names(folder)
        for name in sorted({*now, *synced}):
            path = folder / name
            old, new = synced.get(name), now.get(name)
            if old != new:
                decides = new or old
                assert decides is not None
                if not happened(decides[0]):
                    _remove(path)
                    if old is not None:
                        self._restore(path, *old)
            if path.is_dir():
                self._cut_folder(path, happened, chance, share)
            elif path.exists():
                self._cut_content(path, chance, share)

    def _synced_names(self, folder: Path) -> Names:
        try:
            text = self._names_file(folder).read_text()
        except FileNotFoundError:
            return {}
        return {name: (inode, is_folder) for name, (inode, is_folder) in json.loads(text).items()}

    def _restore(self, path: Path, inode: int, is_folder: bool) -> None:
        if is_folder:
            path.mkdir()
            return
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(self._content(inode), path)
            os.truncate(path, int(self._length_file(inode).read_text()))
            descriptor = os.open(path, os.O_RDONLY)
            self.sync(descriptor)
            os.close(descriptor)
            return
        path.touch()  # its content was never synced

    def _cut_content(self, path: Path, chance: random.Random, share: float) -> None:
        status = path.stat()
        synced = 0
        with contextlib.suppress(FileNotFoundError):
            synced = int(self._length_file(status.st_ino).read_text())
        if status.st_size > synced:
            length = chance.randint(synced, status.st_size) if chance.random() < share else synced
            os.truncate(path, length)


def install() -> None:
    """Have the disk that the environment names, in this process."""
    if text := os.environ.get(VARIABLE):
        memory, *roots = map(Path, json.loads(text))
        sync = Disk(memory, roots).sync
        setattr(os, "fsync", sync)  # noqa: B010
        setattr(os, "fdatasync", sync)  # noqa: B010


def _names_in(folder: Path) -> Names:
    with os.scandir(folder) as entries:
        return {
            entry.name: (entry.inode(), entry.is_dir(follow_symlinks=False)) for entry in entries
        }


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
