from __future__ import annotations

import datetime
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.datastream.connectors.sink_job import NewJob, SinkJob
from tests.servers.elasticsearch_server import ElasticsearchServer

from penstock.common import Row
from penstock.datastream.connectors import DeliveryGuarantee
from penstock.datastream.connectors.elasticsearch import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    FlushBackoffType,
)
from penstock.errors import InvalidArgumentError, SinkNotWritableError, SinkRowError
from penstock.testing import local_environment

ORDERS = ElasticsearchEmitter.static_index("orders", "id")


@pytest.fixture(scope="module")
def only_server() -> Iterator[ElasticsearchServer]:
    with closing(ElasticsearchServer()) as server:
        yield server


@pytest.fixture
def server(only_server: ElasticsearchServer) -> ElasticsearchServer:
    reset(only_server)
    return only_server


def reset(server: ElasticsearchServer) -> None:
    server.major = 7
    server.indices.clear()
    server.requests.clear()
    server.mishaps.clear()


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


def builder(server: ElasticsearchServer) -> Elasticsearch7SinkBuilder:
    return Elasticsearch7SinkBuilder().set_hosts(server.host).set_emitter(ORDERS)


def order(id: int, **fields: Any) -> dict[str, Any]:
    return {"id": id, **fields}


class TestDocuments:
    def test_are_there_when_their_epoch_ends(
        self, server: ElasticsearchServer, new_job: NewJob
    ) -> None:
        job = new_job(builder(server).build(), parallelism=2)
        job.run([[order(1, of="ann"), Row(id=2, of="bob")], [order(3)]])
        job.run([[order(1, at="noon")], []])

        assert server.indices["orders"] == {
            "1": {"id": 1, "of": "ann", "at": "noon"},
            "2": {"id": 2, "of": "bob"},
            "3": {"id": 3},
        }
        assert server.requests == [2, 1, 1]

    def test_go_into_the_index_that_they_name(
        self, server: ElasticsearchServer, new_job: NewJob
    ) -> None:
        emitter = ElasticsearchEmitter.dynamic_index("shop")
        job = new_job(builder(server).set_emitter(emitter).build())
        job.run([[{"shop": "north", "id": 1}, {"shop": "south", "id": 2}]])

        assert server.indices == {
            "north": {"made 1": {"shop": "north", "id": 1}},
            "south": {"made 1": {"shop": "south", "id": 2}},
        }

    @pytest.mark.parametrize(
        ("make", "major", "doc_type"),
        [
            (Elasticsearch6SinkBuilder, 6, None),
            (Elasticsearch6SinkBuilder, 6, "order"),
            (Elasticsearch7SinkBuilder, 7, "order"),
            (Elasticsearch7SinkBuilder, 8, None),
        ],
    )
    def test_have_types_where_elasticsearch_has(
        self, server: ElasticsearchServer, new_job: NewJob, make: Any, major: int, doc_type: Any
    ) -> None:
        server.major = major
        emitter = ElasticsearchEmitter.static_index("orders", "id", doc_type)
        new_job(make().set_hosts([server.host]).set_emitter(emitter).build()).run([[order(1)]])
        assert server.indices["orders"] == {"1": {"id": 1}}

    def test_have_values_of_many_types(self, server: ElasticsearchServer, new_job: NewJob) -> None:
        noon = datetime.datetime(2024, 5, 17, 12, tzinfo=datetime.UTC)
        document = order(
            1,
            at=noon,
            on=noon.date(),
            price=Decimal("1.50"),
            raw=b"\xff",
            tags=["ü\n", None],
            sub={"row": Row(a=1)},
            some={2, 1},
        )
        new_job(builder(server).build()).run([[document]])
        assert server.indices["orders"]["1"] == order(
            1,
            at="2024-05-17T12:00:00+00:00",
            on="2024-05-17",
            price="1.50",
            raw="/w==",
            tags=["ü\n", None],
            sub={"row": {"a": 1}},
            some=[1, 2],
        )

    @pytest.mark.parametrize(
        ("record", "why"),
        [
            ((1, 2), "neither a dict nor a row"),
            (Row(1, 2), "neither a dict nor a row"),
            ({"of": "ann"}, "there is no field 'id'"),
            ({"id": None}, "its field 'id' is None"),
            ({"id": 1, "x": float("nan")}, "not JSON compliant"),
            ({"id": 1, "x": object()}, "has no counterpart in JSON"),
        ],
    )
    def test_that_cannot_be_made_are_named(
        self, server: ElasticsearchServer, new_job: NewJob, record: Any, why: str
    ) -> None:
        with pytest.raises(SinkRowError, match=why):
            new_job(builder(server).build()).begin([[record]])

    def test_that_are_refused_are_named_with_the_reason(
        self, server: ElasticsearchServer, new_job: NewJob
    ) -> None:
        job = new_job(builder(server).build())
        with pytest.raises(
            SinkRowError,
            match=r"index 'orders' does not take the document .*\"count\": \"many\".*: "
            r"mapper_parsing_exception: failed to parse field \[count\], caused by number_format",
        ):
            job.prepare([[order(1), order(2, count="many")]])

    def test_are_sent_when_there_are_enough(
        self, server: ElasticsearchServer, new_job: NewJob
    ) -> None:
        def requests(build: Any, *records: dict[str, Any]) -> list[int]:
            server.requests.clear()
            new_job(build.build()).run([records])
            return server.requests

        orders = [order(number, text="x" * 400_000) for number in range(5)]
        assert requests(builder(server), *orders) == [5]
        assert requests(builder(server).set_bulk_flush_max_actions(2), *orders) == [2, 2, 1]
        assert requests(builder(server).set_bulk_flush_max_actions(1), *orders) == [1] * 5
        several = builder(server).set_bulk_flush_max_actions(-1).set_bulk_flush_max_size_mb(1)
        assert requests(several, *orders) == [3, 2]
        assert requests(builder(server).set_bulk_flush_interval(0), *orders) == [1] * 5
        assert requests(builder(server).set_bulk_flush_interval(60_000), *orders) == [5]


