"""The loop that runs an operator, or neighbouring ones of a chain as one, written for their kinds.

A value goes from function to function in a local variable, so that each record is done before the next is
begun. Only the results of the last function wait for others, and only those that nobody can change. To look
at each takes time: a type is looked up only if the result before was of another, and where results are tuples
the loop is written for those of their width. Each call stands on a line of its own, so that the line on which
a loop fails, or is found at work, tells the operator, and a local variable of the frame the record that it
was given:

    def map_filter(fused, functions, values, timestamps, results, times, keys, table):
        f0, f1, = functions
        n1 = 0
        append, kind = results.append, type
        seen1_0 = seen1_1 = None
        for v0 in values:
            v0 = f0(v0)
            if not f1(v0):
                n1 += 1
                continue
            try:
                i0, i1, = v0 if kind(v0) is tuple else STRANGE[2]
            except ValueError:
                i0, i1, = STRANGE[2]
            if kind(i0) is not seen1_0 or kind(i1) is not seen1_1:
                if kind(i0) in FIXED and kind(i1) in FIXED:
                    seen1_0, seen1_1, = kind(i0), kind(i1),
                elif is_immutable(v0):
                    fused.note_width(1, v0)
                else:
                    fused.emit_alone(v0, None, results, times)
                    continue
            append(v0)
        return (n1,)

The file name of such code is `<penstock chain>`. Its frames have the local variable `fused`, a
`FusedOperators`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import compress
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple

from penstock.common.typeinfo.conversion import MISFIT_NAMES
from penstock.runtime.exchange.elements import BLOCK_SIZE
from penstock.runtime.objects.mutability import (
    IMMUTABLE_TYPES,
    Kept,
    copied_if_possible,
    is_immutable,
)
from penstock.runtime.output_tag import OutputTag

FILE_NAME: Final = "<penstock chain>"

REST: Final = "rest"
"""The variable with what is left of the records, where no other one has the record."""

WIDEST: Final = 8
"""How many items a tuple has at most for which a loop is written."""

_NAMES: Final = {
    **MISFIT_NAMES,
    "__name__": __name__,
    "NOTHING": object(),
    "STRANGE": tuple((object(),) * width for width in range(WIDEST + 1)),
    "RuntimeError": RuntimeError,
    "copied": copied_if_possible,
    "bool": bool,
    "compress": compress,
    "is_immutable": is_immutable,
    "FIXED": IMMUTABLE_TYPES,
    "Kept": Kept,
    "OutputTag": OutputTag,
    "ValueError": ValueError,
    "isinstance": isinstance,
    "iter": iter,
    "len": len,
    "list": list,
    "map": map,
    "tuple": tuple,
    "type": type,
    "zip": zip,
}

NESTING: Final = frozenset({"flat_map", "process"})
"""The kinds that begin a loop inside the loop: over the results for a record."""

DROPPING: Final = NESTING | {"filter"}
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
            operator of the `DROPPING` kinds, in their order, how many records a filter dropped or one of the
            `NESTING` kinds gave.
        places: What the lines do that call functions of the user.
    """

    run: Callable[..., tuple[int, ...]]
    places: Mapping[int, Place]


Widths = tuple[int, int]
"""How many items the tuples have that a `reduce` gives, and those that go on; 0 for what is no tuple."""


def new_loop(
    kinds: tuple[str, ...],
    *,
    timed: bool,
    known: bool = False,
    widths: Widths = (0, 0),
    misfits: tuple[str, ...] = (),
) -> Loop:
    """Make a loop.

    Args:
        kinds: The kinds of operators: `map`, `filter`, `flat_map`, `process`, perhaps `reduce` as the first,
            and perhaps `sink` as the last.
        timed: Whether each result has to come with the timestamp of the record it is of, or a function may
            ask for it.
        known: Whether nobody can change a result while it waits: it is known to be one of the values, which
            nobody can change, or functions make nothing else.
        widths: What results to expect; others are all right, and take longer.
        misfits: For each operator that is not the last, the test whether a result of it, `{}`, has to be made one of
            its declared type; empty for none. See `TypeInformation.misfit`.
    """
    code, places = _compiled(kinds, misfits, timed, known, widths)
    # A copy of the code is specialised by the interpreter for these functions alone.
    run = FunctionType(code.replace(), _NAMES)
    return Loop(run, places)


@lru_cache(maxsize=256)
def _compiled(
    kinds: tuple[str, ...], misfits: tuple[str, ...], timed: bool, known: bool, widths: Widths
) -> tuple[CodeType, Mapping[int, Place]]:
    text = _Text(kinds, misfits, timed, known, widths)
    module = compile("\n".join(text.lines) + "\n", FILE_NAME, "exec")
    [code] = [constant for constant in module.co_consts if isinstance(constant, CodeType)]
    return code, text.places


