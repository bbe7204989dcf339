"""Writes the tables of PyFlink's names, and what of them is here, into their page: `python -m scripts.parity_table`."""

from __future__ import annotations

import importlib
import inspect
import itertools
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from scripts.generated_part import GeneratedPart
from scripts.pyflink_facts import NAMES, bare

from penstock.not_here import INSTEAD

PLACE: Final = GeneratedPart("coming-from-pyflink.md", "parity_table")

_INTERNAL: Final = "Part of how PyFlink works inside."
_JAVA: Final = "It wraps an object of Java."


def _each(place: str, names: str, why: str) -> dict[str, str]:
    return {f"{place}.{name}": why for name in names.split()}


_BUILDERS: Final = "The builders of both formats have it, each for its policies."
WHY: Final = {
    **_each(
        "datastream.connectors.elasticsearch",
        "ElasticsearchSinkBuilderBase.get_http_host_class "
        "Elasticsearch6SinkBuilder.get_http_host_class "
        "Elasticsearch7SinkBuilder.get_http_host_class",
        "It names a class of Java.",
    ),
    "common.serializer.VoidNamespaceSerializer": _INTERNAL,
    "datastream.connectors.file_system.FileSink.get_transformer": _INTERNAL,
    "datastream.connectors.file_system.FileSink.BaseBuilder.with_rolling_policy": _BUILDERS,
    "datastream.connectors.file_system.StreamingFileSink.BaseBuilder.with_rolling_policy": _BUILDERS,
    "datastream.data_stream.WINDOW_STATE_NAME": _INTERNAL,
    "datastream.functions.AsyncFunctionDescriptor": _INTERNAL,
    "datastream.functions.FunctionWrapper": _INTERNAL,
    "datastream.functions.PassThroughAllWindowFunction": _INTERNAL,
    "datastream.functions.PassThroughWindowFunction": _INTERNAL,
    "datastream.functions.ReduceFunctionWrapper": _INTERNAL,
    "datastream.functions.NullByteKeySelector": _INTERNAL,
    "datastream.utils": _INTERNAL,
    "datastream.window.Min": _INTERNAL,
    "datastream.window.WindowOperationDescriptor": _INTERNAL,
    "datastream.window.long_to_int_with_bit_mixing": _INTERNAL,
    "datastream.window.mod_inverse": _INTERNAL,
}
"""Why a name is not here, by its place, if that does not say what is in its place: see `INSTEAD`."""

_OF_JAVA: Final = "PyFlink's wraps an object of Java, which is what it is made of there."
OTHERWISE: Final = {
    "datastream.connectors.base.Sink(sink)": _OF_JAVA,
    "datastream.connectors.base.Source(source)": _OF_JAVA,
    "datastream.connectors.file_system.FileSink < SupportsPreprocessing": "It takes rows as they are.",
    "datastream.connectors.jdbc.JdbcSink < SinkFunction": "It is a `Sink`, which `add_sink` takes too.",
    "datastream.connectors.file_system.StreamingFileSink < SinkFunction": "It is a `Sink`, which `add_sink` takes too.",
    "datastream.connectors.kafka.FlinkKafkaConsumerBase < SourceFunction": "It is a `Source`, which `add_source` takes too.",
    "datastream.connectors.kafka.FlinkKafkaProducerBase < SinkFunction": "It is a `Sink`, which `add_sink` takes too.",
    "datastream.data_stream.KeyedStream.broadcast(*args)": "`broadcast` has the parameters of `DataStream.broadcast`.",
    "datastream.functions.SinkFunction(sink_func)": _OF_JAVA,
    "datastream.functions.SourceFunction(source_func)": _OF_JAVA,
}
"""Why something is called otherwise here."""


