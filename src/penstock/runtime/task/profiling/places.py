"""What the code of a file is for, as far as the file tells."""

from __future__ import annotations

import dis
import sysconfig
from enum import Enum
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Final

from penstock.common.cost import Cost
from penstock.runtime.task.fused_loop import FILE_NAME


class Place(Enum):
    """Whose code it is, where that is not penstock's."""

    USERS = "users"
    """The user's, and that of libraries the user calls."""
    LIBRARY = "library"
    """Python's own, and that of libraries that penstock calls too."""
    NOWHERE = "nowhere"
    """Code that belongs to whoever calls it."""


_PACKAGE: Final = str(Path(__file__).resolve().parents[3]) + "/"
_PYTHON: Final = tuple(
    sysconfig.get_path(name) + "/" for name in ("stdlib", "platstdlib") if sysconfig.get_path(name)
)
_PACKAGES: Final = ("/site-packages/", "/dist-packages/")
_LIBRARIES: Final = ("pyspark", "pyarrow", "py4j", "cloudpickle", "rocksdict")

_COSTS: Final = {
    "runtime/exchange/buffer.py": Cost.SERIALIZATION,
    "runtime/job_pickle.py": Cost.SERIALIZATION,
    "runtime/objects/copying.py": Cost.SERIALIZATION,
    "runtime/objects/mutability.py": Cost.SERIALIZATION,
    "runtime/objects/unshared.py": Cost.SERIALIZATION,
    "runtime/exchange/record_size.py": Cost.SERIALIZATION,
    "runtime/state/": Cost.STATE,
    "runtime/timers/": Cost.STATE,
    "runtime/task/subtask_state.py": Cost.SNAPSHOT,
    "checkpoint/": Cost.SNAPSHOT,
    "runtime/exchange/writer.py": Cost.EXCHANGE,
    "runtime/exchange/partitioners.py": Cost.EXCHANGE,
    "runtime/exchange/gates.py": Cost.EXCHANGE,
    "runtime/exchange/arrow_rows.py": Cost.EXCHANGE,
    "runtime/exchange/arrow_columns.py": Cost.EXCHANGE,
    "executors/spark/": Cost.EXCHANGE,
    "runtime/async_io/loop/mailbox.py": Cost.WAITING,
    "runtime/async_io/loop/event_loop.py": Cost.WAITING,
}
_OPERATORS: Final = (
    _PACKAGE + "runtime/operators/",
    _PACKAGE + "runtime/windows/checks/",
    _PACKAGE + "runtime/windows/operator/",
    _PACKAGE + "runtime/columnar/",
    _PACKAGE + "runtime/async_io/async_wait.py",
)
_CALLED: Final = ("call", "_call")
_CALLERS: Final = (
    "common/types.py",
    "runtime/exchange/elements.py",
    "runtime/keys/key_groups.py",
    "runtime/task/profiling/",
    "runtime/keys/key_types.py",
    "runtime/user_code.py",
)
"""What these do they do for whoever calls them."""


@lru_cache(maxsize=4096)
def place_of(filename: str) -> Cost | Place:
    """Return what the code of a file of penstock's is for, or whose it is."""
    if filename.startswith(_PACKAGE):
        inside = filename[len(_PACKAGE) :]
        if inside.startswith(_CALLERS):
            return Place.NOWHERE
        found = (cost for start, cost in _COSTS.items() if inside.startswith(start))
        return next(found, Cost.FRAMEWORK)
    if filename == FILE_NAME:
        return Cost.FRAMEWORK
    if filename.startswith("<frozen "):
        return Place.LIBRARY
    if filename.startswith("<"):
        return Place.NOWHERE
    return Place.LIBRARY if _is_library(filename) else Place.USERS


@lru_cache(maxsize=4096)
def calls_functions(filename: str) -> bool:
    """Whether the code of a file is that of operators: what they call is the user's, if not penstock's."""
    return filename == FILE_NAME or filename.startswith(_OPERATORS)


@lru_cache(maxsize=1024)
def lines_of_calls(code: CodeType) -> frozenset[int | None]:
    """Return the lines of an operator's code that call its function: by the name it has there."""
    return frozenset(
        found.positions.lineno
        for found in dis.get_instructions(code)
        if found.argval in _CALLED and found.positions is not None
    )


def _is_library(filename: str) -> bool:
    for folder in _PACKAGES:
        if folder in filename:
            name = filename.rpartition(folder)[2]
            return name.startswith(_LIBRARIES)
    return filename.startswith(_PYTHON) or "/pyspark/" in filename
