"""Parts of the documentation that are written by a script, between two comments of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parent.parent / "docs"


class GeneratedPart:
    """A part of a page. It is in the file, so that it can be read wherever the file is.

    Args:
        page: The name of the page.
        script: The name of the script that writes it.
    """

    def __init__(self, page: str, script: str) -> None:
        self._path = DOCS / page
        self._begin = f"<!-- written by `python -m scripts.{script}` from here -->"
        self._end = f"<!-- written by `python -m scripts.{script}` to here -->"

    def read(self) -> str:
        """Return the part as it is in the page."""
        return self._pieces()[1].strip("\n")

    def write(self, text: str) -> None:
        """Put a text in the place of the part."""
        before, _, after = self._pieces()
        page = f"{before}{self._begin}\n\n{text}\n\n{self._end}{after}"
        self._path.write_text(page, encoding="utf-8")

    def _pieces(self) -> tuple[str, str, str]:
        before, begun, rest = self._path.read_text(encoding="utf-8").partition(self._begin)
        part, ended, after = rest.partition(self._end)
        assert begun, f"{self._path} lacks {self._begin}"
        assert ended, f"{self._path} lacks {self._end}"
        return before, part, after
