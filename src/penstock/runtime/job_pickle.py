"""Pickling with the classes that a job was started with.

A cell of a notebook may define a class of `__main__` again while a job runs. The job goes on with the one it
was started with, in the driver's process as well, where `__main__` has the new one: what its code brings along
by value is loaded into classes of the job's own, and leaves those of others as they are. And classes that
were renamed since a checkpoint was written are found by their new names.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import pickle
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, partial, reduce
from types import CodeType
from typing import IO, Any, Final, NamedTuple

from penstock.errors import StateClassNotFoundError

_MAIN: Final = "__main__"

_MOVED: Final = {
    "penstock.common.basic_typeinfo": "penstock.common.typeinfo.basic_typeinfo",
    "penstock.common.composite_typeinfo": "penstock.common.typeinfo.composite_typeinfo",
    "penstock.common.config_option": "penstock.common.configuration.config_option",
    "penstock.common.data_frame_row": "penstock.common.rows.data_frame_row",
    "penstock.common.field_reader": "penstock.common.rows.field_reader",
    "penstock.common.memory_size": "penstock.common.configuration.memory_size",
    "penstock.common.time_typeinfo": "penstock.common.typeinfo.time_typeinfo",
    "penstock.datastream.connectors.file_committer": "penstock.datastream.connectors.files.committer",
    "penstock.datastream.connectors.file_staging": "penstock.datastream.connectors.files.staging",
    "penstock.runtime.elements": "penstock.runtime.exchange.elements",
    "penstock.runtime.time_domain": "penstock.runtime.timers.internal_timer",
    "penstock.runtime.watermarks.event_time": "penstock.runtime.exchange.watermarks.event_time",
    "penstock.runtime.windowing.assigner": "penstock.runtime.windows.assigners.assigner",
    "penstock.runtime.windowing.continuous_triggers": "penstock.runtime.windows.triggers.continuous_triggers",
    "penstock.runtime.windowing.count_trigger": "penstock.runtime.windows.triggers.count_trigger",
    "penstock.runtime.windowing.count_windows": "penstock.runtime.windows.assigners.count_windows",
    "penstock.runtime.windowing.delta_trigger": "penstock.runtime.windows.triggers.delta_trigger",
    "penstock.runtime.windowing.evictor": "penstock.runtime.windows.evictors",
    "penstock.runtime.windowing.evictors": "penstock.runtime.windows.evictors",
    "penstock.runtime.windowing.global_triggers": "penstock.runtime.windows.triggers.global_triggers",
    "penstock.runtime.windowing.global_windows": "penstock.runtime.windows.assigners.global_windows",
    "penstock.runtime.windowing.pane_windows": "penstock.runtime.windows.panes",
    "penstock.runtime.windowing.purging_trigger": "penstock.runtime.windows.triggers.purging_trigger",
    "penstock.runtime.windowing.serializers": "penstock.runtime.windows.serializers",
    "penstock.runtime.windowing.session": "penstock.runtime.windows.assigners.session",
    "penstock.runtime.windowing.sliding": "penstock.runtime.windows.assigners.sliding",
    "penstock.runtime.windowing.stagger": "penstock.runtime.windows.assigners.stagger",
    "penstock.runtime.windowing.time_triggers": "penstock.runtime.windows.triggers.time_triggers",
    "penstock.runtime.windowing.timeout_trigger": "penstock.runtime.windows.triggers.timeout_trigger",
    "penstock.runtime.windowing.trigger": "penstock.runtime.windows.triggers.trigger",
    "penstock.runtime.windowing.tumbling": "penstock.runtime.windows.assigners.tumbling",
    "penstock.runtime.windowing.window": "penstock.runtime.keys.window_values",
}
"""The modules of penstock whose values state may hold, by the names that they had before."""
_CODE: Final = "cloudpickle.cloudpickle"
_SESSION: Final = "pyspark.sql.connect.session.SparkSession"


class JobClasses(NamedTuple):
    """The classes of a job that are not found where pickle looks for them.

    Attributes:
        main: Those of `__main__`, by their names.
        renamed: The new qualified names of classes by their old ones.
        own: Those that its code brought along, by what cloudpickle calls them; None where the classes of the
            script itself are used.
    """

    main: Mapping[str, type]
    renamed: Mapping[str, str]
    own: dict[str, type] | None = None


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
def job_classes(
    main: Mapping[str, type], renamed: Mapping[str, str], own: dict[str, type] | None = None
) -> Iterator[None]:
    """Let what this thread pickles and unpickles be of these classes.

    Args:
        main: The classes of `__main__`, by their names.
        renamed: The new qualified names of classes by their old ones.
        own: The classes that the job's code has brought along, to which `load_code` adds.
    """
    global _jobs  # noqa: PLW0603 - where there is no such job, nothing may cost time
    _jobs += 1
    token = _CLASSES.set(JobClasses(main, renamed, own))
    try:
        yield
    finally:
        _CLASSES.reset(token)
        _jobs -= 1


def install(
    main: Mapping[str, type], renamed: Mapping[str, str], own: dict[str, type] | None = None
) -> None:
    """Let all that this process pickles and unpickles from now on be of these classes.

    That is for processes that run one task at a time. The classes of `__main__` are put there: so records of
    them are pickled as fast as of others, and equal to their like wherever they come back.

    Args:
        main: The classes of `__main__`, by their names.
        renamed: The new qualified names of classes by their old ones.
        own: The classes that the job's code has brought along, to which `load_code` adds.
    """
    global _jobs  # noqa: PLW0603
    vars(sys.modules[_MAIN]).update(main)
    _CLASSES.set(JobClasses({}, renamed, own))
    _jobs = bool(renamed)


def dumps(value: Any) -> bytes:
    """Pickle a value, whose classes may be those that `__main__` had when the job was started."""
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


def dump_code(value: Any) -> bytes:
    """Pickle an operator, or what else workers need, together with the code that they cannot import.

    Code keeps the name of its file, which cloudpickle leaves out since 3.1.3: without it no traceback could show
    the user's own lines.
    """
    stream = io.BytesIO()
    _code_pickler()(stream).dump(value)
    return stream.getvalue()


@cache
def _code_pickler() -> type:
    from cloudpickle import CloudPickler

    def reduce_code(code: CodeType) -> tuple[Any, ...]:
        make, arguments = CloudPickler.dispatch_table[CodeType](code)
        return _code_of_file, (code.co_filename, make, *arguments)

    class CodePickler(CloudPickler):  # type: ignore[misc] # cloudpickle has no types
        dispatch_table = ChainMap({CodeType: reduce_code}, CloudPickler.dispatch_table)

        def reducer_override(self, obj: Any) -> Any:
            """Refuse a session of Spark Connect, and with it each of its DataFrames: no worker could load one."""
            if any(_name_of(kind) == _SESSION for kind in type(obj).__mro__):
                raise pickle.PicklingError("a session of Spark Connect cannot be pickled")
            return super().reducer_override(obj)

    return CodePickler


def _name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _code_of_file(filename: str, make: Callable[..., CodeType], *arguments: Any) -> CodeType:
    return make(*arguments).replace(co_filename=filename)


def load_code(data: bytes, own: dict[str, type] | None = None) -> Any:
    """Return an operator, or what else was pickled together with its code.

    Unlike `pickle.loads`, it never changes a class that is there: cloudpickle would give it the methods that it
    had when it was pickled, with the global variables of then.

    Args:
        data: What `dump_code` wrote.
        own: The classes that the code of the same job has brought along; those that this brings are added.
            None for those of the job of this thread.
    """
    unpickler = _CodeUnpickler(data, _CLASSES.get().own if own is None else own)
    try:
        return unpickler.load()
    except BaseException:
        unpickler.forget()
        raise


class _CodeUnpickler(pickle.Unpickler):
    """Reads what cloudpickle wrote; a class that it brings is made once, and then stays as it is."""

    def __init__(self, data: bytes, own: dict[str, type] | None) -> None:
        super().__init__(io.BytesIO(data))
        self._own = own
        self._made: dict[str, type] = {}

    def find_class(self, module: str, name: str, /) -> Any:
        """Return a class or function; in place of those that make and complete classes, one of its own."""
        found = super().find_class(module, name)
        if module == _CODE:
            if name in {"_make_skeleton_class", "_make_skeleton_enum"}:
                return partial(self._class, found)
            if name == "_class_setstate":
                return partial(self._complete, found)
        return found

    def _class(self, make: Callable[..., type], *arguments: Any) -> type:
        from cloudpickle import cloudpickle

        *described, tracker, extra = arguments
        made = make(*described, None, extra)
        if self._own is None:
            found: type = cloudpickle._lookup_class_or_track(tracker, made)  # noqa: SLF001 - as make does
        else:
            found = self._own.setdefault(tracker, made)
        if found is made:
            self._made[tracker] = made
        return found

    def _complete(self, complete: Callable[[type, Any], type], made: type, state: Any) -> type:
        is_new = any(made is one for one in self._made.values())
        return complete(made, state) if is_new else made

    def forget(self) -> None:
        """Let the classes be made anew that it has begun to make."""
        if self._own is not None:
            for tracker in self._made:
                del self._own[tracker]


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


def is_class_of_main(module: str, name: str) -> bool:
    """Whether what a pickle names takes the name of a class of `__main__`, and returns it."""
    return module == __name__ and name == _class_of_main.__name__


def module_now(module: str) -> str:
    """Return the name that a module has now which a checkpoint names."""
    return _MOVED.get(module, module)


class JobUnpickler(pickle.Unpickler):
    """Reads what was pickled, with the classes of the job of this thread."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self._main, self._renamed, _ = _CLASSES.get()

    def find_class(self, module: str, name: str, /) -> Any:
        """Return a class or function.

        Raises:
            StateClassNotFoundError: If there is none of that name.
        """
        if is_class_of_main(module, name):
            return partial(self.find_class, _MAIN)
        new = self._renamed.get(f"{module}.{name}")
        try:
            if new is not None:
                return _named(new)
            if module == _MAIN and name.partition(".")[0] in self._main:
                return _class_of_main(name)
            return super().find_class(module_now(module), name)
        except (ImportError, AttributeError) as error:
            missing = f"{module}.{name}"
            raise StateClassNotFoundError(
                f"There is no {new or missing}, which is needed for what was kept under the name "
                f"{missing}.",
                hint="If it was renamed or moved, set state.class-names to its old and new name: "
                f"'{missing}:new_module.NewName'.",
            ) from error


UNPICKLER: Final[ContextVar[Callable[[IO[bytes]], pickle.Unpickler]]] = ContextVar(
    "unpickler", default=JobUnpickler
)
"""Reads what is pickled in state; whoever only looks at state takes one that knows no classes."""


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
            module = importlib.import_module(".".join(parts[:length]))  # noqa: TID251 - the user names it
        except ModuleNotFoundError:
            continue
        try:
            return reduce(getattr, parts[length:], module)
        except AttributeError:
            continue
    raise ImportError(f"There is no {name}.")
