"""Refuses what penstock does not run on: a Spark that is too old or not known, and packages that do not go with one."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import pyspark

from penstock.common.configuration.remarks import say_once
from penstock.errors import SparkPackageError, SparkTooOldError, UnknownSparkError
from penstock.executors.spark.connect import is_client_alone
from penstock.executors.spark.versions.features import KNOWN, NEWEST, OLDEST, Version, version_of
from penstock.executors.spark.versions.needs import (
    PANDAS,
    PYARROW,
    PYARROW_WITH_NUMPY_1,
    PYTHON,
    WITHOUT_DISTUTILS,
    Range,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UNTESTED: Final = "PENSTOCK_UNTESTED_SPARK"
_NUMPY_2: Final[Version] = (2, 0)


def check_pyspark() -> None:
    """Make sure that pyspark, the packages it works with and this Python go together.

    Nothing of them is imported, as that itself may fail.

    Raises:
        SparkTooOldError: If pyspark is too old.
        UnknownSparkError: If penstock is not tested with it.
        SparkPackageError: If what is installed beside it does not go with it, or is missing.
    """
    check_version()
    found = version_of(pyspark.__version__) or NEWEST
    if found in PYTHON:
        _check_python(PYTHON[found], found)
    _check_package("pandas", PANDAS.get(found, PANDAS[NEWEST]), f"Spark {_text(found)}")
    _check_pyarrow(found)
    if found < WITHOUT_DISTUTILS:
        _check_distutils(_text(found))


def check_version() -> None:
    """Make sure that penstock runs on the pyspark that is installed, which takes no time.

    Raises:
        SparkTooOldError: If it is too old.
        UnknownSparkError: If penstock is not tested with it.
    """
    _check(pyspark.__version__, f"pyspark {pyspark.__version__} is installed")


def check_session(spark: SparkSession) -> None:
    """Make sure that penstock runs on the Spark of a session.

    Raises:
        SparkTooOldError: If it is too old.
        UnknownSparkError: If penstock is not tested with it.
    """
    found = spark.version
    _check(found, f"the SparkSession runs Spark {found}")


def _check(text: str, what: str) -> None:
    found = version_of(text)
    if found in KNOWN:
        return
    if found is not None and found < OLDEST:
        raise SparkTooOldError(
            f"penstock runs on Spark {_text(OLDEST)} and newer, and {what}.", hint=_install()
        )
    tested = f"{', '.join(map(_text, KNOWN[:-1]))} and {_text(NEWEST)}"
    if os.environ.get(_UNTESTED) == "1":
        say_once(
            f"Spark {text}", f"penstock is tested with Spark {tested}, and not with Spark {text}."
        )
        return
    raise UnknownSparkError(
        f"penstock is tested with Spark {tested}, and {what}.",
        hint=f"{_install()} To run with this one all the same, set the environment variable {_UNTESTED} to 1, for a "
        "server of Spark Connect where that is started, too.",
    )


def _install() -> str:
    extra, package = (
        ("connect", "pyspark-client") if is_client_alone() else ("spark", "pyspark[sql]")
    )
    return (
        f"Run: pip install 'penstock[{extra}]' '{package}=={_text(NEWEST)}.*'. A cluster, or a server of Spark Connect, needs "
        "a version that is tested, too."
    )


def _check_python(stands: Range, spark: Version) -> None:
    found = sys.version_info[0], sys.version_info[1]
    if stands.has(found):
        return
    newer = (
        f", or install a newer Spark: pip install 'pyspark=={_text(NEWEST)}.*'"
        if PYTHON[NEWEST].has(found)
        else ""
    )
    raise SparkPackageError(
        f"With Spark {_text(spark)}, penstock works with Python {stands}, and this is Python {_text(found)}.",
        hint=f"Run the program with such a Python{newer}.",
    )


def _check_package(name: str, stands: Range, beside: str, hint: str = "") -> None:
    """Make sure that a package is installed, and of versions that go with what is beside it."""
    text = _installed(name)
    run = f"Run: pip install '{name}{stands}'.{hint}"
    if text is None and find_spec(name) is None:
        raise SparkPackageError(
            f"With {beside}, penstock needs {name}, and there is none.", hint=run
        )
    found = version_of(text or "")
    if found is not None and not stands.has(found):
        raise SparkPackageError(
            f"With {beside}, penstock works with {name} {stands}, and this is {name} {text}.",
            hint=run,
        )


def _check_pyarrow(spark: Version) -> None:
    numpy = _installed("numpy") or ""
    beside = f"Spark {_text(spark)}"
    if (version_of(numpy) or _NUMPY_2) >= _NUMPY_2:
        _check_package("pyarrow", PYARROW, beside)
        return
    hint = (
        " The extra spark35 of penstock has what goes together."
        if spark == OLDEST
        else " Or install a newer NumPy: pip install 'numpy>=2'."
    )
    _check_package("pyarrow", PYARROW_WITH_NUMPY_1, f"{beside} and NumPy {numpy}", hint)


def _check_distutils(spark: str) -> None:
    if find_spec("distutils") is None:
        raise SparkPackageError(
            f"Spark {spark} needs distutils, which Python {_text(sys.version_info[:2])} does not have.",
            hint="Run: pip install setuptools, which brings it; the workers need it too. Or install a newer Spark: "
            f"pip install 'pyspark=={_text(NEWEST)}.*'.",
        )


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _text(number: Version | tuple[int, ...]) -> str:
    return ".".join(map(str, number))
