"""A line below a cell of a notebook, which changes where it stands."""

from __future__ import annotations

import sys
import uuid
from typing import Any


def is_notebook() -> bool:
    """Whether the program runs in a notebook: in an IPython that shows what it has in another process."""
    # Nobody has an IPython that was not imported.
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class NotebookLine:
    """A line of text in a notebook, below the cell that runs when it is made.

    Example:
        >>> is_notebook()
        False
    """

    def __init__(self) -> None:
        self._id = uuid.uuid4().hex
        self._has_begun = False

    def show(self, text: str) -> None:
        """Show a text in the place of the last one."""
        import IPython.display

        publish: Any = IPython.display.publish_display_data
        place = {"display_id": self._id}
        publish({"text/plain": text}, transient=place, update=self._has_begun)
        self._has_begun = True
