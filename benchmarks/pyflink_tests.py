"""Runs PyFlink's own unit tests of `pyflink.common` and `pyflink.datastream` on penstock: their import is changed.

`python benchmarks/pyflink_tests.py --tests FOLDER` takes files `test_*.py` of Flink's repository, from the folders
`tests` below `flink-python/pyflink/common` and `flink-python/pyflink/datastream`, which are not in this one. All run in
this process, without Spark.

Where tests take a row, a schema or a configuration to Java and back, `pyflink_cases/java.py` stands in for it; a test
that asks more of Java is left out. If a test does so only at its end, as those of connectors which look into the fields
of Java's objects, take these lines out of the file, and the rest of it is run. Which of the others fail, and why, is in
`pyflink_cases/expected_failures.txt`.
"""

from __future__ import annotations

import argparse
import ast
import pkgutil
import re
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.pyflink_cases.java import STAND_INS_FOR_JAVA, java_stood_in_for, of_java

EXPECTED: Final = Path(__file__).parent / "pyflink_cases" / "expected_failures.txt"
STAND_INS: Final = "benchmarks.pyflink_cases.stand_ins"
MOVED: Final = re.compile(r"\bpyflink\.(testing\.test_case_utils|datastream\.tests\.test_util)\b")
INSIDES: Final = (
    "penstock.java_gateway",
    "penstock.pyflink_gateway_server",
    "penstock.util",
    "penstock.fn_execution",
    "penstock.table",
)
OF_JAVA: Final = re.compile(r"_?get_java_|\b_?j_\w+")
PACKAGE: Final = re.compile(r"\bpyflink\b")


def changed(text: str) -> str:
    """Return a file of tests with its imports changed."""
    tree = ast.parse(text)
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = PACKAGE.sub("penstock", MOVED.sub(STAND_INS, lines[number]))
    return "\n".join(lines) + "\n"


def stand_in_for_insides(text: str) -> None:
    """Put a stand-in in the place of each name that a file imports from inside of PyFlink, or of its gateway to Java."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("penstock"):
            for name in node.names:
                if is_inside(node.module or "", name.name):
                    module = stand_in_module(node.module or "")
                    setattr(module, name.name, STAND_INS_FOR_JAVA.get(name.name, of_java))


def stand_in_module(name: str) -> ModuleType:
    """Return a module, made if there is none, with the packages around it."""
    package, _, _ = name.rpartition(".")
    if name not in sys.modules and package:
        stand_in_module(package)
    return sys.modules.setdefault(name, ModuleType(name))


def is_inside(module: str, name: str) -> bool:
    """Whether a name is one of PyFlink's insides, which nothing here has."""
    if module.startswith(INSIDES):
        return True
    return name.startswith("_") and not hasattr(pkgutil.resolve_name(module), name)


def expected_failures() -> dict[str, str]:
    """Return why tests fail, by their names."""
    lines = EXPECTED.read_text(encoding="utf-8").splitlines()
    told = (line.partition(": ") for line in lines if line and not line.startswith("#"))
    return {name: why for name, _, why in told}


def suites(folder: Path, source: Path) -> Iterator[unittest.TestSuite]:
    """Yield the tests of each file of a folder."""
    sys.path.insert(0, str(folder))
    for path in sorted(source.rglob("test_*.py")):
        text = changed(path.read_text(encoding="utf-8"))
        stand_in_for_insides(text)
        (folder / path.name).write_text(text, encoding="utf-8")
        yield unittest.defaultTestLoader.loadTestsFromName(path.stem)


class Result(unittest.TextTestResult):
    """Takes a test that asks for an object of Java's as left out."""

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802 - overridden
        """Add an error."""
        if err[0] in (AttributeError, TypeError) and OF_JAVA.search(str(err[1])):
            self.addSkip(test, str(err[1]))
        else:
            super().addError(test, err)


def run(source: Path) -> tuple[unittest.TestResult, set[str]]:
    """Run the tests of a folder; return what came of them, and the names of those that failed."""
    with tempfile.TemporaryDirectory() as folder, java_stood_in_for():
        suite = unittest.TestSuite(suites(Path(folder), source))
        result = unittest.TextTestRunner(resultclass=cast("Any", Result)).run(suite)
        sys.path.remove(folder)
    for name in [name for name in sys.modules if name.startswith(INSIDES)]:
        del sys.modules[name]
    return result, {test.id() for test, _ in [*result.errors, *result.failures]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=Path, required=True, help="the folder of the tests")
    result, failed = run(parser.parse_args().tests)
    expected = expected_failures()
    passed = result.testsRun - len(failed) - len(result.skipped)
    print(f"{passed} pass, {len(failed)} fail, {len(result.skipped)} need Java.")
    for name in sorted(failed):
        print(f"{name}: {expected.get(name, 'NOT EXPECTED')}")
    sys.exit(bool(failed - expected.keys()))


if __name__ == "__main__":
    main()
