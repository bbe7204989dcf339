from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.executors.control import SECONDS, failing, taking

from penstock.common import JobStatus, RestartStrategies, Time, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import SourceNotReadableError
from penstock.testing import local_environment


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.planned.socket_text._RETRY_SECONDS", 0.001)
    monkeypatch.setattr("penstock.executors.driver.epoch_loop._POLL_SECONDS", 0.001)


@contextmanager
def sending(*connections: list[bytes]) -> Iterator[int]:
    """A server that sends each who connects what is next, piece by piece, and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for pieces in connections:
                connection, _ = server.accept()
                with connection:
                    for piece in pieces:
                        connection.sendall(piece)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(SECONDS)


def lines(env: StreamExecutionEnvironment, port: int, *options: Any) -> list[str]:
    return list(env.socket_text_stream("127.0.0.1", port, *options).execute_and_collect())


def test_lines_come_until_the_other_side_closes() -> None:
    with sending(
        [b"to b", b"e\n\nor ", "n\xf6t".encode()[:2], "n\xf6t".encode()[2:], b"\r\nto"]
    ) as port:
        assert lines(local_environment(2), port) == ["to be", "", "or n\xf6t", "to"]


def test_another_delimiter() -> None:
    with sending([b"a\r;", b";b;\nc;"]) as port:
        assert lines(local_environment(), port, ";") == ["a\r", "", "b", "\nc"]


def test_what_is_no_utf_8_is_replaced() -> None:
    with sending([b"a\xff\n"]) as port:
        assert lines(local_environment(), port) == ["a\ufffd"]


def test_it_connects_again_as_often_as_it_is_told() -> None:
    with sending([b"1\n2"], [b"3\n"], [b"4\n"]) as port:
        assert lines(local_environment(), port, "\n", 2) == ["1", "2", "3", "4"]


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(SourceNotReadableError, match=f"The socket 127.0.0.1:{port} cannot be read"):
        lines(local_environment(), port, "\n", 2)


def test_a_restart_of_the_job_tries_again_and_loses_no_line() -> None:
    env = local_environment()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    with sending([b"1\n2\n3\n"]) as port:
        numbers = env.socket_text_stream("127.0.0.1", port).map(int)
        total = numbers.map(failing("socket", 3)).key_by(lambda number: 0).sum()
        assert list(total.execute_and_collect()) == [1, 3, 6]


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int | None) -> int:
        return value


def test_the_last_window_is_given_when_the_other_side_closes() -> None:
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
    with sending([b"1\n12\n", b"3\n27\n"]) as port:
        env = local_environment()
        numbers = env.socket_text_stream("127.0.0.1", port).map(int)
        timed = numbers.assign_timestamps_and_watermarks(times).key_by(lambda number: 0)
        windows = timed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).sum()
        assert sorted(windows.execute_and_collect())[-2:] == [12, 27]


def test_a_job_that_waits_for_lines_can_be_cancelled() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        env = local_environment()
        found, take = taking("cancelled")
        env.socket_text_stream("127.0.0.1", server.getsockname()[1], "\n", -1).add_sink(take)
        client = env.execute_async()
        connection, _ = server.accept()
        with connection:
            client.cancel().result()

    assert (client.get_job_status().result(), found) == (JobStatus.CANCELED, [])
    assert not [thread for thread in threading.enumerate() if thread.name == "source"]
