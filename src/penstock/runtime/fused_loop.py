"""The loop that runs neighbouring operators of a chain as one, written for their kinds.

A value goes from function to function in a local variable, where operators by themselves would fill a
list for each other. Each call stands on a line of its own, so that the line on which a loop fails, or is
found at work, tells the operator, and a local variable of the frame the record that it was given:

    def map_filter_sink(fused, functions, values, timestamps, results, times, keys, table):
        f0, f1, f2, = functions
        n1 = 0
        append = results.append
        for v0 in values:
            v0 = f0(v0)
            if not f1(v0):
                n1 += 1
                continue
            f2(v0)
        return (n1,)

The file name of such code is `<penstock chain>`. Its frames have the local variable `fused`, a
`FusedOperators`, whose `operator_at` takes the frame and the number of the line (`frame.f_lineno`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Final, NamedTuple

from penstock.runtime.elements import BLOCK_SIZE

FILE_NAME: Final = "<penstock chain>"

_NAMES: Final = {"__name__": __name__, "NOTHING": object(), "len": len, "zip": zip}

DROPPING: Final = frozenset({"filter", "flat_map"})
"""The kinds after which there may be another number of records; the loop returns a number for each."""


class Place(NamedTuple):
    """What a line of a loop does.

    Attributes:
        position: The position of the operator whose function is called there.
        variable: The local variable with the record that it is given.
    """

    position: int
    variable: str


class Loop(NamedTuple):
    """A loop that runs several operators.

    Attributes:
        run: Runs it: takes the `FusedOperators`, the functions, values, timestamps, the lists that take
            the results and their timestamps, and keys and state if there is a `reduce`. Returns for each
            operator of the `DROPPING` kinds, in their order, how many records a filter dropped or a
            flat_map gave.
        places: What the lines do that call functions of the user.
    """

    run: Callable[..., tuple[int, ...]]
    places: Mapping[int, Place]


def new_loop(kinds: tuple[str, ...], *, timed: bool) -> Loop:
    """Make a loop.

    Args:
        kinds: The kinds of operators: `map`, `filter`, `flat_map`, perhaps `reduce` as the first, and
            perhaps `sink` as the last.
        timed: Whether each result has to come with the timestamp of the record it is of.
    """
    code, places = _compiled(kinds, timed)
    # A copy of the code is specialised by the interpreter for these functions alone.
    run = FunctionType(code.replace(), _NAMES)
    return Loop(run, places)


@lru_cache(maxsize=256)
def _compiled(kinds: tuple[str, ...], timed: bool) -> tuple[CodeType, Mapping[int, Place]]:
    text = _Text(kinds, timed)
    module = compile("\n".join(text.lines) + "\n", FILE_NAME, "exec")
    [code] = [constant for constant in module.co_consts if isinstance(constant, CodeType)]
    return code, text.places


class _Text:
    """The text of a loop.

    Attributes:
        lines: Its lines.
        places: What the lines do that call functions of the user, by their numbers, from 1.
    """

    def __init__(self, kinds: tuple[str, ...], timed: bool) -> None:
        self.lines: list[str] = []
        self.places: dict[int, Place] = {}
        self._indent = 0
        self._variable = "v0"
        self._timed = timed
        self._write(kinds)

    def _put(self, line: str, position: int | None = None) -> None:
        self.lines.append("    " * self._indent + line)
        if position is not None:
            self.places[len(self.lines)] = Place(position, self._variable)

    def _write(self, kinds: tuple[str, ...]) -> None:
        self._put(f"def {'_'.join(kinds)}({_PARAMETERS}):")
        self._indent += 1
        self._put(f"{', '.join(f'f{position}' for position in range(len(kinds)))}, = functions")
        counts = [f"n{position}" for position, kind in enumerate(kinds) if kind in DROPPING]
        for count in counts:
            self._put(f"{count} = 0")
        self._put("append = results.append")
        if self._timed:
            self._put("append_time = times.append")
        if kinds[0] == "reduce":
            self._put("known = table.get")
        self._put(self._head(keyed=kinds[0] == "reduce"))
        self._indent += 1
        for position, kind in enumerate(kinds):
            _STEPS[kind](self, position)
        if kinds[-1] != "sink":
            self._keep(may_be_many="flat_map" in kinds)
        self._indent = 1
        self._put(f"return ({''.join(f'{count}, ' for count in counts)})")

    def _head(self, *, keyed: bool) -> str:
        columns = {"v0": "values"}
        if self._timed:
            columns["t"] = "timestamps"
        if keyed:
            columns["k"] = "keys"
        if len(columns) == 1:
            return "for v0 in values:"
        return f"for {', '.join(columns)} in zip({', '.join(columns.values())}, strict=True):"

    def _reduce(self, position: int) -> None:
        result = f"v{position + 1}"
        self._put(f"{result} = known(k, NOTHING)", position)
        self._put(f"{result} = v0 if {result} is NOTHING else f{position}({result}, v0)", position)
        self._put(f"table[k] = {result}", position)
        self._variable = result

    def _map(self, position: int) -> None:
        self._put(f"{self._variable} = f{position}({self._variable})", position)

    def _filter(self, position: int) -> None:
        self._put(f"if not f{position}({self._variable}):", position)
        self._put(f"    n{position} += 1")
        self._put("    continue")

    def _flat_map(self, position: int) -> None:
        found, result = f"r{position}", f"v{position + 1}"
        self._put(f"{found} = f{position}({self._variable})", position)
        self._put(f"if {found} is None:")
        self._put("    continue")
        self._put(f"for {result} in {found}:", position)
        self._indent += 1
        self._variable = result
        self._put(f"n{position} += 1")

    def _sink(self, position: int) -> None:
        self._put(f"f{position}({self._variable})", position)

    def _keep(self, *, may_be_many: bool) -> None:
        self._put(f"append({self._variable})")
        if self._timed:
            self._put("append_time(t)")
        if may_be_many:
            self._put(f"if len(results) >= {BLOCK_SIZE}:")
            self._put("    fused.emit(results, times)")


_PARAMETERS: Final = "fused, functions, values, timestamps, results, times, keys, table"

_STEPS: Final[Mapping[str, Callable[[_Text, int], None]]] = {
    "reduce": _Text._reduce,  # noqa: SLF001 - of this module
    "map": _Text._map,  # noqa: SLF001
    "filter": _Text._filter,  # noqa: SLF001
    "flat_map": _Text._flat_map,  # noqa: SLF001
    "sink": _Text._sink,  # noqa: SLF001
}
