from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from penstock.common.cost import TASK_COSTS, Cost
from penstock.common.job_profile import EpochProfile, JobProfile, ProfileRow

PROFILE = JobProfile(
    operators=(
        ProfileRow("Source: numbers", {Cost.FRAMEWORK: 150.0}, "a", 1),
        ProfileRow("Map <1>", {Cost.USER: 1800.0, Cost.SERIALIZATION: 20.5}, "b", 1),
    ),
    levels=(ProfileRow("tasks of level 0", {Cost.EXCHANGE: 9.5}),),
    driver={Cost.PLANNING: 20.0, Cost.COMMIT: 0.0},
    epochs=tuple(
        EpochProfile(number, {Cost.USER: float(number), Cost.PLANNING: 0.5})
        for number in range(200)
    ),
    epoch_count=250,
    tasks=4,
    samples=1234,
)


def test_costs_add_up() -> None:
    assert PROFILE.total == 2000.0
    assert PROFILE.by_cost() == {
        Cost.USER: 1800.0,
        Cost.FRAMEWORK: 150.0,
        Cost.SERIALIZATION: 20.5,
        Cost.EXCHANGE: 9.5,
        Cost.PLANNING: 20.0,
    }
    assert [cost for cost in Cost if cost.is_in_tasks] == list(TASK_COSTS)


def test_epochs() -> None:
    assert PROFILE.epoch_median == 100.0
    assert PROFILE.epoch_p99 == 197.5
    assert PROFILE.slowest_epoch == PROFILE.epochs[-1]


def test_an_empty_profile() -> None:
    empty = JobProfile(())
    assert (empty.total, empty.epoch_median, empty.epoch_p99, empty.slowest_epoch) == (
        0,
        0,
        0,
        None,
    )
    assert str(empty).startswith("Where 0 ms went: 0 epochs")
    ElementTree.fromstring(empty.to_svg())


def test_the_table() -> None:
    assert str(PROFILE).splitlines() == [
        "Where 2,000 ms went: 250 epochs, 1,234 samples of 4 tasks",
        "",
        "                        ms      %  user function  framework  serialization  exchange",
        "[1] Source: numbers    150    7.5                       150",
        "[1] Map <1>          1,820   91.0          1,800                      20.5",
        "tasks of level 0       9.5    0.5                                                9.5",
        "planning              20.0    1.0",
        "────────────────────────────────────────────────────────────────────────────────────",
        "total                2,000  100.0          1,800        150           20.5       9.5",
        "",
        "An epoch: median 100 ms, 99 % within 198 ms",
        "The slowest, epoch 199: 200 ms (user function 199, planning 0.5)",
    ]


def test_long_names_are_cut() -> None:
    profile = JobProfile((ProfileRow("x" * 50, {Cost.USER: 1.0}, "a", 1),))
    assert f"[1] {'x' * 39}… " in str(profile)


def test_the_picture() -> None:
    picture = ElementTree.fromstring(PROFILE.to_svg())
    texts = [
        "".join(element.itertext()) for element in picture.iter() if element.tag.endswith("text")
    ]
    assert "[1] Map <1>" in texts
    assert "1,820.5 ms, 91.0 %" in texts
    assert PROFILE._repr_html_() == PROFILE.to_svg()


def test_as_plain_data() -> None:
    plain = json.loads(json.dumps(PROFILE.to_dict()))
    assert plain["total"] == 2000.0
    assert plain["operators"][1]["times"] == {"user": 1800.0, "serialization": 20.5}
    assert plain["driver"] == {"planning": 20.0, "commit": 0.0}
    assert plain["epochs"][3] == {
        "number": 3,
        "total": 3.5,
        "times": {"user": 3.0, "planning": 0.5},
    }


@pytest.mark.parametrize("count", [1, 99, 100, 101, 1000])
def test_ninety_nine_of_a_hundred(count: int) -> None:
    profile = JobProfile((), epochs=tuple(EpochProfile(n, {Cost.USER: n}) for n in range(count)))
    within = sum(epoch.total <= profile.epoch_p99 for epoch in profile.epochs)
    assert within >= 0.99 * count
    assert within - 1 < 0.99 * count