class TestMishaps:
    def test_are_waited_out(
        self, server: ElasticsearchServer, new_job: NewJob, waited: list[float]
    ) -> None:
        strategy = (FlushBackoffType.EXPONENTIAL, 4, 500)
        sink = builder(server).set_bulk_flush_backoff_strategy(*strategy).build()
        server.mishaps.extend([503, {0, 2}, "lose the answer", 429])
        new_job(sink).run([[order(1), order(2), order(3)]])

        assert sorted(server.indices["orders"]) == ["1", "2", "3"]
        assert waited == [
            0.5,
            1,
            2,
        ]  # an answer that is lost may be of a connection that was closed
        assert server.requests == [3, 3, 2, 2, 2]

    def test_are_waited_out_no_longer_than_told(
        self, server: ElasticsearchServer, new_job: NewJob, waited: list[float]
    ) -> None:
        sink = builder(server).set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, 2, 300)
        server.mishaps.extend([{0}, {0}, {0}])
        with pytest.raises(
            SinkNotWritableError, match=r"too busy for the document .*queue is full"
        ):
            new_job(sink.build()).prepare([[order(1)]])
        assert waited == [0.3, 0.3]

    @pytest.mark.parametrize("mishap", [503, {0}, "hang up"])
    def test_end_the_job_if_nobody_asks_to_wait(
        self, server: ElasticsearchServer, new_job: NewJob, waited: list[float], mishap: Any
    ) -> None:
        server.mishaps.append(mishap)
        job = new_job(builder(server).build())
        with pytest.raises(SinkNotWritableError):
            job.prepare([[order(1)]])
        assert waited == []
        job.kill([0])
        job.run([[order(1)]])
        assert server.indices["orders"] == {"1": {"id": 1}}

    def test_keep_the_order_of_one_documents_versions(
        self, server: ElasticsearchServer, new_job: NewJob, waited: list[float]
    ) -> None:
        strategy = (FlushBackoffType.CONSTANT, 3, 1)
        sink = builder(server).set_bulk_flush_backoff_strategy(*strategy).build()
        server.mishaps.append({0})
        new_job(sink).run([[order(1, v=1), order(2, v=1), order(1, v=2)]])
        assert server.indices["orders"] == {"1": order(1, v=2), "2": order(2, v=1)}

    def test_of_a_connection_that_was_closed_meanwhile_go_unnoticed(
        self, server: ElasticsearchServer, new_job: NewJob
    ) -> None:
        job = new_job(builder(server).build())
        job.run([[order(1)]])
        server.mishaps.append("hang up")
        job.run([[order(2)]])
        assert sorted(server.indices["orders"]) == ["1", "2"]

    def test_of_one_host_are_those_of_no_other(
        self, server: ElasticsearchServer, new_job: NewJob, waited: list[float]
    ) -> None:
        hosts = ["127.0.0.1:1", server.host]
        strategy = (FlushBackoffType.CONSTANT, 1, 0)
        sink = builder(server).set_hosts(hosts).set_bulk_flush_backoff_strategy(*strategy)
        new_job(sink.build()).run([[order(1)]])
        assert server.indices["orders"] == {"1": {"id": 1}}

    @pytest.mark.parametrize(
        ("status", "hint"),
        [(401, "set_connection_username"), (413, "max_size_mb"), (404, "status")],
    )
    def test_that_time_does_not_heal_are_told_at_once(
        self, server: ElasticsearchServer, new_job: NewJob, status: int, hint: str
    ) -> None:
        sink = builder(server).set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, 9, 9)
        server.mishaps.append(status)
        with pytest.raises(SinkNotWritableError, match=rf"with status {status}[\s\S]*{hint}"):
            new_job(sink.build()).prepare([[order(1)]])

    def test_that_are_of_something_else_are_shown(
        self, server: ElasticsearchServer, new_job: NewJob
    ) -> None:
        for answer in (b"<html>Log in</html>", b"[]", b'{"errors": true}', b'{"items": []}'):
            server.mishaps.append(answer)
            with pytest.raises(
                SinkNotWritableError, match=f"{re.escape(answer.decode())}[^$]*path_prefix"
            ):
                new_job(builder(server).build()).prepare([[order(1)]])

    @settings(
        max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
    )
    @given(
        epochs=st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=4),
        mishaps=st.lists(
            st.one_of(
                st.sampled_from([429, 503, "hang up", "lose the answer"]),
                st.sets(st.integers(0, 4)),
            ),
            max_size=8,
        ),
        most=st.integers(1, 4),
    )
    def test_lose_nothing_and_double_nothing_with_ids(
        self,
        server: ElasticsearchServer,
        tmp_path: Path,
        epochs: list[list[int]],
        mishaps: list[Any],
        most: int,
    ) -> None:
        reset(server)
        server.mishaps.extend(mishaps)
        sink = (
            builder(server)
            .set_bulk_flush_max_actions(most)
            .set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, 1, 0)
            .build()
        )
        job = SinkJob(sink, tmp_path / "job")
        expected: dict[str, Any] = {}
        for number, keys in enumerate(epochs):
            orders = [order(key, v=[number, place]) for place, key in enumerate(keys)]
            expected |= {str(each["id"]): each for each in orders}
            while True:
                try:
                    job.run([orders])
                    break
                except SinkNotWritableError:
                    job.kill([0])
        job.close()
        assert server.indices.get("orders", {}) == expected


