from __future__ import annotations

from penstock.common.job_status import JobStatus


def test_has_the_numbers_of_pyflink() -> None:
    assert [(status.name, status.value) for status in JobStatus] == [
        ("CREATED", 0),
        ("RUNNING", 1),
        ("FAILING", 2),
        ("FAILED", 3),
        ("CANCELLING", 4),
        ("CANCELED", 5),
        ("FINISHED", 6),
        ("RESTARTING", 7),
        ("SUSPENDED", 8),
        ("RECONCILING", 9),
    ]


def test_knows_which_states_are_final() -> None:
    final = {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED}

    assert {status for status in JobStatus if status.is_globally_terminal_state()} == final
    assert {status for status in JobStatus if status.is_terminal_state()} == final | {
        JobStatus.SUSPENDED
    }
