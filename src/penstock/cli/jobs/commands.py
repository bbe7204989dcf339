"""`penstock list`, `show`, `stop`, `savepoint` and `cancel`."""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any, Final

from penstock.cli.jobs.found_job import ENDED, FoundJob
from penstock.cli.jobs.found_jobs import find_job, found_jobs
from penstock.cli.jobs.shown_job import shown_job
from penstock.cli.layout import moment, write, write_table
from penstock.common.plain_text import span_text
from penstock.errors import JobsRefusedError

_TOKEN: Final = "PENSTOCK_TOKEN"  # noqa: S105 - the name of a variable
_SECONDS_BETWEEN: Final = 0.1
_NOT_DONE: Final = 1


def list_jobs(options: argparse.Namespace) -> int:
    """List the jobs that run, or all of them."""
    jobs = found_jobs(options.address, _token(options), options.checkpoint_dir)
    shown = [job for job in jobs if options.all or not job.has_ended]
    if options.json:
        _write_json([{**job.overview, "address": job.client.address} for job in shown])
    elif shown:
        write_table(
            ["job", "name", "state", "since (UTC)", "for", "at"],
            [
                (
                    job.job_id,
                    job.overview["name"],
                    job.overview["state"],
                    moment(job.overview["start-time"]),
                    span_text(job.overview["duration"]),
                    job.client.address,
                )
                for job in shown
            ],
        )
    else:
        write("No job is running.")
    return 0


def show_job(options: argparse.Namespace) -> int:
    """Show what a job does, how far it is behind, and why."""
    job = _job(options)
    view = job.client(f"/jobs/{job.job_id}/view")
    if options.json:
        _write_json(view)
        return 0
    for line in shown_job(view, job.page):
        write(line)
    return 0


def stop_job(options: argparse.Namespace) -> int:
    """Stop a job with a savepoint, and say where that is."""
    job = _job(options)
    body = {"targetDirectory": _place(options.to), "drain": options.drain}
    return _with_savepoint(job, "stop", body, options)


def save_job(options: argparse.Namespace) -> int:
    """Take a savepoint of a job, and say where it is."""
    job = _job(options)
    body = {"target-directory": _place(options.to), "cancel-job": False}
    return _with_savepoint(job, "savepoints", body, options)


def _place(text: str | None) -> str | None:
    """Return a folder as the driver knows it, whose own folder is another than that of whoever types it."""
    return text if not text or ":/" in text else os.path.abspath(text)


def _with_savepoint(
    job: FoundJob, route: str, body: dict[str, Any], options: argparse.Namespace
) -> int:
    trigger = job.client(f"/jobs/{job.job_id}/{route}", "POST", body)["request-id"]
    path = f"/jobs/{job.job_id}/savepoints/{trigger}"
    while (answer := job.client(path))["status"]["id"] != "COMPLETED":
        time.sleep(_SECONDS_BETWEEN)
    operation = answer["operation"]
    if "failure-cause" in operation:
        raise JobsRefusedError(operation["failure-cause"]["stack-trace"])
    if options.json:
        _write_json({"location": operation["location"]})
    else:
        write(operation["location"])
    return 0


def cancel_job(options: argparse.Namespace) -> int:
    """Cancel a job, and wait until it has ended.

    Returns:
        1 if it has ended otherwise.
    """
    job = _job(options)
    job.client(f"/jobs/{job.job_id}?mode=cancel", "PATCH")
    while (state := job.client(f"/jobs/{job.job_id}/status")["status"]) not in ENDED:
        time.sleep(_SECONDS_BETWEEN)
    if options.json:
        _write_json({"state": state})
    else:
        write(f"{job.overview['name']}: {state}")
    return 0 if state == "CANCELED" else _NOT_DONE


def _job(options: argparse.Namespace) -> FoundJob:
    return find_job(options.job, options.address, _token(options), options.checkpoint_dir)


def _token(options: argparse.Namespace) -> str | None:
    return options.token or os.environ.get(_TOKEN)


def _write_json(plain: Any) -> None:
    write(json.dumps(plain, indent=2, ensure_ascii=False))


def add_commands(subjects: Any) -> None:
    """Add the commands to those of `penstock`.

    Args:
        subjects: Where to.
    """
    listing = subjects.add_parser("list", help="list the jobs that run")
    listing.add_argument("-a", "--all", action="store_true", help="those that have ended too")
    listing.set_defaults(run=list_jobs)
    showing = subjects.add_parser("show", help="show what a job does, and how far it is behind")
    showing.set_defaults(run=show_job)
    stopping = subjects.add_parser("stop", help="stop a job with a savepoint")
    stopping.set_defaults(run=stop_job)
    stopping.add_argument(
        "--drain",
        action="store_true",
        help="close all windows and fire all timers before: for a job that is not to go on",
    )
    saving = subjects.add_parser("savepoint", help="take a savepoint of a job, which goes on")
    saving.set_defaults(run=save_job)
    cancelling = subjects.add_parser(
        "cancel", help="end a job at once: what is not committed is given up"
    )
    cancelling.set_defaults(run=cancel_job)
    for command in (showing, stopping, saving, cancelling):
        command.add_argument(
            "job",
            metavar="JOB",
            nargs="?",
            help="its name, its id, or how that begins; not needed with --checkpoint-dir",
        )
    for command in (stopping, saving):
        command.add_argument(
            "--to",
            metavar="DIR",
            help="the folder or URL in which the savepoint gets a folder; default: "
            "execution.checkpointing.savepoint-dir of the job",
        )
    for command in (listing, showing, stopping, saving, cancelling):
        command.add_argument(
            "--address",
            metavar="HOST:PORT",
            help="where the job is seen; default: ports 8081 to 8100 of this machine, and servers of Spark Connect on "
            "which jobs were started from it",
        )
        command.add_argument(
            "--checkpoint-dir",
            metavar="DIR",
            help="the checkpoint location of a job that runs on a server of Spark Connect, which --address or SPARK_REMOTE "
            "names as sc://host:15002",
        )
        command.add_argument(
            "--token", help=f"what rest.token is there; default: the variable {_TOKEN}"
        )
        command.add_argument("--json", action="store_true", help="write JSON")
