"""Which functions can do nothing but make a result of what they are given.

A function that looks harmless may still have an object that it gave out before: in a default, in a variable
around it, in a constant, in an attribute of a record's class. It may change it at a later call, and with it
a result. So results are looked at one by one, and copied if they have to wait. That is not needed for a
function that can reach nothing but its arguments and what nobody can change:

- It is a function written in Python, without variables of functions around it. Each name in it is that of
  a method of numbers, texts, lists and the like, or a global one that stands for a plain constant, or for one
  of the built-in functions that depend on their arguments alone. It sets neither attributes nor global
  variables, and imports nothing. Its constants and defaults are plain. The same holds for functions inside it.
- Or it is an `operator.itemgetter`.
- What it is given is plain: of numbers, texts, tuples, lists, dicts and sets, of just these types, so that no
  code of a user's class runs; and nobody else has it.

What it returns is plain again, and nobody else has it: it was made by this call, or cannot be changed, or came
with the argument. So such functions may be called for many records before anybody looks at the first result.

All else is taken for harmful: a method, a `functools.partial`, a name that means something else by now. There are no
bytes, as to decode them may call what a program registered as a codec.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from types import CodeType, FunctionType
from typing import Any, Final

PLAIN_TYPES: Final[frozenset[type]] = frozenset({int, float, str, bool, type(None)})
_ARE_PLAIN: Final = PLAIN_TYPES.issuperset
_ABSENT: Final = object()

BUILT_IN: Final = {
    name: getattr(builtins, name)
    for name in (
        *("abs", "all", "any", "bool", "chr", "dict", "divmod", "enumerate", "float", "frozenset"),
        *("int", "isinstance", "len", "list", "max", "min", "ord", "pow", "range", "reversed"),
        *("round", "set", "sorted", "str", "sum", "tuple", "zip"),
    )
}
"""The built-in functions that depend on their arguments alone, by their names."""

_METHODS: Final = frozenset(
    name
    for kind in (int, float, str, tuple, list, dict, set, frozenset)
    for name in dir(kind)
    # What is formatted is asked for attributes of any name.
    if not name.startswith("_")
    and name not in {"format", "format_map", "encode", "to_bytes", "from_bytes"}
)

_ATTRIBUTE: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


def are_plain(values: Iterable[Any]) -> bool:
    """Whether values are numbers, texts, or tuples of these, and of no other types."""
    kinds = set(map(type, values))
    if kinds <= PLAIN_TYPES:
        return True
    return kinds == {tuple} and _ARE_PLAIN(map(type, chain.from_iterable(values)))


def is_harmless(function: Any) -> bool:
    """Whether a function, as it is now, can do nothing but make a result of arguments that are plain.

    Example:
        >>> seen = []
        >>> is_harmless(lambda pair: {"sum": sum(pair)}), is_harmless(lambda pair: seen)
        (True, False)
    """
    if type(function) is itemgetter:
        return is_plain_constant(function.__reduce__()[1])
    return type(function) is FunctionType and _can_do_no_harm(function)


def _can_do_no_harm(function: Any) -> bool:
    code, known, builtin = function.__code__, function.__globals__, function.__builtins__
    try:
        names = _global_names(code)
    except TypeError:  # a constant that cannot be hashed, and so be changed
        return False
    if names is None or code.co_freevars or type(known) is not dict or type(builtin) is not dict:
        return False
    kept = chain(function.__defaults__ or (), (function.__kwdefaults__ or {}).values())
    return all(map(is_plain_constant, kept)) and all(
        is_plain_constant(known[name])
        if name in known
        else builtin.get(name, _ABSENT) is BUILT_IN.get(name)
        for name in names
    )


@lru_cache(maxsize=1024)
def _global_names(code: CodeType) -> frozenset[str] | None:
    """Return the names of the global variables that code reads; None if it could do harm whatever they are."""
    read: set[str] = set()
    named: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opcode not in dis.hasname:
            continue
        name = instruction.argval
        named.add(name)
        if instruction.opname == "LOAD_GLOBAL":
            read.add(name)
        elif instruction.opname not in _ATTRIBUTE or name not in _METHODS:
            return None
    if named != set(code.co_names):
        return None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = _global_names(constant)
            if inner is None:
                return None
            read |= inner
        elif not is_plain_constant(constant):
            return None
    return frozenset(read)


def is_plain_constant(value: Any) -> bool:
    """Whether a value is a number, a text, or a tuple or frozenset of plain constants."""
    if type(value) in (tuple, frozenset):
        return all(map(is_plain_constant, value))
    return type(value) in PLAIN_TYPES
