"""Notes of jobs that this user has started on servers: the jobs run on when the programs that started them are gone."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ENDING: Final = ".json"


@dataclass(frozen=True)
class JobNote:
    """Where a job was started.

    Attributes:
        server: The server, as "sc://host:15002".
        location: The job's checkpoint location.
        job_id: The job's id.
        name: The job's name.
    """

    server: str
    location: str
    job_id: str
    name: str

    @property
    def path(self) -> Path:
        """Where it is kept: there is one for each location."""
        place = f"{self.server}\0{self.location}".encode()
        return notes_folder() / f"{hashlib.sha256(place).hexdigest()[:32]}{_ENDING}"


def notes_folder() -> Path:
    """Return the folder of the notes of this user.

    Raises:
        RuntimeError: If the user has no home.
    """
    base = os.environ.get("XDG_STATE_HOME")
    return Path(base or "~/.local/state").expanduser().absolute() / "penstock" / "jobs"


def keep_note(note: JobNote) -> None:
    """Keep a note, if there is a place for it: no job fails for want of one."""
    with suppress(OSError, RuntimeError):
        path = note.path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Others see none of it, and all of it at once.
        descriptor, draft = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(dataclasses.asdict(note), file)
        Path(draft).replace(path)


def drop_note(note: JobNote) -> None:
    """Delete a note, unless another job has been noted at its place meanwhile."""
    with suppress(OSError, RuntimeError):
        found = _read(note.path)
        if found is None or found.job_id == note.job_id:
            note.path.unlink(missing_ok=True)


def kept_notes() -> Sequence[JobNote]:
    """Return the notes of this user, in the order of the names of the jobs."""
    try:
        paths = sorted(notes_folder().glob(f"*{_ENDING}"))
    except (OSError, RuntimeError):
        return ()
    found = [note for note in map(_read, paths) if note is not None]
    return sorted(found, key=lambda note: (note.name, note.job_id))


def _read(path: Path) -> JobNote | None:
    """Return a note; None if it is gone, or is none."""
    try:
        found = JobNote(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return found if all(isinstance(text, str) for text in vars(found).values()) else None
