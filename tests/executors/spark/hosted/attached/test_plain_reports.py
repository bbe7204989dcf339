"""Reports are read by whoever does not know the classes of the job, and runs no code that they name."""

from __future__ import annotations

import os
import pickle
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.executors.driver.reports import views

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.common.job_status import JobStatus
from penstock.common.running_job import JobProgress
from penstock.errors import JobFailedError, PenstockError, UserFunctionError
from penstock.executors.driver.epoch_feed import EpochResult
from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.spark.hosted.attached.plain_reports import plain, plain_report
from penstock.executors.spark.hosted.reports import Answer, Report
from penstock.runtime import job_pickle


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the job's."""
    found = ModuleType("shop")
    code = """
class Sale:
    def __init__(self, amount):
        self.amount = amount

class Basket(list):
    pass

class ShopClosedError(Exception):
    pass
"""
    exec(code, vars(found))
    monkeypatch.setitem(sys.modules, "shop", found)
    return found


def test_what_penstock_reports_is_whole() -> None:
    progress = JobProgress(JobStatus.RUNNING, operators={"a": {"user": Counter(a=1)}})
    error = UserFunctionError("a wrong word", hint="Give another.")
    error.operator = "clean"
    told = Report((), progress, views.view(), {"1": Answer("there", error)})
    found = plain_report(pickle.dumps(told))
    assert (found.progress, found.view) == (told.progress, told.view)
    (answer,) = found.answers.values()
    assert type(answer.error) is UserFunctionError
    assert (str(answer.error), answer.error.operator) == (str(error), "clean")


def test_values_of_the_jobs_own_classes_are_passed_over(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sales = [shop.Sale(3), shop.Basket([1, 2]), {1, 2}]
    news = EpochResult(EpochRecord(3), collected=[("1", sales)])
    content = pickle.dumps(Report((news,), view=views.view()))
    monkeypatch.delitem(sys.modules, "shop")
    found = plain_report(content)
    assert found.view == views.view()
    (told,) = found.news
    assert isinstance(told, EpochResult)
    assert told.collected[0][1][2] == {1, 2}


class Attribute:
    """Pickled as early releases of Python 3.11 pickle members of an Enum."""

    def __init__(self, of: type, name: str) -> None:
        self._parts = of, name

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, self._parts


def test_of_attributes_only_members_of_an_enum_are_taken() -> None:
    assert plain(pickle.dumps(Attribute(JobStatus, "RUNNING"))) is JobStatus.RUNNING
    found = plain(pickle.dumps(Attribute(JobView, "__init__")))
    assert (type(found).__module__, type(found).__name__) == ("builtins", "getattr")


def test_an_error_of_the_jobs_own_is_raised_by_its_name(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = pickle.dumps(Report(error=shop.ShopClosedError("on Sunday")))
    monkeypatch.delitem(sys.modules, "shop")
    error = plain_report(content).error
    assert isinstance(error, JobFailedError)
    assert str(error) == "shop.ShopClosedError: on Sunday"


class Calls:
    """Is pickled as a call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> Any:
        return self._call


@pytest.mark.parametrize(
    "call",
    [
        lambda place: Calls(os.mkdir, place),
        lambda place: Calls(eval, f"__import__('os').mkdir({place!r})"),
        lambda place: Calls(job_pickle.load_code, pickle.dumps(Calls(os.mkdir, place))),
    ],
)
def test_nothing_is_called_that_a_report_names(tmp_path: Path, call: Any) -> None:
    place = str(tmp_path / "made")
    error = plain_report(pickle.dumps(Report(error=call(place)))).error
    assert isinstance(error, PenstockError)
    assert not Path(place).exists()
