"""Modules that are written for penstock, as modules for PyFlink."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import cloudpickle

ROOT = Path(__file__).resolve().parents[2]


def on_pyflink(name: str) -> ModuleType:
    """Return a module of the benchmarks, with `penstock` replaced by `pyflink` in its imports.

    Args:
        name: Its name, as "benchmarks.nexmark.queries". What it imports of the kind comes first.
    """
    path = ROOT.joinpath(*name.split(".")).with_suffix(".py")
    source = re.sub(
        r"^(from|import) penstock\b", r"\1 pyflink", path.read_text(), flags=re.MULTILINE
    )
    module = ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102 - a file of the benchmarks
    # A worker would import the file as it is.
    cloudpickle.register_pickle_by_value(module)
    return module
