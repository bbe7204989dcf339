"""Pictures of jobs, made up: of one that runs, of one with many operators, and of one that an attacker has filled."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
from collections.abc import Sequence

from penstock.common.job_status import JobStatus
from penstock.executors.driver.reports.job_view import (
    EpochView,
    ExceptionView,
    Figures,
    InputView,
    JobView,
    OperatorView,
    SampleView,
    SavepointView,
    SubtaskView,
    TaskTimes,
    VertexView,
)

STARTED = 1_790_000_000_000
JOB = "a1" * 16

TRACEBACK = """Traceback (most recent call last):
  File "clicks.py", line 41, in enrich
    price = prices[click.article]
            ~~~~~~^^^^^^^^^^^^^^^
KeyError: 'article-77'"""


def identity(name: str) -> str:
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()


def make_chain(
    names: Sequence[str],
    *inputs: tuple[VertexView, str],
    busy: float = 0.3,
    waits: float = 0.0,
    rate: float = 1000.0,
    parallelism: int = 4,
    watermark: int | None = None,
    state: int = 0,
    late: int = 0,
    seconds: int = 100,
) -> VertexView:
    """A chain whose operators stand one behind the other, and whose last one has the state."""
    figures = [
        Figures(
            records_in=int(rate * seconds),
            records_out=int(rate * seconds),
            input_watermark=watermark,
            output_watermark=watermark,
            state_size=state if name == names[-1] else 0,
            timers=state // 1000 if name == names[-1] else 0,
            late_records=late if name == names[-1] else 0,
        )
        for name in names
    ]
    last = len(names) - 1
    operators = tuple(
        OperatorView(
            identity(name),
            name,
            None,
            () if at == last else (at + 1,),
            figures[at],
            rate,
            1 / (at + 2),
        )
        for at, name in enumerate(names)
    )
    times = TaskTimes(
        busy, waits, 1 - busy - waits, rate, rate, 10_000 * seconds, 9_000 * seconds, measured=10.0
    )
    subtasks = tuple(
        subtask(index, times, figures, parallelism, state) for index in range(parallelism)
    )
    edges = tuple(
        InputView(vertex.vertex_id, how, vertex.operators[-1].operator_id) for vertex, how in inputs
    )
    return VertexView(
        identity(names[0]),
        " -> ".join(names),
        parallelism,
        128,
        operators,
        edges,
        subtasks,
        times,
        watermark,
        state,
    )


def subtask(
    index: int, times: TaskTimes, figures: Sequence[Figures], of: int, state: int
) -> SubtaskView:
    busy = min(0.98, times.busy * (0.7 + 0.6 * (index % 4) / 3))
    waits = min(times.back_pressured, 1 - busy)
    share = tuple(
        dataclasses.replace(
            each, records_in=each.records_in // of, records_out=each.records_out // of
        )
        for each in figures
    )
    own = dataclasses.replace(
        times,
        busy=busy,
        back_pressured=waits,
        idle=1 - busy - waits,
        records_in_per_second=times.records_in_per_second / of,
        records_out_per_second=times.records_out_per_second / of,
    )
    return SubtaskView(index, own, share, state // of)


def epochs(last: int) -> tuple[EpochView, ...]:
    """The last hundred up to a number: one of them failed, one was a savepoint, and publishing takes its time."""
    found = []
    for number in range(max(1, last - 99), last + 1):
        running = 640 + int(180 * math.sin(number / 4)) + 37 * (number % 5)
        failed = number % 60 == 41
        epoch = EpochView(
            number=number,
            started=STARTED + number * 1000,
            duration=running + 190,
            planning=60 + number % 7 * 4,
            running=running,
            committing=70,
            publishing=None if failed else 90 + 25 * (number % 3),
            records_in=1550 + 31 * (number % 11),
            state_size=41_000_000 + 90_000 * number,
            changed_size=1_200_000 + 40_000 * (number % 9),
            location=None if failed else f"s3://bank/checkpoints/clicks/epoch-{number}",
            is_savepoint=number % 60 == 20,
            failure="KeyError: 'article-77'" if failed else None,
        )
        found.append(epoch)
    return tuple(found)


def clicks(second: int = 300) -> JobView:
    """A job that joins clicks and orders, of which the orders hold the watermark back."""
    at = STARTED + second * 1000
    wave = 1 + 0.2 * math.sin(second / 5)
    mark = at - 192_000
    chain = functools.partial(make_chain, seconds=second, watermark=mark)
    clicked = chain(
        ["Source: clicks", "Parse", "Only humans"],
        busy=0.35,
        waits=0.45,
        rate=1557 * wave,
        watermark=at - 2400,
    )
    ordered = chain(["Source: orders", "Parse order"], busy=0.08, waits=0.1, rate=212 * wave)
    joined = chain(
        ["Interval join", "Ask prices"],
        (clicked, "HASH"),
        (ordered, "HASH"),
        busy=0.94,
        state=33_400_000,
        rate=1769 * wave,
    )
    counted = chain(
        ["Count per user", "Format"],
        (joined, "HASH"),
        busy=0.41,
        state=8_100_000,
        late=1204,
        rate=1210 * wave,
    )
    alerts = chain(
        ["Alerts", "Sink: alerts"],
        (counted, "REBALANCE"),
        busy=0.03,
        parallelism=1,
        rate=35 * wave,
    )
    archive = chain(
        ["Sink: archive"], (counted, "FORWARD"), (clicked, "BROADCAST"), busy=0.12, rate=900 * wave
    )
    shown = epochs(second)
    return JobView(
        job_id=JOB,
        name="clicks per user",
        status=JobStatus.RUNNING,
        phase="running",
        at=at,
        started=STARTED,
        status_times={JobStatus.RUNNING: STARTED + 4000},
        parallelism=4,
        configuration={
            "execution.checkpointing.interval": "1 s",
            "execution.checkpointing.savepoint-dir": "s3://bank/savepoints",
            "parallelism.default": "4",
            "rest.port": "8081",
            "rest.token": "******",
            "state.backend.type": "rocksdb",
        },
        checkpoint_location="s3://bank/checkpoints/clicks",
        checkpoint_interval=1000,
        vertices=(clicked, ordered, joined, counted, alerts, archive),
        epochs=shown,
        epochs_completed=second - 5,
        epochs_failed=5,
        restored_epoch=12,
        restored_from="s3://bank/checkpoints/clicks/epoch-12",
        restarts=5,
        savepoints=(
            SavepointView(
                "s3://bank/savepoints/savepoint-a1a1a1-1", 260, at - 40_000, 1900, 40_000
            ),
        ),
        exceptions=(
            ExceptionView(
                happened=at - 40_000,
                name="KeyError",
                message="'article-77'",
                traceback=TRACEBACK,
                operator="Ask prices",
                vertex_id=joined.vertex_id,
                record="Click(user='u-12', article='article-77', at=1789999982112)",
                epoch=281,
                times=3,
            ),
        ),
        samples=(
            SampleView(
                "late",
                "Count per user",
                "('u-7', 4)",
                "its window ended 12 s before the watermark",
                at - 9000,
            ),
            SampleView(
                "failed", "Ask prices", "Click(user='u-9', article=None)", "TimeoutError", at - 9900
            ),
        ),
        records_in=1769 * second,
        records_per_second=1769 * wave,
        watermark=mark,
        watermark_lag=192_000,
        holding_back=("orders",),
        held_since=at - 180_000,
        late_records=1204,
        failed_records=3,
        filtered_records=77_312,
        state_size=41_500_000,
        checkpoint_size=1_240_000,
        checkpoint_duration=880,
        spark_url="http://127.0.0.1:4040",
    )


def many(second: int = 300, *, chains: int = 25, parallelism: int = 64) -> JobView:
    """A job with twice as many operators as chains, and so many subtasks in each."""
    made: list[VertexView] = []
    rate = 1000.0 + second % 17 * 100
    for number in range(chains):
        inputs = (
            []
            if number < 3
            else [(made[number * 2 // 3 - 1], "HASH"), (made[number - 3], "REBALANCE")]
        )
        names = [f"Step {number} a", f"Step {number} b"]
        made.append(
            make_chain(
                names,
                *inputs,
                busy=(second + number) % 10 / 10,
                rate=rate,
                parallelism=parallelism,
                watermark=STARTED + second * 1000,
                state=1_000_000,
            )
        )
    return dataclasses.replace(
        clicks(second), name="many chains", vertices=tuple(made), holding_back=()
    )


ATTACK = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


def attacked(second: int = 300) -> JobView:
    """A job whose every text is a script."""
    job = clicks(second)
    vertices = (make_chain([ATTACK, ATTACK + "2"], busy=0.95, late=3),)
    exception = ExceptionView(job.at, ATTACK, ATTACK, ATTACK, ATTACK, None, ATTACK, 3, 2)
    epoch = dataclasses.replace(job.epochs[-1], failure=ATTACK, location=ATTACK)
    return dataclasses.replace(
        job, name=ATTACK, phase=ATTACK, vertices=vertices, exceptions=(exception,), epochs=(epoch,),
        samples=(SampleView("late", ATTACK, ATTACK, ATTACK, job.at),), holding_back=(ATTACK,),
        configuration={ATTACK: ATTACK}, checkpoint_location=ATTACK, restored_from=ATTACK,
        spark_url="javascript:document.title='taken'",
    )  # fmt: skip
