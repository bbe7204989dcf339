"""What PyFlink's unit tests stand on, for penstock: base classes of tests, and the sink that they read results from."""

from __future__ import annotations

import shutil
import tempfile
import unittest
import uuid
from decimal import Decimal
from typing import Any

from penstock.common import Row
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import RuntimeExecutionMode, SinkFunction, StreamExecutionEnvironment

RESULTS: dict[str, list[Any]] = {}
"""What sinks were given, by their keys: jobs run in this process, and each subtask has a sink of its own."""


class PyFlinkTestCase(unittest.TestCase):
    """A test with a folder of its own."""

    tempdir: str

    @classmethod
    def setUpClass(cls) -> None:
        """Make the folder."""
        cls.tempdir = tempfile.mkdtemp()

    @classmethod
    def tearDownClass(cls) -> None:
        """Remove the folder."""
        shutil.rmtree(cls.tempdir, ignore_errors=True)

    @classmethod
    def assert_equals(cls, actual: Any, expected: Any) -> None:
        """Compare in any order."""
        assert sorted(actual) == sorted(expected), f"{sorted(actual)} is not {sorted(expected)}"


class PyFlinkUTTestCase(PyFlinkTestCase):
    """A test with an environment."""

    mode = RuntimeExecutionMode.STREAMING

    def setUp(self) -> None:
        """Make the environment."""
        self.env = StreamExecutionEnvironment.get_execution_environment()
        self.env.set_parallelism(2)
        self.env.set_runtime_mode(self.mode)


class PyFlinkStreamingTestCase(PyFlinkUTTestCase):
    """A test of streaming programs."""


class PyFlinkBatchTestCase(PyFlinkUTTestCase):
    """A test of programs in BATCH mode."""

    mode = RuntimeExecutionMode.BATCH


class DataStreamTestSinkFunction(SinkFunction):
    """Keeps what it is given."""

    def __init__(self) -> None:
        self._key = uuid.uuid4().hex
        RESULTS[self._key] = []

    def invoke(self, value: Any) -> None:
        """Keep a record."""
        RESULTS[self._key].append(value)

    def get_results(self, is_python_object: bool = False, stringify: bool = True) -> list[Any]:
        """Return what came, as text: Python's of what PyFlink pickles, and Java's of all else."""
        found = RESULTS[self._key]
        if is_python_object:
            return [str(value) for value in found] if stringify else list(found)
        return [as_java_shows(value) for value in found]

    def clear(self) -> None:
        """Forget them."""
        RESULTS[self._key].clear()


def as_java_shows(value: Any) -> str:
    """Return the text that Java gives to what PyFlink makes of a value."""
    inner = None if isinstance(value, str | Row | Decimal) else value
    if value is None:
        return "null"
    if isinstance(inner, bool):
        return str(inner).lower()
    if isinstance(value, Row):
        return f"{value.get_row_kind()}[{', '.join(map(as_java_shows, value))}]"
    if isinstance(inner, tuple):
        return f"({','.join(map(as_java_shows, inner))})"
    if isinstance(inner, list):
        return f"[{', '.join(map(as_java_shows, inner))}]"
    if isinstance(inner, dict):
        pairs = (f"{as_java_shows(key)}={as_java_shows(one)}" for key, one in inner.items())
        return f"{{{', '.join(pairs)}}}"
    return str(value)


class SecondColumnTimestampAssigner(TimestampAssigner):
    """The second column is the time."""

    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        """Return it."""
        return int(value[1])
