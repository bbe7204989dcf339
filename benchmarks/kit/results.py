"""What the suite has found so far, entry by entry, in a file."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.kit.measure import Row


@dataclass(frozen=True)
class Found:
    """What one run of an entry came to.

    Attributes:
        commit: The commit it was measured at.
        seconds: What the run took.
        busy: How much of the processors others used just before it, between 0 and 1.
        facts: The machine and the versions.
        output: What the script wrote as JSON: "rows", and whatever else it draws.
    """

    commit: str
    seconds: float
    busy: float
    facts: dict[str, str]
    output: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        """The rows that the script wrote."""
        return [Row.from_json(row) for row in self.output.get("rows", ())]


class Results:
    """The results file: what was found by the last run of each entry.

    Args:
        path: The file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.entries: dict[str, Found] = {}
        if path.exists():
            found = json.loads(path.read_text())["entries"]
            self.entries = {name: Found(**entry) for name, entry in found.items()}

    def put(self, name: str, found: Found) -> None:
        """Replaces what is known of an entry, and nothing else; the file has it at once."""
        self.entries[name] = found
        self._write()

    def arrange(self, names: Collection[str]) -> None:
        """Brings the entries into this order, and forgets those that are not in it."""
        self.entries = {name: self.entries[name] for name in names if name in self.entries}
        self._write()

    def rows_of(self, name: str) -> list[Row]:
        """The rows of an entry; none if it has never ended."""
        found = self.entries.get(name)
        return found.rows if found else []

    def _write(self) -> None:
        entries = {name: asdict(found) for name, found in self.entries.items()}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps({"entries": entries}, indent=1) + "\n")
