"""Which functions make of numbers, texts and tuples of these nothing else.

To look at each result, as it might be a list that is changed later, takes as long as a one-line function
itself. That is not needed where the function can only return what nobody can change:

- It is a function written in Python, without defaults and without variables of functions around it, or a
  method that never uses its `self`. There is nothing in it but names of its own, plain constants, operators,
  tuples, and calls: of those methods and built-in functions that return numbers, texts or tuples of what they are
  given. What makes a list, a dict, a set, a function or an iterator that could be returned is none of these.
- What it is given is plain and cannot be changed: numbers, texts, tuples of such, of just these types.

It may read global names, which can mean something else at the next call. Such a function is asked for again
with each block, and with it all that are called in between: see `penstock.runtime.objects.harmless`.
"""

from __future__ import annotations

import dis
from functools import lru_cache
from inspect import CO_VARKEYWORDS
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

from penstock.runtime.objects.harmless import BUILT_IN, is_plain_constant

_MAKING_FIXED: Final = frozenset(
    (
        *("abs", "all", "any", "bool", "chr", "divmod", "float", "int", "isinstance", "len", "max"),
        *("min", "ord", "pow", "round", "str", "sum", "tuple"),
    )
)

_METHODS: Final = frozenset(
    (
        *("as_integer_ratio", "bit_count", "bit_length", "capitalize", "casefold", "center"),
        *("conjugate", "count", "denominator", "endswith", "expandtabs", "find", "hex", "imag"),
        *("index", "is_integer", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit"),
        *("isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper"),
        *("join", "ljust", "lower", "lstrip", "numerator", "partition", "real", "removeprefix"),
        *("removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition", "rstrip"),
        *("startswith", "strip", "swapcase", "title", "upper", "zfill"),
    )
)

_INSTRUCTIONS: Final = frozenset(
    (
        *("CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "PUSH_NULL", "RESUME"),
        *("COPY", "LOAD_CONST", "LOAD_SMALL_INT", "POP_TOP", "SWAP"),
        *("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "STORE_FAST"),
        *("LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST"),
        *("STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"),
        *("LOAD_ATTR", "LOAD_GLOBAL", "LOAD_METHOD", "CALL", "CALL_KW", "KW_NAMES", "PRECALL"),
        *("BINARY_OP", "BINARY_SLICE", "BINARY_SUBSCR", "BUILD_SLICE", "COMPARE_OP"),
        *("CONTAINS_OP", "IS_OP", "TO_BOOL"),
        *("UNARY_INVERT", "UNARY_NEGATIVE", "UNARY_NOT", "UNARY_POSITIVE"),
        *("BUILD_STRING", "CONVERT_VALUE", "FORMAT_SIMPLE", "FORMAT_VALUE", "FORMAT_WITH_SPEC"),
        *("BUILD_TUPLE", "END_FOR", "FOR_ITER", "GET_ITER", "POP_ITER", "UNPACK_SEQUENCE"),
        *("JUMP_BACKWARD", "JUMP_FORWARD", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"),
        *("POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_NONE"),
        *("POP_JUMP_BACKWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_TRUE"),
        *("POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_FORWARD_IF_NONE"),
        *("POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_TRUE"),
        *("POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_IF_TRUE"),
        *("RETURN_CONST", "RETURN_VALUE"),
    )
)


def makes_fixed(function: Any) -> bool:
    """Whether a function can only return what nobody can change, if given such; by its code alone.

    One that reads global names has to be harmless too, each time.

    Example:
        >>> makes_fixed(lambda pair: (pair[0], pair[1] + 1)), makes_fixed(lambda pair: [pair])
        (True, False)
    """
    plain = function.__func__ if type(function) is MethodType else function
    if type(plain) is not FunctionType or plain.__defaults__ or plain.__kwdefaults__:
        return False
    code = plain.__code__
    try:
        return _makes_fixed(code) and (plain is function or not _uses_first(code))
    except TypeError:  # a constant that cannot be hashed, and so be changed
        return False


def reads_names(function: Any) -> bool:
    """Whether a function of which `makes_fixed` is true reads global names."""
    return any(step.opname == "LOAD_GLOBAL" for step in dis.get_instructions(function.__code__))


@lru_cache(maxsize=1024)
def _makes_fixed(code: CodeType) -> bool:
    steps = list(dis.get_instructions(code))
    named = [step for step in steps if step.opcode in dis.hasname]
    return (
        not code.co_flags & CO_VARKEYWORDS
        and _INSTRUCTIONS.issuperset(step.opname for step in steps)
        and {step.argval for step in named} == set(code.co_names)
        and all(map(_is_known, named))
        and all(map(is_plain_constant, code.co_consts))
    )


def _is_known(step: dis.Instruction) -> bool:
    """Whether what an instruction takes by its name is no source of what can be changed."""
    if step.opname == "LOAD_GLOBAL":
        # A name that is none of a built-in function stands for a constant, or the function is not harmless.
        return step.argval in _MAKING_FIXED or step.argval not in BUILT_IN
    return step.argval in _METHODS


def _uses_first(code: CodeType) -> bool:
    """Whether code touches its first argument."""
    if not code.co_argcount:
        return True
    first = code.co_varnames[0]
    touched = (
        step.argval if isinstance(step.argval, tuple) else (step.argval,)
        for step in dis.get_instructions(code)
        if "_FAST" in step.opname
    )
    return any(first in names for names in touched)
