"""Writes the public names of an installed PyFlink into pyflink_names.txt: `python -m scripts.pyflink_facts PACKAGE`.

Its sources are parsed, not imported: neither PyFlink nor Java is needed.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

NAMES: Final = Path(__file__).with_name("pyflink_names.txt")
HEAD: Final = """\
# The public names of PyFlink 2.3, by module: classes with their members, functions, and what packages bring from
# elsewhere. Behind < is what a class is derived from. Parameters are those that a caller gives, defaults are as they are
# written, and @ marks what is called on the class.
# Written by `python -m scripts.pyflink_facts`.
"""
PACKAGES: Final = ("common", "datastream", "metrics")

_OF_JAVA = re.compile(r"(^|_)(j|java|jvm|py4j)(_|$)|Java")
"""Names of what has a Java object in it, or is one: the wrapping, not what is wrapped."""
_PLAIN = {"ABC", "Enum", "Generic", "object"}
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_public(name: str) -> bool:
    return not name.startswith(("_", "Internal")) and not _OF_JAVA.search(name)


def modules(package: Path) -> Iterator[tuple[str, ast.Module]]:
    """Yield the public modules of PyFlink, with penstock's name in the place of its own."""
    for part in PACKAGES:
        for path in sorted((package / part).rglob("*.py")):
            place = path.relative_to(package).with_suffix("").parts
            if "tests" not in place:
                name = ".".join(("penstock", *(one for one in place if one != "__init__")))
                yield name, ast.parse(path.read_text(encoding="utf-8"))


def names_of(module: ast.Module) -> Iterator[str]:
    """Yield a line for each public name of a module."""
    for node in module.body:
        if isinstance(node, ast.ClassDef) and is_public(node.name):
            yield from class_lines(node, node.name)
        elif isinstance(node, _Function) and is_public(node.name):
            yield signature(node, skipped=0)
        else:
            yield from filter(_CONSTANT.fullmatch, assigned(node))
    brought = sorted({*listed(module), *installed(module)})
    if brought:
        yield "brings"
        yield from (f"    {name}" for name in brought)


def class_lines(node: ast.ClassDef, name: str) -> Iterator[str]:
    """Yield a line for a class, and one for each in it."""
    bases = [ast.unparse(base).partition("[")[0].removeprefix("abc.") for base in node.bases]
    derived = [base for base in bases if is_public(base) and base not in _PLAIN]
    yield " < ".join([name + constructor(node), *([", ".join(derived)] if derived else [])])
    # Of one that is written several times, the last counts.
    members = {bare(member): member for one in node.body for member in members_of(one)}
    yield from (f"    {member}" for member in members.values())
    for one in node.body:
        if isinstance(one, ast.ClassDef) and is_public(one.name):
            yield from class_lines(one, f"{name}.{one.name}")


def constructor(node: ast.ClassDef) -> str:
    """Return what a class is called with; nothing if that is a Java object, or not said."""
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            text = signature(one, skipped=1).removeprefix("__init__")
            return "" if re.search(r"\b_?j_|_j\b", text) else text
    return ""


def members_of(node: ast.stmt) -> Iterator[str]:
    """Yield the public members of a class that a statement of it defines."""
    if not isinstance(node, _Function):
        yield from filter(is_public, assigned(node))
    elif is_public(node.name):
        marks = {one.id for one in node.decorator_list if isinstance(one, ast.Name)}
        if "property" in marks:
            yield node.name
        elif marks & {"staticmethod", "classmethod"}:
            yield "@" + signature(node, skipped=int("classmethod" in marks))
        else:
            yield signature(node, skipped=1)


def bare(member: str) -> str:
    """Return the name alone of a member."""
    return member.removeprefix("@").partition("(")[0]


def assigned(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement assigns, but not those of type variables."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    elif targets and "TypeVar" in ast.unparse(node):
        return
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def signature(node: _Function, skipped: int) -> str:
    """Return a function's name and its parameters with their defaults."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    required = [""] * (len(plain) - len(arguments.defaults))
    defaults = [*required, *(f"={ast.unparse(one)}" for one in arguments.defaults)]
    found = [f"{one.arg}{default}" for one, default in zip(plain, defaults, strict=True)][skipped:]
    if arguments.vararg is not None:
        found.append(f"*{arguments.vararg.arg}")
    for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(one.arg if value is None else f"{one.arg}={ast.unparse(value)}")
    if arguments.kwarg is not None:
        found.append(f"**{arguments.kwarg.arg}")
    return f"{node.name}({', '.join(found)})"


def listed(module: ast.Module) -> Iterator[str]:
    """Yield the names in `__all__` that are defined elsewhere."""
    own = {getattr(node, "name", None) for node in module.body}
    for node in module.body:
        if isinstance(node, ast.Assign) and "__all__" in assigned(node):
            yield from (name for name in ast.literal_eval(node.value) if name not in own)


def installed(module: ast.Module) -> Iterator[str]:
    """Yield the names that a package is given when it is imported: `setattr(package, name, ...)`."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr":
            yield ast.literal_eval(node.args[1])


def text(package: Path) -> str:
    found = [HEAD]
    for name, module in modules(package):
        lines = list(names_of(module))
        if lines:
            found.append("\n".join([f"[{name}]", *lines, ""]))
    return "\n".join(found)


if __name__ == "__main__":
    NAMES.write_text(text(Path(sys.argv[1])), encoding="utf-8")