class TestOptions:
    def test_of_the_connection_are_used(self, server: ElasticsearchServer, new_job: NewJob) -> None:
        sink = (
            builder(server)
            .set_hosts([f"http://{server.host}"])
            .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
            .set_connection_username("ann")
            .set_connection_password("secret")
            .set_connection_path_prefix("/search/")
            .set_connection_request_timeout(30_000)
            .set_connection_timeout(31_000)
            .set_socket_timeout(32_000)
            .build()
        )
        assert "secret" not in repr(sink)
        new_job(sink).run([[order(1)]])
        assert server.path == "/search/_bulk"
        assert server.headers["Authorization"] == "Basic YW5uOnNlY3JldA=="
        assert server.headers["Content-Type"] == "application/x-ndjson"

    @pytest.mark.parametrize(
        "make",
        [
            lambda: Elasticsearch7SinkBuilder().set_emitter(ORDERS).build(),
            lambda: Elasticsearch7SinkBuilder().set_hosts("a:1").build(),
            lambda: Elasticsearch7SinkBuilder().set_hosts("ftp://a:1"),
            lambda: Elasticsearch7SinkBuilder().set_hosts("a:b"),
            lambda: Elasticsearch7SinkBuilder().set_hosts("https://me:secret@a"),
            lambda: Elasticsearch7SinkBuilder().set_emitter("orders"),  # type: ignore[arg-type]
            lambda: Elasticsearch7SinkBuilder().set_bulk_flush_max_actions(0),
            lambda: Elasticsearch7SinkBuilder().set_bulk_flush_max_size_mb(-2),
            lambda: Elasticsearch7SinkBuilder().set_bulk_flush_backoff_strategy(
                FlushBackoffType.CONSTANT, -1, 0
            ),
            lambda: Elasticsearch7SinkBuilder().set_delivery_guarantee(
                DeliveryGuarantee.EXACTLY_ONCE
            ),
            lambda: ElasticsearchEmitter.static_index(""),
        ],
    )
    def test_that_cannot_be_are_refused_at_once(self, make: Callable[[], Any]) -> None:
        with pytest.raises(InvalidArgumentError):
            make()


def test_the_operator_can_be_shipped(server: ElasticsearchServer) -> None:
    cloudpickle.loads(cloudpickle.dumps(builder(server).build().create_operator()))


def test_a_job_writes_all_of_a_stream(server: ElasticsearchServer) -> None:
    env = local_environment()
    stream = env.from_collection([order(number % 10, v=number) for number in range(100)])
    stream.key_by(lambda each: each["id"]).sink_to(builder(server).build())
    env.execute()
    assert server.indices["orders"] == {str(key): order(key, v=90 + key) for key in range(10)}
