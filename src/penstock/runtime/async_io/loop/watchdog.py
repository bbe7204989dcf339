"""Finds functions that block the event loop."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections import deque
from types import FrameType
from typing import Final

_SECONDS_A_LOOK: Final = 0.25
"""How often the loop is looked after, and how long it may take to answer."""

_SECONDS_TO_CONFIRM: Final = 0.05
"""After how long it is looked again, before a function is named."""

_OWN = ("asyncio", "concurrent", "penstock", "selectors", "threading")


def watch(loop: asyncio.AbstractEventLoop, thread: threading.Thread, reports: deque[str]) -> None:
    """Look after a loop, in a thread of its own, for as long as the loop's thread lives.

    Args:
        loop: The loop.
        thread: The thread that it runs in.
        reports: Takes, once for each place, the text that tells where the loop was blocked.
    """
    threading.Thread(
        target=_watch, args=(loop, thread, reports), name="penstock-watchdog", daemon=True
    ).start()


def _watch(loop: asyncio.AbstractEventLoop, thread: threading.Thread, reports: deque[str]) -> None:
    told: set[tuple[str, int]] = set()
    pause = threading.Event()
    while thread.is_alive() and not loop.is_closed():
        answered = threading.Event()
        loop.call_soon_threadsafe(answered.set)
        while not answered.wait(_SECONDS_A_LOOK) and thread.is_alive():
            _report(loop, _blocking(thread, answered), reports, told)
        pause.wait(_SECONDS_A_LOOK)


def _blocking(thread: threading.Thread, answered: threading.Event) -> list[traceback.FrameSummary]:
    """Return the stack of the user's function that keeps the loop from answering; empty if none does.

    Many short calls in one turn of the loop do that too, but none of them is found twice.
    """
    before = _users_frames(thread)
    if not before or answered.wait(_SECONDS_TO_CONFIRM):
        return []
    found = _users_frames(thread)
    if not found or found[0][0] is not before[0][0]:
        return []
    return list(traceback.StackSummary.extract(iter(found)))


def _report(
    loop: asyncio.AbstractEventLoop,
    stack: list[traceback.FrameSummary],
    reports: deque[str],
    told: set[tuple[str, int]],
) -> None:
    if not stack:
        return
    place = stack[-1].filename, stack[-1].lineno or 0
    if place in told:
        return
    told.add(place)
    task = asyncio.current_task(loop)
    where = "" if task is None else f" of operator {task.get_name()!r}"
    reports.append(
        f"A function{where} has blocked the event loop for {_SECONDS_A_LOOK} seconds, and with it "
        "every other call in this process:\n"
        + "".join(traceback.format_list(stack))
        + "\nHint: Await what takes time, or give a plain function in place of one that is async: it "
        "runs in a pool of threads."
    )


def _users_frames(thread: threading.Thread) -> list[tuple[FrameType, int]]:
    """Return a thread's frames and lines from the first one on that is neither asyncio's nor penstock's."""
    innermost = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - there is no other way
    walked = [] if innermost is None else list(traceback.walk_stack(innermost))[::-1]
    for index, (frame, _) in enumerate(walked):
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _OWN:
            return walked[index:]
    return []
