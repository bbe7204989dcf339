"""What all functions that are classes have in common."""

from __future__ import annotations

from abc import ABC
from typing import Any

from penstock.runtime.context import RuntimeContext


class Function(ABC):  # noqa: B024 - PyFlink's is one
    """Base of all functions that are classes.

    An object is pickled when the job starts, and every subtask works on a copy of its own. Its
    attributes are not state: they live no longer than the worker process does.
    """

    def open(self, runtime_context: RuntimeContext) -> Any:  # noqa: B027 - async where calls are
        """Prepare what the function needs.

        Called once per process and subtask before the first record, never per epoch.

        Args:
            runtime_context: What the function may ask about the task it runs in.
        """

    def close(self) -> Any:  # noqa: B027
        """Let go of what `open` prepared.

        Called when the job ends, in those processes that still live then.
        """
