"""Whether it was for want of memory that something died."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_SAID: Final = re.compile(
    r"OutOfMemory|MemoryError|memory limits|[Cc]annot allocate memory|GC overhead limit|Java heap space|"
    r"(?:exit|Exit|Command exited with) ?(?:code|status)?:? ?137\b|\bOOM|oom-kill"
)
"""What Java, Python, clusters and the system say of it; 137 is the code of what the system has killed for it."""
_COUNTS: Final = Path("/proc/vmstat")


def _kills() -> int:
    """Return how often Linux has killed a process of this machine for want of memory; 0 where nobody counts."""
    try:
        found = re.search(r"^oom_kill (\d+)$", _COUNTS.read_text(), re.MULTILINE)
    except OSError:
        return 0
    return 0 if found is None else int(found[1])


class MemorySigns:
    """Tells whether memory was it, by what is said, and by what this machine counts.

    Args:
        known: How many processes it had killed for want of memory before.
    """

    def __init__(self, known: int) -> None:
        self._known = known

    def __call__(self, text: str) -> bool:
        """Tell whether a process died for want of memory.

        Args:
            text: All that is said of its end.
        """
        before, self._known = self._known, _kills()
        return self._known > before or _SAID.search(text) is not None


shows_memory: Final = MemorySigns(_kills())