class Name(NamedTuple):
    """A public class, function or constant of PyFlink's.

    Attributes:
        module: Where it is looked for: PyFlink's module with penstock in the place of pyflink.
        name: Its name; "brings" for the names that a package has from elsewhere.
        parameters: What it is called with, in parentheses; empty if it is not called.
        members: Its public members, with their parameters.
        bases: The names of the classes that it is derived from.
    """

    module: str
    name: str
    parameters: str = ""
    members: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where it is in the package."""
        return f"{self.module}.{self.name}".removeprefix("penstock.")


def names() -> Iterator[Name]:
    module = ""
    found: Name | None = None
    for line in NAMES.read_text(encoding="utf-8").splitlines():
        if found is not None and line.startswith("    "):
            found = found._replace(members=(*found.members, line.strip()))
            continue
        if found is not None:
            yield found
            found = None
        if line.startswith("["):
            module = line.strip("[]")
        elif line and not line.startswith("#"):
            called, _, bases = line.partition(" < ")
            name, opened, parameters = called.partition("(")
            derived = tuple(bases.split(", ")) if bases else ()
            found = Name(module, name, opened + parameters, bases=derived)
    if found is not None:
        yield found


def tables() -> str:
    lines: list[str] = []
    for module, group in itertools.groupby(names(), lambda name: name.module):
        found = list(group)
        lines += ["", f"### `{module}`", ""]
        if is_here(module):
            lines += ["| Name | Here | Missing, and why |", "|---|---|---|", *map(row, found)]
        else:
            listed = ", ".join(f"`{name.name}`" for name in found)
            whys = dict.fromkeys(reason(name.place) for name in found)
            lines.append(f"Not here: {listed}. {' '.join(whys)}")
    return "\n".join(lines).strip("\n")


def is_here(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def row(name: Name) -> str:
    if name.name == "brings":
        return row_of(
            "*brings from elsewhere*", [one for one in name.members if not brings(name, one)]
        )
    found = here(name)
    if found is None:
        return f"| `{name.name}` | no | {reason(name.place)} |"
    missing = [one for one in map(bare, name.members) if not hasattr(found, one)]
    whys = {why for member in missing if (why := WHY.get(f"{name.place}.{member}"))}
    whys |= {why for place, why in OTHERWISE.items() if is_of(place, name)}
    return row_of(f"`{name.name}`", missing, " ".join(sorted(whys)))


def is_of(difference: str, name: Name) -> bool:
    rest = difference.removeprefix(name.place)
    return rest != difference and rest[0] in " .("


def row_of(what: str, missing: list[str], why: str = "") -> str:
    listed = ", ".join(f"`{member}`" for member in missing)
    return (
        f"| {what} | {'partly' if missing else 'yes'} | {': '.join(filter(None, (listed, why)))} |"
    )


def brings(package: Name, name: str) -> bool:
    return hasattr(importlib.import_module(package.module), name)


def here(name: Name) -> Any:
    """Return what has that name here; None if nothing has."""
    found: Any = importlib.import_module(name.module) if is_here(name.module) else None
    for part in name.name.split("."):
        found = getattr(found, part, None)
    return found


def is_there(place: str) -> bool:
    """Whether a module, or something in one, has a place in the package."""
    module, _, name = f"penstock.{place}".rpartition(".")
    while not is_here(module):
        module, _, outer = module.rpartition(".")
        name = f"{outer}.{name}"
    return is_here(f"{module}.{name}") or here(Name(module, name)) is not None


def reason(place: str) -> str:
    """Return why what has a place in PyFlink is not here; empty if nobody says so."""
    parts = place.split(".")
    outward = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((why for one in outward if (why := INSTEAD.get(one) or WHY.get(one))), "")


def differences() -> Iterator[str]:
    """Yield what is called otherwise here than in PyFlink, or is derived from something else."""
    known = {name.name: name for name in names()}
    for name in names():
        found = here(name)
        if found is None:
            continue
        for base in (here(known[base]) for base in name.bases if base in known):
            if base is not None and not issubclass(found, base):
                yield f"{name.place} < {base.__name__}"
        if name.parameters and parameters_of(found) != plain(name.parameters, name.module):
            yield f"{name.place}{name.parameters}"
        yield from (
            f"{name.place}.{one}" for one in name.members if not is_like(found, one, name.module)
        )


def is_like(kind: Any, member: str, module: str) -> bool:
    """Whether a member of a class of a module is called as PyFlink's is; True if it is missing, or a value."""
    own = inspect.getattr_static(kind, bare(member), None)
    if own is None or "(" not in member:
        return True
    is_static = isinstance(own, staticmethod | classmethod)
    found = parameters_of(getattr(kind, bare(member)), skipped=0 if is_static else 1)
    return is_static == member.startswith("@") and found == plain(
        "(" + member.partition("(")[2], module
    )


def parameters_of(function: Any, *, skipped: int = 0) -> list[str]:
    """Return the parameters with their defaults, without those that are added here: by keyword only."""
    found = []
    for one in inspect.signature(function).parameters.values():
        if one.kind is not one.KEYWORD_ONLY:
            default = "" if one.default is one.empty else f"={one.default!r}"
            # Annotations are no part of it, stars are.
            bare_one = one.replace(annotation=one.empty, default=one.empty)
            found.append(f"{bare_one}{default}")
    return found[skipped:]


def plain(parameters: str, module: str) -> list[str]:
    """Return the parameters in parentheses, one by one, with defaults as their values are shown.

    Args:
        parameters: The parameters.
        module: Where names of defaults are from.
    """
    names = vars(importlib.import_module(module))
    return parameters_of(eval(f"lambda {parameters[1:-1]}: None", names))  # noqa: S307 - of a file that lies beside this one


if __name__ == "__main__":
    PLACE.write(tables())
