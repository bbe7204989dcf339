"""Has Spark pickle modules by their code, where those who unpickle it cannot import them."""

from __future__ import annotations

from types import ModuleType

from pyspark import cloudpickle


def travels_by_code(module: ModuleType) -> None:
    """Let what is in a module be pickled by Spark with its code, not by its name."""
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
