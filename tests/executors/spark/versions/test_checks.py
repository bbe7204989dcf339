from __future__ import annotations

import sys
from importlib import reload
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest

from penstock.errors import SparkPackageError, SparkTooOldError, UnknownSparkError
from penstock.executors.spark.versions import checks
from penstock.executors.spark.versions.checks import check_pyspark, check_session
from penstock.executors.spark.versions.features import KNOWN, NEWEST
from penstock.executors.spark.versions.needs import PANDAS, PYTHON
from penstock.executors.targets import executor_for


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What is installed: what a test puts there, and nothing else of which the version is known."""
    found: dict[str, str] = {}
    monkeypatch.setattr(checks, "_installed", found.get)
    return found


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    found: dict[str, str] = {}
    monkeypatch.setattr(checks, "say_once", found.setdefault)
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


@pytest.mark.parametrize(
    "version",
    [
        "3.5.0",
        "3.5.2-amzn-1",
        "4.0.1",
        "4.1.0+databricks.connect.18.1.9",
        "4.3.0.dev0+databricks.connect.19.1",
        "4.3.2",
    ],
)
def test_a_version_that_is_known_is_one_with_a_vendors_suffix_too(
    version: str,
    monkeypatch: pytest.MonkeyPatch,
    installed: dict[str, str],
    said: dict[str, str],
) -> None:
    session: Any = SimpleNamespace(version=version)
    check_session(session)
    monkeypatch.setattr(pyspark, "__version__", version)
    monkeypatch.setattr(sys, "version_info", (3, 11, 7))
    check_pyspark()
    assert said == {}


@pytest.mark.parametrize("version", ["3.6.0", "4.4.0", "4.10.0", "5.1.0", "vendor"])
def test_a_spark_that_is_not_known_is_refused_with_those_that_are_and_a_way_to_run_it(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = "penstock is tested with Spark 3.5, 4.0, 4.1, 4.2 and 4.3, and "
    session: Any = SimpleNamespace(version=version)
    with pytest.raises(UnknownSparkError) as raised:
        check_session(session)
    assert raised.value.message == f"{known}the SparkSession runs Spark {version}."

    monkeypatch.setattr(pyspark, "__version__", version)
    with pytest.raises(UnknownSparkError) as raised:
        executor_for("spark")
    assert raised.value.message == f"{known}pyspark {version} is installed."
    hint = str(raised.value.hint)
    assert "pip install 'penstock[spark]' 'pyspark[sql]==4.3.*'" in hint
    assert "PENSTOCK_UNTESTED_SPARK to 1" in hint

    monkeypatch.delattr(pyspark, "SparkContext")
    with pytest.raises(UnknownSparkError) as raised:
        executor_for("spark")
    assert "pip install 'penstock[connect]' 'pyspark-client==4.3.*'" in str(raised.value.hint)


@pytest.mark.parametrize("version", ["5.1.0", "vendor"])
def test_it_runs_all_the_same_where_the_environment_says_so_and_is_remarked_on_once(
    version: str,
    monkeypatch: pytest.MonkeyPatch,
    installed: dict[str, str],
    said: dict[str, str],
) -> None:
    monkeypatch.setenv("PENSTOCK_UNTESTED_SPARK", "1")
    monkeypatch.setattr(pyspark, "__version__", version)
    session: Any = SimpleNamespace(version=version)

    check_pyspark()
    check_session(session)

    assert list(said.values()) == [
        f"penstock is tested with Spark 3.5, 4.0, 4.1, 4.2 and 4.3, and not with Spark {version}."
    ]
    monkeypatch.setenv("PENSTOCK_UNTESTED_SPARK", "0")
    with pytest.raises(UnknownSparkError):
        check_pyspark()


def test_what_each_known_version_needs_is_known() -> None:
    assert tuple(PYTHON) == tuple(PANDAS) == KNOWN


@pytest.mark.parametrize(
    ("spark", "package", "version", "stands"),
    [
        ("3.5.9", "pandas", "3.0.1", ">=1,<3"),
        ("4.0.5", "pyarrow", "15.0.2", ">=18"),
        ("4.1.4", "pandas", "2.1.0", ">=2.2,<3"),
        ("4.2.1", "pyarrow", "17.0.0", ">=18"),
        ("4.3.0", "pandas", "2.1.4", ">=2.2"),
    ],
)
def test_a_package_that_does_not_go_with_a_spark_is_refused_with_what_does(
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
        f"With Spark {spark[:3]}, penstock works with {package} {stands}, and this is {package} {version}."
    )
    assert f"pip install '{package}{stands}'" in str(raised.value.hint)


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_a_package_that_is_missing_is_named(
    package: str, monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]
) -> None:
    monkeypatch.setattr(checks, "find_spec", lambda name: None if name == package else object())

    with pytest.raises(SparkPackageError, match=f"penstock needs {package}, and there is none"):
        check_pyspark()

    installed[package] = "2.3.3" if package == "pandas" else "18.0.0"
    check_pyspark()


@pytest.mark.parametrize(
    ("spark", "python", "stands"),
    [("3.5.9", (3, 13, 1), ">=3.11,<3.13"), ("4.0.5", (3, 14, 0), ">=3.11,<3.14")],
)
def test_a_python_that_a_spark_cannot_run_on_is_refused(
    spark: str,
    python: tuple[int, ...],
    stands: str,
    monkeypatch: pytest.MonkeyPatch,
    installed: dict[str, str],
) -> None:
    monkeypatch.setattr(pyspark, "__version__", spark)
    monkeypatch.setattr(sys, "version_info", python)

    with pytest.raises(SparkPackageError) as raised:
        check_pyspark()
    assert raised.value.message == (
        f"With Spark {spark[:3]}, penstock works with Python {stands}, and this is Python 3.{python[1]}."
    )
    assert "pip install 'pyspark==4.3.*'" in str(raised.value.hint)


def test_a_newer_spark_is_not_suggested_for_a_python_that_none_is_known_to_run_on(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]
) -> None:
    monkeypatch.setattr(pyspark, "__version__", f"{NEWEST[0]}.{NEWEST[1]}.0")
    monkeypatch.setattr(sys, "version_info", PYTHON[NEWEST].below)

    with pytest.raises(SparkPackageError) as raised:
        check_pyspark()
    assert raised.value.hint == "Run the program with such a Python."


def test_a_python_without_distutils_is_refused_by_a_spark_that_needs_it(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    monkeypatch.setattr(sys, "version_info", (3, 12, 1))
    installed |= {"pandas": "2.3.3", "pyarrow": "25.0.1"}
    has_it: dict[str, object] = {"distutils": object()}
    monkeypatch.setattr(checks, "find_spec", has_it.get)
    check_pyspark()
    has_it.clear()

    with pytest.raises(SparkPackageError, match=r"needs distutils.* 3\.12 ") as raised:
        check_pyspark()
    assert "pip install setuptools" in str(raised.value.hint)

    monkeypatch.setattr(pyspark, "__version__", "4.0.1")
    check_pyspark()


@pytest.mark.parametrize(
    ("spark", "way_out"), [("3.5.9", "The extra spark35"), ("4.0.5", "pip install 'numpy>=2'")]
)
def test_a_pyarrow_that_cannot_be_imported_is_refused_before_it_is(
    spark: str, way_out: str, monkeypatch: pytest.MonkeyPatch, installed: dict[str, str]
) -> None:
    monkeypatch.setattr(pyspark, "__version__", spark)
    monkeypatch.setattr(sys, "version_info", (3, 11, 7))
    installed |= {"numpy": "1.26.4", "pyarrow": "25.0.1"}
    check_pyspark()
    # What is suggested in place of one that is too old can be imported as well.
    for version in ("26.0.1", "15.0.2"):
        installed["pyarrow"] = version
        with pytest.raises(SparkPackageError, match=r"and NumPy 1\.26\.4, .* >=18,<26,") as raised:
            check_pyspark()
        hint = str(raised.value.hint)
        assert hint.startswith("Run: pip install 'pyarrow>=18,<26'.")
        assert way_out in hint

    installed |= {"numpy": "2.0.2", "pyarrow": "26.0.1"}
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
