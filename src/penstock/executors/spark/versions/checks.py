"""Refuses what penstock does not run on: a Spark that is too old, and packages that a Spark cannot stand."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import pyspark

from penstock.common.configuration.remarks import say_once
from penstock.errors import SparkPackageError, SparkTooOldError
from penstock.executors.spark.versions.features import NEWEST, OLDEST, Version, version_of
from penstock.executors.spark.versions.needs import (
    NEEDS,
    NUMPY_OF_PYARROW,
    WITHOUT_DISTUTILS,
    Range,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HINT: Final = "Run: pip install 'penstock[spark]'. A cluster, or a server of Spark Connect, needs such a version too."


def check_pyspark() -> None:
    """Make sure that pyspark, the packages it works with and this Python go together, and say so if nobody knows.

    Nothing of them is imported, as that itself may fail.

    Raises:
        SparkTooOldError: If pyspark is too old.
        SparkPackageError: If it does not stand what is installed beside it.
    """
    check_version()
    found = version_of(pyspark.__version__)
    if found is None:
        return
    if found > NEWEST:
        say_once(
            f"pyspark {pyspark.__version__}",
            f"pyspark {pyspark.__version__} is newer than what penstock is tested with, which is Spark {_text(OLDEST)} to "
            f"{_text(NEWEST)}.",
        )
    for name, stands in NEEDS.get(found, {}).items():
        _check_package(name, stands, _text(found))
    if found < WITHOUT_DISTUTILS:
        _check_distutils(_text(found))
    _check_numpy()


def check_version() -> None:
    """Make sure that the pyspark that is installed is not too old, which takes no time.

    Raises:
        SparkTooOldError: If it is.
    """
    _check(pyspark.__version__, "pyspark")


def check_session(spark: SparkSession) -> None:
    """Make sure that the Spark of a session is not too old.

    Raises:
        SparkTooOldError: If it is.
    """
    _check(spark.version, "the SparkSession runs Spark")


def _check(text: str, what: str) -> None:
    found = version_of(text)
    if found is not None and found < OLDEST:
        where = f"{what} {text}" if " " in what else f"{what} {text} is installed"
        raise SparkTooOldError(
            f"penstock runs on Spark {_text(OLDEST)} and newer, and {where}.", hint=_HINT
        )


def _check_package(name: str, stands: Range, spark: str) -> None:
    text = _text(sys.version_info[:2]) if name == "Python" else _installed(name)
    found = version_of(text or "")
    if found is None or stands.least <= found < stands.below:
        return
    how = (
        f"Run penstock with such a Python, or install a newer Spark: pip install 'pyspark>={_text(NEWEST)}'."
        if name == "Python"
        else f"Run: pip install '{name}{stands}'. Or install a newer Spark: pip install 'pyspark>={_text(NEWEST)}'."
    )
    raise SparkPackageError(
        f"Spark {spark} works with {name} {stands}, and this is {name} {text}.", hint=how
    )


def _check_distutils(spark: str) -> None:
    if find_spec("distutils") is None:
        raise SparkPackageError(
            f"Spark {spark} needs distutils, which Python {_text(sys.version_info[:2])} does not have.",
            hint="Run: pip install setuptools, which brings it; the workers need it too. Or install a newer Spark: "
            f"pip install 'pyspark>={_text(NEWEST)}'.",
        )


def _check_numpy() -> None:
    arrow, numpy = _installed("pyarrow") or "", _installed("numpy") or ""
    found = version_of(numpy)
    for since, least in NUMPY_OF_PYARROW.items():
        if found is not None and found < least and (version_of(arrow) or (0, 0)) >= since:
            raise SparkPackageError(
                f"pyarrow {arrow} works with NumPy {_text(least)} and newer, and this is NumPy {numpy}.",
                hint=f"Run: pip install 'pyarrow<{since[0]}'. Spark 3.5 brings that NumPy: its extra of penstock, spark35, "
                "has both.",
            )


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _text(number: Version | tuple[int, ...]) -> str:
    return ".".join(map(str, number))
