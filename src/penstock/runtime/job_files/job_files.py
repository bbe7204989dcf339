"""What a job brings along for its functions, by the names under which it reaches their machines."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Archive:
    """An archive that is unpacked in the working folder of functions.

    Attributes:
        file: The name of the file.
        target: The folder it is unpacked to, relative to that.
    """

    file: str
    target: str


@dataclass(frozen=True)
class Requirements:
    """Packages that are installed where functions run.

    Attributes:
        file: The name of the `requirements.txt`.
        cache: The name of an archive with all the packages it asks for; None if pip may look elsewhere.
    """

    file: str
    cache: str | None = None


@dataclass(frozen=True)
class CachedFile:
    """A file that functions find by a name.

    Attributes:
        file: The name of the file; of an archive with what is in it, if it is a folder.
        name: What functions ask for.
        called: What the file is called where they find it.
        is_executable: Whether it can be executed there.
        is_folder: Whether it is a folder.
    """

    file: str
    name: str
    called: str
    is_executable: bool = False
    is_folder: bool = False


@dataclass(frozen=True)
class JobFiles:
    """What a job brings along for its functions.

    A file is named by what is in it, so that another one never takes its place.

    Attributes:
        archives: What is unpacked in their working folder.
        requirements: What is installed; None for nothing.
        cached: What they find by a name.
        python_path: Folders of their machines in which they find modules.
    """

    archives: tuple[Archive, ...] = ()
    requirements: Requirements | None = None
    cached: tuple[CachedFile, ...] = ()
    python_path: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return self != _NOTHING

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all files."""
        found = [archive.file for archive in self.archives]
        found += [cached.file for cached in self.cached]
        if self.requirements is not None:
            found += filter(None, (self.requirements.file, self.requirements.cache))
        return tuple(dict.fromkeys(found))

    @property
    def digest(self) -> str:
        """Names them all."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


_NOTHING = JobFiles()
