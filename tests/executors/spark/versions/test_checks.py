from __future__ import annotations

import sys
from importlib import reload
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest

from penstock.errors import SparkPackageError, SparkTooOldError
from penstock.executors.spark.versions import checks
from penstock.executors.spark.versions.checks import check_pyspark, check_session
from penstock.executors.spark.versions.features import NEWEST
from penstock.executors.targets import executor_for


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What is installed: what a test puts there, and nothing else."""
    found: dict[str, str] = {}
    monkeypatch.setattr(checks, "_installed", found.get)
    return found


@pytest.mark.parametrize("version", ["2.4.8", "3.4.1", "3.3.2+vendor"])
def test_a_spark_that_is_too_old_is_refused_by_name_and_version(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session: Any = SimpleNamespace(version=version)
    with pytest.raises(SparkTooOldError) as raised:
        check_session(session)
    assert f"3.5 and newer, and the SparkSession runs Spark {version}." in raised.value.message
    monkeypatch.setattr(pyspark, "__version__", version)
    with pytest.raises(SparkTooOldError, match=r"pyspark .* is installed\."):
        executor_for("spark")


@pytest.mark.parametrize("version", ["3.5.0", "4.0.1", "4.3.2", "4.10.0", "5.0.0", "vendor"])
def test_other_versions_are_not_refused(version: str) -> None:
    session: Any = SimpleNamespace(version=version)
    check_session(session)
    check_pyspark()


def test_one_that_nobody_knows_runs_and_is_remarked_on_once(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]
) -> None:
    said: dict[str, str] = {}
    monkeypatch.setattr(checks, "say_once", said.setdefault)
    monkeypatch.setattr(pyspark, "__version__", f"{NEWEST[0]}.{NEWEST[1]}.7")
    check_pyspark()
    assert said == {}

    monkeypatch.setattr(pyspark, "__version__", "5.0.0")
    check_pyspark()
    check_pyspark()

    assert list(said.values()) == [
        "pyspark 5.0.0 is newer than what penstock is tested with, which is Spark 3.5 to 4.3."
    ]


@pytest.mark.parametrize(
    ("spark", "package", "version", "stands"),
    [
        ("3.5.9", "pandas", "3.0.1", ">=1,<3"),
        ("4.0.5", "pyarrow", "10.0.0", ">=11"),
        ("4.1.4", "pandas", "2.1.0", ">=2.2,<3"),
    ],
)
def test_a_package_that_a_spark_cannot_stand_is_refused_with_what_it_can(
    spark: str,
    package: str,
    version: str,
    stands: str,
    monkeypatch: pytest.MonkeyPatch,
    installed: dict[str, str],
) -> None:
    monkeypatch.setattr(pyspark, "__version__", spark)
    monkeypatch.setattr(sys, "version_info", (3, 11, 7))
    check_pyspark()
    installed[package] = version

    with pytest.raises(SparkPackageError) as raised:
        check_pyspark()

    assert raised.value.message == (
        f"Spark {spark[:3]} works with {package} {stands}, and this is {package} {version}."
    )
    assert f"pip install '{package}{stands}'" in str(raised.value.hint)


def test_a_python_that_a_spark_cannot_run_on_is_refused(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    monkeypatch.setattr(sys, "version_info", (3, 13, 1))

    with pytest.raises(SparkPackageError, match=r"works with Python >=3\.8,<3\.13, and this is"):
        check_pyspark()


def test_a_python_without_distutils_is_refused_by_a_spark_that_needs_it(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    monkeypatch.setattr(sys, "version_info", (3, 12, 1))
    has_it: dict[str, object] = {"distutils": object()}
    monkeypatch.setattr(checks, "find_spec", has_it.get)
    check_pyspark()
    has_it.clear()

    with pytest.raises(SparkPackageError, match=r"needs distutils.* 3\.12 ") as raised:
        check_pyspark()
    assert "pip install setuptools" in str(raised.value.hint)

    monkeypatch.setattr(pyspark, "__version__", "4.0.1")
    check_pyspark()


def test_a_pyarrow_that_cannot_be_imported_is_refused_before_it_is(
    installed: dict[str, str],
) -> None:
    installed |= {"numpy": "1.26.4", "pyarrow": "25.0.1"}
    check_pyspark()
    installed["pyarrow"] = "26.0.1"

    with pytest.raises(SparkPackageError, match=r"NumPy 2\.0 and newer, and this is NumPy 1\.26"):
        check_pyspark()


def test_it_is_refused_as_well_where_functions_for_spark_users_are_imported(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]
) -> None:
    import penstock.spark

    installed |= {"numpy": "1.26.4", "pyarrow": "26.0.1"}
    monkeypatch.setitem(sys.modules, "penstock.executors.spark.frames.async_map", None)

    with pytest.raises(SparkPackageError, match="pyarrow 26"):
        reload(penstock.spark)

    installed.clear()
    with pytest.raises(ImportError, match="async_map"):
        reload(penstock.spark)
