from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, wait

import pytest

from penstock.runtime.async_io.loop.daemon_threads import DaemonThreads


@pytest.fixture
def pool() -> Iterator[DaemonThreads]:
    pool = DaemonThreads(2, "pool")
    yield pool
    pool.close()


def test_results_and_errors_come_back(pool: DaemonThreads) -> None:
    assert pool.submit(divmod, 7, 2).result(30) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 7, 0).result(30)


def test_its_threads_are_daemons_and_bounded(pool: DaemonThreads) -> None:
    together = threading.Barrier(2)

    def meet(_: int) -> threading.Thread:
        together.wait(30)
        return threading.current_thread()

    futures = [pool.submit(meet, number) for number in range(6)]
    threads = {future.result(30) for future in futures}
    assert len(threads) == 2
    assert all(thread.daemon and thread.name.startswith("pool_") for thread in threads)


def test_what_waits_is_cancelled_at_the_end_and_what_runs_ends() -> None:
    started, go_on = threading.Event(), threading.Event()

    def hang() -> threading.Thread:
        started.set()
        go_on.wait()
        return threading.current_thread()

    small = DaemonThreads(1, "small")
    running = small.submit(hang)
    waiting = small.submit(hang)
    assert started.wait(30)
    small.close()
    with pytest.raises(CancelledError):
        waiting.result(30)
    go_on.set()
    wait([running], 30)
    running.result().join(30)
    assert not running.result().is_alive()
