"""Finds jobs: at an address, or at the ports of this machine where drivers usually are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from penstock.cli.jobs.found_job import FoundJob
from penstock.cli.jobs.hosted_jobs import hosted_job, noted_jobs
from penstock.cli.jobs.port_owners import is_own_port
from penstock.cli.jobs.rest_client import RestClient
from penstock.cli.layout import harmless
from penstock.common.plain_text import fitted, one_line
from penstock.errors import JobsNotReachableError, JobsRefusedError, UnknownJobError

PORTS: Final = range(8081, 8101)
"""Where drivers are usually: the first that is free from 8081 on."""
_SECONDS_TO_LOOK: Final = 2.0
_MOST_SHOWN: Final = 4
_NOT_SEEN: Final = "Its jobs are not among these without --token."
_LONGEST_NAME: Final = 40


def found_jobs(
    address: str | None, token: str | None, location: str | None = None
) -> list[FoundJob]:
    """Return the jobs at an address, the last one first; what refuses while others answer is said on standard error.

    Args:
        address: The address. Default: those at the ports 8081 to 8100 of this machine, and those that were started from
            it on servers of Spark Connect.
        token: What `rest.token` is set to there. Without an address it is sent to programs of this user alone.
        location: The checkpoint location of a job on a server of Spark Connect, which is the address then. Default: none.

    Raises:
        JobsNotReachableError: If nothing answers.
        JobsRefusedError: If a token is missed.
        NoRunningJobError: If no job runs at the location.
    """
    if location is not None:
        return [hosted_job(address, location)]
    if address is not None and address.startswith("sc://"):
        raise JobsNotReachableError(
            f"{address} is a server of Spark Connect, which knows no jobs of penstock by itself.",
            hint="Name the checkpoint location of the job too, with --checkpoint-dir.",
        )
    if address is not None:
        return _jobs_of(RestClient(address, token))
    found: list[FoundJob] = []
    answers = 0
    refused: list[JobsRefusedError] = []
    for port in PORTS:
        try:
            own = token if is_own_port(port) else None
            found += _jobs_of(RestClient(f"http://127.0.0.1:{port}", own, _SECONDS_TO_LOOK))
            answers += 1
        except JobsNotReachableError:
            continue
        except JobsRefusedError as error:
            refused.append(error)
    noted = noted_jobs({job.job_id for job in found})
    answers += len(noted)
    found += noted
    if refused and not answers:
        raise refused[-1]
    if not answers:
        raise JobsNotReachableError(
            f"No job is seen at the ports {PORTS[0]} to {PORTS[-1]} of this machine.",
            hint="A job says where it is seen when it starts. Name that place with --address.",
        )
    for refusal in refused:
        if refusal.hint is not None:
            sys.stderr.write(f"{harmless(refusal.message)} {_NOT_SEEN}\n")
    # What `penstock jobs` shows at one of the ports is found twice.
    return list({job.job_id: job for job in reversed(found)}.values())[::-1]


def _jobs_of(client: RestClient) -> list[FoundJob]:
    answer = client("/jobs/overview")
    jobs = answer.get("jobs") if isinstance(answer, dict) else None
    if not isinstance(jobs, list):
        raise JobsNotReachableError(f"What answers at {client.address} is no REST API of jobs.")
    return [FoundJob(client, overview) for overview in jobs]


def find_job(
    wanted: str | None, address: str | None, token: str | None, location: str | None = None
) -> FoundJob:
    """Return the job that is meant: by its id, its name, or the beginning of one of them.

    Of several with one name, or beginning, the one that runs is meant, if there is one. Nothing need be said of the one
    at a location.

    Raises:
        UnknownJobError: If there is none, or if there are several.
        JobsNotReachableError: If nothing answers.
        JobsRefusedError: If a token is missed.
    """
    if wanted is None and location is None and not (address or "").startswith("sc://"):
        raise UnknownJobError(
            "No job is named.", hint="Name one: penstock list shows those that run."
        )
    jobs = found_jobs(address, token, location)
    if wanted is None:
        return jobs[0]
    meant = [job for job in jobs if job.job_id == wanted]
    meant = meant or [job for job in jobs if job.overview["name"] == wanted]
    meant = meant or [
        job for job in jobs if wanted and _is_beginning(wanted, job.job_id, job.overview["name"])
    ]
    if len(meant) > 1:
        meant = [job for job in meant if not job.has_ended] or meant
    if len(meant) == 1:
        return meant[0]
    what = f"Several jobs are meant by {wanted!r}." if meant else f"There is no job {wanted!r}."
    raise UnknownJobError(what, hint=_known(meant or jobs))


def _known(jobs: Sequence[FoundJob]) -> str:
    """Return which jobs there are, in a sentence: a few of them, those that run first."""
    ordered = sorted(jobs, key=lambda job: job.has_ended)
    shown = [
        f"{job.job_id} ({fitted(one_line(job.overview['name']), _LONGEST_NAME)}, {job.overview['state']})"
        for job in ordered[:_MOST_SHOWN]
    ]
    if more := len(jobs) - len(shown):
        shown.append(f"and {more} more: penstock list --all shows them")
    return f"There {'is' if len(jobs) == 1 else 'are'} {', '.join(shown) or 'none'}."


def _is_beginning(text: str, *names: str) -> bool:
    return any(name.startswith(text) for name in names)
