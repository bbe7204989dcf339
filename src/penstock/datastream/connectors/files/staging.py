"""The hidden folder in which files stand until they are published."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from penstock.checkpoint.lasting import make_lasting_folder, sync_folder
from penstock.checkpoint.open_files import OpenFile, chunks_of
from penstock.errors import LostOutputError, PenstockError, SinkNotWritableError

_HIDDEN: Final = ".penstock"
_MARKER: Final = "published"
_MARKERS: Final = re.compile(rf"{_MARKER}-(\d{{8,}})")
_NAME: Final = re.compile(r"(\d{8,})-(?:(\d{8,})-)?(\d+-[0-9a-f]{16})")
"""The epoch, the generation of the driver (earlier versions did not name it), and what tells files apart."""


CopyOf = Callable[[str], Iterator[bytes] | None]
"""Returns the content of a file of which the job has a copy, by its path; None if it has none."""


@contextlib.contextmanager
def file_errors(base_path: str) -> Iterator[None]:
    """Turn what the operating system refuses into an error of penstock's."""
    try:
        yield
    except PenstockError:
        raise
    except OSError as error:
        raise unwritable(error, base_path) from error


def unwritable(error: OSError, base_path: str) -> Exception:
    """Return what to raise for an error of the operating system's."""
    return SinkNotWritableError(
        f"The FileSink below {base_path} cannot write: {error}",
        hint="The folder must be writable, with room left, for all workers and the driver. Nothing of "
        "this epoch is visible; the job goes on when it is started again.",
    )


def gone(path: str) -> LostOutputError:
    """Return what to raise for a file that is not there."""
    return LostOutputError(
        f"The file {path}, whose records are not published yet, is not there.",
        hint="Leave the hidden folder of the output alone while its job may go on. Without the "
        "file, start the job from a checkpoint before it.",
    )


class StagedFile(NamedTuple):
    """A file that is complete, durable and hidden.

    Attributes:
        path: Its path, relative to the base path.
        length: Its length in bytes.
        level: How often files were joined to make it; 0 for what was written in one epoch.
        checksum: The CRC-32 of its bytes; None in what earlier versions wrote.
    """

    path: str
    length: int
    level: int = 0
    checksum: int | None = None


class PublishedFile(NamedTuple):
    """A file that is to be published.

    Attributes:
        staged: Where it stands until then.
        target: Its path then, relative to the base path.
    """

    staged: StagedFile
    target: str


