"""What Ctrl-C interrupts while a job starts is not logged; what else is logged stays."""

from __future__ import annotations

import logging

import pytest

from penstock.executors.spark.ctrl_c import interruptible_start


def log(text: str, name: str, cause: type[BaseException]) -> None:
    error = ValueError()
    error.__context__ = cause()
    logging.getLogger(name).error(text, exc_info=error)


@pytest.mark.parametrize("name", ["root", "py4j.java_gateway", "py4j.clientserver"])
def test_a_call_that_was_interrupted_is_logged_only_where_no_job_starts(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with interruptible_start():
        log("interrupted", name, KeyboardInterrupt)
        log("failed", name, OSError)
    log("interrupted later", name, KeyboardInterrupt)
    assert caplog.messages == ["failed", "interrupted later"]
