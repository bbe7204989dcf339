"""Pickling with the classes that a job was started with.

A cell of a notebook may define a class of `__main__` again while a job runs. The job goes on with the one it
was started with, in the driver's process as well, where `__main__` has the new one. And classes that were
renamed since a checkpoint was written are found by their new names.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import reduce
from typing import IO, Any, Final, NamedTuple

from penstock.errors import StateClassNotFoundError

_MAIN: Final = "__main__"


class JobClasses(NamedTuple):
    """The classes of a job that are not found where pickle looks for them.

    Attributes:
        main: Those of `__main__`, by their names.
        renamed: The new qualified names of classes by their old ones.
    """

    main: Mapping[str, type]
    renamed: Mapping[str, str]


_NONE: Final = JobClasses({}, {})
_CLASSES: Final[ContextVar[JobClasses]] = ContextVar("classes", default=_NONE)
_jobs = 0


def classes_of_main() -> dict[str, type]:
    """Return the classes that are defined in `__main__` now, by their names."""
    return {
        name: value
        for name, value in list(vars(sys.modules[_MAIN]).items())
        if isinstance(value, type) and value.__module__ == _MAIN
    }


@contextlib.contextmanager
def job_classes(main: Mapping[str, type], renamed: Mapping[str, str]) -> Iterator[None]:
    """Let what this thread pickles and unpickles be of these classes.

    Args:
        main: The classes of `__main__`, by their names.
        renamed: The new qualified names of classes by their old ones.
    """
    global _jobs  # noqa: PLW0603 - where there is no such job, nothing may cost time
    _jobs += 1
    token = _CLASSES.set(JobClasses(main, renamed))
    try:
        yield
    finally:
        _CLASSES.reset(token)
        _jobs -= 1


def install(main: Mapping[str, type], renamed: Mapping[str, str]) -> None:
    """Let all that this process pickles and unpickles from now on be of these classes.

    That is for processes that run one task at a time. The classes of `__main__` are put there: so records of
    them are pickled as fast as of others, and equal to their like wherever they come back.

    Args:
        main: The classes of `__main__`, by their names.
        renamed: The new qualified names of classes by their old ones.
    """
    global _jobs  # noqa: PLW0603
    vars(sys.modules[_MAIN]).update(main)
    _CLASSES.set(JobClasses({}, renamed))
    _jobs = bool(renamed)


def dumps(value: Any) -> bytes:
    """Pickle a value."""
    if not _jobs:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except pickle.PicklingError:
        stream = io.BytesIO()
        _Pickler(stream, pickle.HIGHEST_PROTOCOL).dump(value)
        return stream.getvalue()


def loads(data: bytes) -> Any:
    """Return what was pickled.

    Raises:
        StateClassNotFoundError: If it is of a class that is not there.
    """
    if not _jobs:
        try:
            return pickle.loads(data)
        except (ImportError, AttributeError):
            pass  # to be named
    return JobUnpickler(io.BytesIO(data)).load()


class _Pickler(pickle.Pickler):
    """Writes the names of classes of `__main__` that are defined anew there."""

    def __init__(self, file: IO[bytes], protocol: int) -> None:
        super().__init__(file, protocol)
        self._main = _CLASSES.get().main

    def reducer_override(self, obj: Any) -> Any:
        """Pickle a class of the job by its name; all else as usual."""
        if isinstance(obj, type) and obj.__module__ == _MAIN:
            outer, *inner = obj.__qualname__.split(".")
            known = self._main.get(outer)
            if known is not None and reduce(getattr, inner, known) is obj:
                return _class_of_main, (obj.__qualname__,)
        return NotImplemented


def _class_of_main(qualname: str) -> Any:
    outer, *inner = qualname.split(".")
    found = _CLASSES.get().main.get(outer)
    return reduce(getattr, inner, found or getattr(sys.modules[_MAIN], outer))


class JobUnpickler(pickle.Unpickler):
    """Reads what was pickled, with the classes of the job of this thread."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self._main, self._renamed = _CLASSES.get()

    def find_class(self, module: str, name: str, /) -> Any:
        """Return a class or function.

        Raises:
            StateClassNotFoundError: If there is none of that name.
        """
        new = self._renamed.get(f"{module}.{name}")
        try:
            if new is not None:
                return _named(new)
            if module == _MAIN and name.partition(".")[0] in self._main:
                return _class_of_main(name)
            return super().find_class(module, name)
        except (ImportError, AttributeError) as error:
            missing = f"{module}.{name}"
            raise StateClassNotFoundError(
                f"There is no {new or missing}, which is needed for what was kept under the name "
                f"{missing}.",
                hint="If it was renamed or moved, set state.class-names to its old and new name: "
                f"'{missing}:new_module.NewName'.",
            ) from error


def _named(name: str) -> Any:
    """Return the class of a qualified name, whose module is imported.

    Raises:
        ImportError: If there is none.
        AttributeError: If it is of `__main__`, and there is none.
    """
    parts = name.split(".")
    if parts[0] == _MAIN:
        return _class_of_main(".".join(parts[1:]))
    for length in range(len(parts) - 1, 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        try:
            return reduce(getattr, parts[length:], module)
        except AttributeError:
            continue
    raise ImportError(f"There is no {name}.")
