from __future__ import annotations

from penstock.runtime.context import RuntimeContext
from penstock.runtime.metrics import MetricGroup

METRICS = MetricGroup()
CONTEXT = RuntimeContext(
    "Map",
    subtask=1,
    parallelism=4,
    max_parallelism=256,
    attempt_number=3,
    job_parameters={"rate": "5"},
    metrics=METRICS,
)


def test_answers_under_the_names_of_pyflink() -> None:
    assert CONTEXT.get_task_name() == "Map"
    assert CONTEXT.get_index_of_this_subtask() == 1
    assert CONTEXT.get_number_of_parallel_subtasks() == 4
    assert CONTEXT.get_max_number_of_parallel_subtasks() == 256
    assert CONTEXT.get_attempt_number() == 3
    assert CONTEXT.get_task_name_with_subtasks() == "Map (2/4)"
    assert CONTEXT.get_metrics_group() is METRICS


def test_tells_job_parameters_or_their_default() -> None:
    assert CONTEXT.get_job_parameter("rate", "1") == "5"
    assert CONTEXT.get_job_parameter("speed", "1") == "1"


def test_contexts_count_apart() -> None:
    one, other = RuntimeContext("Map"), RuntimeContext("Map")
    one.get_metrics_group().counter("hits").inc()

    assert other.get_metrics_group().counter("hits").get_count() == 0
