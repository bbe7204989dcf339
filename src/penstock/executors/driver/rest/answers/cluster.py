"""What is said of the process: in Flink's words a job manager, and a task manager with a slot for each core."""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock.common.job_status import JobStatus
from penstock.executors.driver.reporters.scopes import TASK_MANAGER
from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.driver.rest.answers.states import tasks_by_state

API_VERSION: Final = "2.3.0"
"""The version of Flink whose REST API this is."""
_REFRESH_MILLIS: Final = 1_000
_UNKNOWN: Final = "penstock"


def configuration_answer() -> dict[str, Any]:
    """Return what Flink's page asks for first."""
    zone = time.localtime()
    return {
        "refresh-interval": _REFRESH_MILLIS,
        "timezone-name": zone.tm_zone,
        "timezone-offset": 1000 * zone.tm_gmtoff,
        "flink-version": API_VERSION,
        "flink-revision": _UNKNOWN,
        "features": {
            "web-submit": False,
            "web-cancel": True,
            "web-rescale": False,
            "web-history": False,
        },
    }


def overview(views: Sequence[JobView]) -> dict[str, Any]:
    """Return how many jobs there are."""
    counts = Counter(view.status for view in views)
    ended = (JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED)
    running = sum(counts.values()) - sum(counts[status] for status in ended)
    slots = os.cpu_count() or 1
    return {
        "taskmanagers": 1,
        "slots-total": slots,
        "slots-available": _free_slots(views),
        "jobs-running": running,
        "jobs-finished": counts[JobStatus.FINISHED],
        "jobs-cancelled": counts[JobStatus.CANCELED],
        "jobs-failed": counts[JobStatus.FAILED],
        "flink-version": API_VERSION,
        "flink-commit": _UNKNOWN,
    }


def _free_slots(views: Sequence[JobView]) -> int:
    used = sum(view.parallelism for view in views if not view.status.is_terminal_state())
    return max(0, (os.cpu_count() or 1) - used)


def task_managers(views: Sequence[JobView]) -> dict[str, Any]:
    """Return the one task manager there is, the driver: what it does not know of its machine is 0."""
    return {"taskmanagers": [_task_manager(views)]}


def _task_manager(views: Sequence[JobView]) -> dict[str, Any]:
    cores = os.cpu_count() or 1
    running = [view for view in views if not view.status.is_terminal_state()]
    tasks = sum(tasks_by_state(view)["RUNNING"] for view in running)
    total = {
        "cpuCores": float(cores),
        "taskHeapMemory": 0,
        "taskOffHeapMemory": 0,
        "managedMemory": 0,
        "networkMemory": 0,
        "extendedResources": {},
    }
    free = _free_slots(views)
    return {
        "id": TASK_MANAGER,
        "path": f"{socket.gethostname()}/{os.getpid()}",
        "dataPort": -1,
        "jmxPort": -1,
        "timeSinceLastHeartbeat": round(1000 * time.time()),
        "slotsNumber": cores,
        "freeSlots": free,
        "assignedTasks": tasks,
        "totalResource": total,
        "freeResource": {**total, "cpuCores": float(free)},
        "hardware": {
            "cpuCores": cores,
            "physicalMemory": _physical_memory(),
            "freeMemory": 0,
            "managedMemory": 0,
        },
        "memoryConfiguration": dict.fromkeys(_MEMORY, 0),
    }


_MEMORY: Final = (
    "frameworkHeap",
    "taskHeap",
    "frameworkOffHeap",
    "taskOffHeap",
    "networkMemory",
    "managedMemory",
    "jvmMetaspace",
    "jvmOverhead",
    "totalFlinkMemory",
    "totalProcessMemory",
)


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def process_metrics(views: Sequence[JobView]) -> Mapping[str, Any]:
    """Return the metrics of the job manager."""
    found = overview(views)
    return {
        "numRunningJobs": found["jobs-running"],
        "numRegisteredTaskManagers": 1,
        "taskSlotsTotal": found["slots-total"],
        "taskSlotsAvailable": found["slots-available"],
    }
