from __future__ import annotations

from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_id import JobID


def test_tells_job_runtime_and_metrics() -> None:
    job_id = JobID()
    result = JobExecutionResult(job_id, 1_500, {"records_in": 10})

    assert result.get_job_id() is job_id
    assert result.get_net_runtime() == 1_500
    assert result.metrics == {"records_in": 10}
    assert str(result) == f"Job {job_id} finished after 1500 ms."


def test_has_no_metrics_unless_given() -> None:
    assert JobExecutionResult(JobID(), 0).metrics == {}