def width_of(value: Any) -> int | None:
    """Return for which width a loop is to be written if there are values like this; None if it is all the same."""
    if type(value) in IMMUTABLE_TYPES:
        return 0
    is_narrow = type(value) is tuple and 0 < len(value) <= WIDEST
    return len(value) if is_narrow and IMMUTABLE_TYPES.issuperset(map(type, value)) else None


class _Text:
    """The text of a loop.

    Attributes:
        lines: Its lines.
        places: What the lines do that call functions of the user, by their numbers, from 1.
    """

    def __init__(
        self,
        kinds: tuple[str, ...],
        misfits: tuple[str, ...],
        timed: bool,
        known: bool,
        widths: Widths,
    ) -> None:
        self.lines: list[str] = []
        self.places: dict[int, Place] = {}
        self._indent = 0
        self._variable = "v0"
        self._timed = timed
        self._is_known = known
        self._widths = widths
        self._misfits = misfits
        self._reduced: str | None = None
        self._write(kinds)

    def _put(self, line: str, position: int | None = None) -> None:
        self.lines.append("    " * self._indent + line)
        if position is not None:
            self.places[len(self.lines)] = Place(position, self._variable)

    def _put_all(self, lines: tuple[str, ...], indent: int) -> None:
        for line in lines:
            self._put("    " * indent + line)

    def _write(self, kinds: tuple[str, ...]) -> None:
        misfits = self._misfits
        self._put(f"def {'_'.join(kinds)}({_PARAMETERS}):")
        self._indent += 1
        self._put(f"{', '.join(f'f{position}' for position in range(len(kinds)))}, = functions")
        if self._is_known and not self._timed and kinds in {("map",), ("filter",)}:
            self._write_alone(kinds[0])
            return
        counts = [f"n{position}" for position, kind in enumerate(kinds) if kind in DROPPING]
        for count in counts:
            self._put(f"{count} = 0")
        self._put("append, kind = results.append, type")
        for place in (0, 1):
            self._put(f"{' = '.join(self._seen(place))} = None")
        if self._timed:
            self._put("append_time = times.append")
        if kinds[0] == "reduce":
            self._put("known, keep = table.get, fused.keep")
            self._put("may_be_kept = fused.reduce.may_hold_kept")
        for position, misfit in enumerate(misfits):
            if misfit:
                self._put(f"convert{position} = fused.operators[{position}].conversion.one")
        for position, kind in enumerate(kinds):
            if kind == "process":
                self._put(f"c{position} = fused.operators[{position}].record_context")
                self._put(f"c{position}.record_timestamp = None")
        self._put(self._head(keyed=kinds[0] == "reduce"))
        self._indent += 1
        for position, kind in enumerate(kinds):
            _STEPS[kind](self, position)
            self._convert(position)
        if kinds[-1] != "sink":
            self._keep(may_be_many=not NESTING.isdisjoint(kinds))
        self._indent = 1
        self._put(f"return ({''.join(f'{count}, ' for count in counts)})")

    def _write_alone(self, kind: str) -> None:
        """Have Python itself call the only function there is: what it gives need not be looked at."""
        self._variable = REST
        self._put(f"{REST} = iter(values)")
        called = f"map(f0, {REST})"
        self._put(f"found = list({called if kind == 'map' else f'map(bool, {called})'})", 0)
        # It takes a StopIteration that a function raises for the end of the records.
        self._put("if len(found) != len(values):")
        self._put("    raise RuntimeError('the function raised StopIteration')", 0)
        self._put(f"results.extend({'found' if kind == 'map' else 'compress(values, found)'})")
        self._put(f"return ({'' if kind == 'map' else 'len(values) - len(results),'})")

    def _seen(self, place: int) -> list[str]:
        return [f"seen{place}_{item}" for item in range(max(self._widths[place], 1))]

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
        before, result = self._variable, f"v{position + 1}"
        self._put(f"{result} = known(k, NOTHING)", position)
        self._put(f"if {result} is NOTHING:")
        self._put(f"    {result} = {before}")
        self._put("else:")
        if not self._is_known:
            self._put(f"    if may_be_kept and kind({result}) is Kept:")
            self._put(f"        {result} = {result}.taken()", position)
        self._put(f"    {result} = f{position}({result}, {before})", position)
        if self._is_known:
            self._put(f"table[k] = {result}", position)
        else:
            self._put("is_mutable = False")
            self._look(result, 0, "is_mutable = may_be_kept = fused.reduce.may_hold_kept = True")
            self._put(f"table[k] = keep({result}, k) if is_mutable else {result}", position)
        self._variable = self._reduced = result

    def _map(self, position: int) -> None:
        self._reduced = None
        self._put(f"{self._variable} = f{position}({self._variable})", position)

    def _convert(self, position: int) -> None:
        """Make a result one of the declared type; those of the last operator its output converts."""
        misfit = self._misfits[position] if position < len(self._misfits) else ""
        if misfit:
            result = self._variable
            self._reduced = None
            self._put(f"if {misfit.replace('{}', result)}:")
            self._put(f"    {result} = convert{position}({result})")

    def _filter(self, position: int) -> None:
        self._put(f"if not f{position}({self._variable}):", position)
        self._put(f"    n{position} += 1")
        self._put("    continue")

    def _flat_map(self, position: int) -> None:
        self._for_each_result(position, self._variable)
        self._put(f"n{position} += 1")

    def _for_each_result(self, position: int, arguments: str) -> None:
        found, result = f"r{position}", f"v{position + 1}"
        self._put(f"{found} = f{position}({arguments})", position)
        self._put(f"if {found} is None:")
        self._put("    continue")
        self._put(f"for {result} in {found}:", position)
        self._indent += 1
        self._variable = result

    def _process(self, position: int) -> None:
        context = f"c{position}"
        if self._timed:
            self._put(f"{context}.record_timestamp = t")
        self._for_each_result(position, f"{self._variable}, {context}")
        result = self._variable
        is_pair = f"type({result}) is tuple and len({result}) == 2"
        self._put(f"if {is_pair} and isinstance({result}[0], OutputTag):")
        time = "t" if self._timed else "None"
        self._put(f"    fused.collect_side({position}, {result}, {time})")
        self._put("    continue")
        self._put(f"n{position} += 1")

    def _sink(self, position: int) -> None:
        # What a sink keeps nobody else is to change.
        self._if_mutable(f"{self._variable} = copied({self._variable})")
        self._put(f"f{position}({self._variable})", position)

    def _if_mutable(self, *steps: str) -> None:
        """Do something with a value that can be changed."""
        if self._is_known:
            return
        if self._variable == self._reduced:
            # It was looked at already.
            self._put("if is_mutable:")
            self._put_all(steps, 1)
        else:
            self._look(self._variable, 1, *steps)

    def _look(self, value: str, place: int, *steps: str) -> None:
        """Look at a value if it is of other types than the one before; do something if it can be changed."""
        items, seen = [value], self._seen(place)
        width = self._widths[place]
        if width:
            items = [f"i{item}" for item in range(width)]
            strange = f"STRANGE[{width}]"
            self._put("try:")
            self._put(f"    {_tuple(items)} = {value} if kind({value}) is tuple else {strange}")
            self._put("except ValueError:")
            self._put(f"    {_tuple(items)} = {strange}")
        others = [f"kind({item}) is not {kind}" for item, kind in zip(items, seen, strict=True)]
        self._put(f"if {' or '.join(others)}:")
        self._put(f"    if {' and '.join(f'kind({item}) in FIXED' for item in items)}:")
        self._put(f"        {_tuple(seen)} = {_tuple([f'kind({item})' for item in items])}")
        self._put(f"    elif is_immutable({value}):")
        self._put(f"        fused.note_width({place}, {value})")
        self._put("    else:")
        self._put_all(steps, 2)

    def _keep(self, *, may_be_many: bool) -> None:
        time = "t" if self._timed else "None"
        self._if_mutable(f"fused.emit_alone({self._variable}, {time}, results, times)", "continue")
        self._put(f"append({self._variable})")
        if self._timed:
            self._put("append_time(t)")
        if may_be_many:
            self._put(f"if len(results) >= {BLOCK_SIZE}:")
            self._put("    fused.emit(results, times)")


def _tuple(items: list[str]) -> str:
    return "".join(f"{item}, " for item in items).strip()


_PARAMETERS: Final = "fused, functions, values, timestamps, results, times, keys, table"

_STEPS: Final[Mapping[str, Callable[[_Text, int], None]]] = {
    "reduce": _Text._reduce,  # noqa: SLF001 - of this module
    "map": _Text._map,  # noqa: SLF001
    "filter": _Text._filter,  # noqa: SLF001
    "flat_map": _Text._flat_map,  # noqa: SLF001
    "process": _Text._process,  # noqa: SLF001
    "sink": _Text._sink,  # noqa: SLF001
}
