from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.subtasks import Ready

from penstock.runtime.context import RuntimeContext
from penstock.runtime.exchange.elements import Block
from penstock.runtime.gauges import Reading
from penstock.runtime.operators.function_operator import MapOperator


class Counting:
    """A function that counts, as a user's may."""

    def open(self, context: RuntimeContext) -> None:
        self._hits = context.get_metrics_group().counter("hits")
        self._hits.inc(10)

    def map(self, value: Any) -> Any:
        self._hits.inc()
        return value


class TestUserMetrics:
    def test_tell_what_functions_counted_in_each_epoch(self) -> None:
        ready = Ready(MapOperator(Counting()))

        assert ready.epoch(Block([1, 2])).metrics[0][4] == {"hits": 12}
        assert ready.epoch(Block([1]), number=1).metrics[0][4] == {"hits": 1}

    def test_leave_out_what_was_counted_in_an_epoch_that_stopped_half_way(self) -> None:
        ready = Ready(MapOperator(Counting()))
        ready.epoch(Block([1]))
        ready.begin(1)
        ready.receive(Block([1, 2, 3]))

        assert ready.epoch(Block([1]), number=1).metrics[0][4] == {"hits": 1}

    def test_of_which_one_cannot_be_read_end_no_job(self, caplog: pytest.LogCaptureFixture) -> None:
        class Gauging:
            def open(self, context: RuntimeContext) -> None:
                context.get_metrics_group().gauge("rate", lambda: 1 // 0)
                context.get_metrics_group().gauge("size", lambda: 5)

            def map(self, value: Any) -> Any:
                return value

        report = Ready(MapOperator(Gauging())).epoch(Block([1]))

        assert report.metrics[0][4] == {"rate": Reading(None), "size": Reading(5)}
        assert "The gauge 'rate' has no value" in caplog.text
        assert "ZeroDivisionError" in caplog.text