class Staging:
    """The hidden folder of one sink of one job, below the sink's base path.

    A file's name has the number of its epoch and the generation of its driver and is never given twice, so that
    a task that was given up can harm no other.

    Args:
        base_path: The sink's base path.
        sink_id: The id of the sink's operator.
        lineage: Names the job's history.
        generation: The generation of the driver for which files are written.
    """

    def __init__(self, base_path: str, sink_id: str, lineage: str, generation: int = 0) -> None:
        self._base_path = base_path
        self._generation = generation
        self.folder = f"{_HIDDEN}/{sink_id}-{lineage}"

    def _absolute(self, path: str) -> str:
        return os.path.join(self._base_path, *path.split("/"))

    def new_path(self, epoch: int, subtask: int) -> tuple[str, str]:
        """Return the path of a new file, relative to the base path, and as it is opened."""
        name = f"{epoch:08d}-{self._generation:08d}-{subtask}-{uuid.uuid4().hex[:16]}"
        path = f"{self.folder}/{name}"
        absolute = self._absolute(path)
        make_lasting_folder(os.path.dirname(absolute))
        return path, absolute

    def is_own(self, path: str) -> bool:
        """Whether a file is one of this folder's."""
        return path.rpartition("/")[0] == self.folder

    def is_of_epoch(self, path: str, epoch: int) -> bool:
        """Whether a file is one of this folder's, and of an epoch."""
        return self.is_own(path) and _epoch_of(path.rpartition("/")[2]) == epoch

    def sync(self) -> None:
        """Make the names of new files durable."""
        sync_folder(self._absolute(self.folder))

    def join(
        self,
        files: Sequence[StagedFile],
        epoch: int,
        subtask: int,
        copy_of: CopyOf = lambda _: None,
        delimiter: bytes = b"",
    ) -> StagedFile:
        """Return a new file that has the contents of others.

        Args:
            files: The files.
            epoch: The number of the epoch.
            subtask: The index of the subtask.
            copy_of: Returns the content of a file of which there is a copy, by its path; else None.
            delimiter: What stands between two contents.

        Raises:
            LostOutputError: If one of them is not what was written.
            DamagedStateError: If a copy of one of them is not.
        """
        path, absolute = self.new_path(epoch, subtask)
        checksum = 0
        with open(absolute, "xb") as joined:
            for place, file in enumerate(files):
                chunks = copy_of(file.path) or self._content(file)
                for chunk in chain([delimiter] if place else [], chunks):
                    checksum = zlib.crc32(chunk, checksum)
                    joined.write(chunk)
            length = joined.tell()
            joined.flush()
            os.fsync(joined.fileno())
        level = max((file.level for file in files), default=0) + 1
        return StagedFile(path, length, level, checksum)

    def _content(self, file: StagedFile) -> Iterator[bytes]:
        """Yield the bytes of a file, and raise at their end if they are not what was written.

        Raises:
            LostOutputError: If the file is not what was written.
        """
        self._check(file)
        absolute = self._absolute(file.path)
        checksum = 0
        for chunk in chunks_of(absolute):
            checksum = zlib.crc32(chunk, checksum)
            yield chunk
        if file.checksum not in {None, checksum}:
            raise LostOutputError(
                f"The file {absolute}, whose records are not published yet, is damaged: its bytes have "
                f"the checksum {checksum:#010x}, not {file.checksum:#010x}.",
                hint="Start the job from a checkpoint before it.",
            )

    def open_file(self, file: StagedFile) -> OpenFile:
        """Return a file as others find it."""
        return OpenFile(self._absolute(file.path), file.length, file.checksum)

    def _check(self, file: StagedFile) -> None:
        """Make sure that a file is there, and as long as it was."""
        absolute = self._absolute(file.path)
        try:
            length = os.path.getsize(absolute)
        except FileNotFoundError:
            raise gone(absolute) from None
        if length != file.length:
            raise LostOutputError(
                f"The file {absolute}, whose records are not published yet, has {length} bytes, not "
                f"{file.length}.",
                hint="Start the job from a checkpoint before it.",
            )

    def publish(self, files: list[PublishedFile], epoch: int, *, reads_them: bool = False) -> None:
        """Give files their names, those that do not have them yet, and remember the epoch.

        Args:
            files: The files.
            epoch: The epoch.
            reads_them: Whether they are read before, to see that they are what was written.

        Raises:
            LostOutputError: If a file is neither here nor there, or not what was written.
        """
        folders = set()
        for file in files:
            target = self._absolute(file.target)
            folder = os.path.dirname(target)
            make_lasting_folder(folder)
            folders.add(folder)
            self._move(file.staged, target, reads_it=reads_them)
        for folder in sorted(folders):
            sync_folder(folder)
        self._mark(epoch)

    def _move(self, staged: StagedFile, target: str, *, reads_it: bool) -> None:
        try:
            if reads_it:
                for _ in self._content(staged):
                    pass
            else:
                self._check(staged)
            os.replace(self._absolute(staged.path), target)
        except (LostOutputError, FileNotFoundError):
            # It was done before, by this driver or by one that was given up.
            if not os.path.exists(target):
                raise

    def published_epoch(self) -> int:
        """Return the last epoch that was published as a whole; -1 for none."""
        try:
            names = os.listdir(self._absolute(self.folder))
        except FileNotFoundError:
            return -1
        found = [int(match[1]) for match in map(_MARKERS.fullmatch, names) if match]
        if _MARKER in names:
            # As earlier versions wrote it.
            with open(self._absolute(f"{self.folder}/{_MARKER}"), encoding="ascii") as file:
                found.append(int(file.read()))
        return max(found, default=-1)

    def _mark(self, epoch: int) -> None:
        """Note that an epoch is published, by a name: a driver that comes late takes nothing back by that."""
        folder = self._absolute(self.folder)
        marker = os.path.join(folder, f"{_MARKER}-{epoch:08d}")
        draft = f"{marker}-{uuid.uuid4().hex}"
        with open(draft, "x", encoding="ascii"):
            pass
        os.replace(draft, marker)
        self.sync()
        for name in os.listdir(folder):
            found = _MARKERS.fullmatch(name)
            if found and int(found[1]) < epoch:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, name))

    def remove(self) -> None:
        """Delete the folder: of a history that no job goes on with."""
        shutil.rmtree(self._absolute(self.folder), ignore_errors=True)

    def sweep(self, epoch: int, needed: set[str]) -> None:
        """Delete the files of epochs up to one, but for those that are needed."""
        folder = self._absolute(self.folder)
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return
        for name in names:
            found = _epoch_of(name)
            if found is not None and found <= epoch and f"{self.folder}/{name}" not in needed:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, name))

    def drop(self, after: int, generation: int) -> None:
        """Delete the files of epochs after one that drivers up to a generation had written."""
        folder = self._absolute(self.folder)
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(folder):
                found = _NAME.fullmatch(name)
                if found and int(found[1]) > after and int(found[2] or 0) <= generation:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(os.path.join(folder, name))


def visible_name(path: str) -> str:
    """Return what the name of a file tells its readers."""
    name = path.rpartition("/")[2]
    found = _NAME.fullmatch(name)
    return name if found is None else f"{found[1]}-{found[3]}"


def _epoch_of(name: str) -> int | None:
    found = _NAME.fullmatch(name)
    return None if found is None else int(found[1])
