from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._resource import ResourceType
from tests.datastream.connectors.kafka import killed_job, killed_on_spark
from tests.datastream.connectors.kafka.sinks import sink_of
from tests.datastream.connectors.kafka.topics import Topic, forbidden
from tests.datastream.connectors.sink_job import SINK_ID, NewJob, SinkJob
from tests.servers.kafka_server import KafkaCluster
from tests.servers.zygote import Zygote

from penstock.datastream.connectors.kafka.epochs_topic import EpochsTopic
from penstock.datastream.connectors.kafka.sender import Sender
from penstock.datastream.connectors.kafka.waiting import waited
from penstock.errors import (
    LostEpochError,
    LostOutputError,
    ProducerFencedError,
    SinkNotWritableError,
    SinkRowError,
    SinkTopicError,
)
from penstock.runtime.sinks import Uncommitted

pytestmark = pytest.mark.kafka

PLACES = ["init_transactions", "begin_transaction", "produce", "commit_transaction"]


@pytest.fixture
def topic(kafka: KafkaCluster) -> Topic:
    return Topic(kafka)


class CrashError(BaseException):
    pass


class Dying:
    """A producer that dies after a step."""

    def __init__(self, producer: Any, place: str) -> None:
        self._producer = producer
        self._place = place

    def __getattr__(self, name: str) -> Any:
        step = getattr(self._producer, name)

        def die(*arguments: Any, **options: Any) -> None:
            step(*arguments, **options)
            raise CrashError

        return die if name == self._place else step


def crash(job: SinkJob, place: str, monkeypatch: pytest.MonkeyPatch, share: int = 0) -> None:
    """Have a new driver die after a step of a share."""
    ending = f"-{share}" if share else SINK_ID

    def make(self: Sender, *arguments: Any, **settings: Any) -> None:
        made(self, *arguments, **settings)
        if settings["transactional.id"].endswith(ending):
            self.producer = Dying(self.producer, place)

    made = Sender.__init__
    with monkeypatch.context() as patch:
        patch.setattr(Sender, "__init__", make)
        job._publish.close()
        with pytest.raises(CrashError):
            job.publish()


def left_in_a_transaction(topic: Topic, transactional_id: str) -> Producer:
    """A producer of a driver that has died after it sent half of an epoch."""
    dead = Producer({"bootstrap.servers": topic.servers, "transactional.id": transactional_id})
    dead.init_transactions()
    dead.begin_transaction()
    dead.produce(topic.name, b"half")
    return dead


class TestEpochs:
    def test_are_sent_once(self, topic: Topic, new_job: NewJob) -> None:
        sink = sink_of(topic)
        job = new_job(sink, parallelism=2)
        job.run([["a"], ["b"]])
        job.publish()
        job.start_driver()
        job.run([[], []])
        job.start_driver()
        assert EpochsTopic(sink.target).read().sent == {f"lineage/{SINK_ID}": 0}
        job.begin([["given up"], []])
        job.prepare([["not committed"], []])
        job.kill([0])
        job.run([["c"], ["d"]])
        job.start_driver()
        job.rescale(1)
        job.run([["e"]])

        assert topic.values() == ["a", "b", "c", "d", "e"]

    def test_of_two_histories_do_not_meet(self, topic: Topic, new_job: NewJob) -> None:
        new_job(sink_of(topic)).run([["a"]])
        new_job(sink_of(topic), lineage="other").run([["a"]])

        assert topic.values() == ["a", "a"]

    def test_that_the_job_does_not_know_any_more_are_named(
        self, topic: Topic, new_job: NewJob
    ) -> None:
        committer = sink_of(topic).create_committer()
        committer.drop(Uncommitted("lineage", sink_id=SINK_ID))
        job = new_job(sink_of(topic))
        job.run([["a"]])
        job.run([["b"]])
        committer.drop(Uncommitted("lineage", after=1, sink_id=SINK_ID))
        committer.drop(Uncommitted("another", after=-1, sink_id=SINK_ID))
        with pytest.raises(LostEpochError, match="The metadata of epoch 1 is gone"):
            committer.drop(Uncommitted("lineage", after=0, sink_id=SINK_ID))
        committer.drop(Uncommitted("lineage", sink_id=SINK_ID, is_over=True))

    def test_are_sent_whole_or_not_at_all(
        self, topic: Topic, new_job: NewJob, tmp_path: Path
    ) -> None:
        job = new_job(sink_of(topic), parallelism=2)
        job.prepare([["a"], ["b"]])()
        staged = sorted((tmp_path / "job" / "prepared").iterdir())
        content = staged[1].read_bytes()
        staged[1].unlink()
        with pytest.raises(LostOutputError, match=r"1 records of epoch 0 .* are not there"):
            job.publish()
        assert topic.values() == []

        staged[1].write_bytes(content)
        job.publish()
        assert topic.values() == ["a", "b"]

    def test_of_a_driver_that_died_in_a_transaction_are_sent_by_the_next(
        self, topic: Topic, new_job: NewJob
    ) -> None:
        job = new_job(sink_of(topic))
        dead = left_in_a_transaction(topic, f"job-{topic.name}-{SINK_ID}")
        dead.flush()
        job.run([["a"]])

        assert topic.values() == ["a"]

    def test_are_sent_by_one_driver_alone(self, topic: Topic, new_job: NewJob) -> None:
        earlier = new_job(sink_of(topic))
        earlier.run([["a"]])
        later = new_job(sink_of(topic), lineage="later")
        later.run([["b"]])
        earlier.prepare([["c"]])()
        with pytest.raises(ProducerFencedError, match="Another producer has taken over"):
            earlier.publish()

        assert topic.values() == ["a", "b"]

    def test_are_sent_anew_when_the_brokers_give_a_transaction_up_themselves(
        self, topic: Topic, new_job: NewJob, caplog: pytest.LogCaptureFixture
    ) -> None:
        job = new_job(sink_of(topic))
        job.run([["a"]])
        # To the job that is the same: the id has another epoch, and nobody has sent anything.
        left_in_a_transaction(topic, f"job-{topic.name}-{SINK_ID}").flush()
        job.run([["b"]])
        job.run([["c"]])

        assert topic.values() == ["a", "b", "c"]
        assert caplog.text.count("epoch 1 is sent anew: Another producer has taken over") == 1

    def test_are_sent_anew_when_a_broker_cannot_say_what_became_of_a_transaction(
        self, topic: Topic, new_job: NewJob, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(self: Sender, seconds: float) -> None:
            commit(self, seconds)
            if fails:
                raise fails.pop()

        commit, fails = Sender.commit, [KafkaException(KafkaError(-1))]
        job = new_job(sink_of(topic))
        monkeypatch.setattr(Sender, "commit", fail)
        job.run([["a"]])
        job.run([["b"]])

        assert not fails
        assert topic.values() == ["a", "b"]

    @pytest.mark.parametrize("place", PLACES)
    def test_are_sent_once_wherever_the_driver_is_stopped(
        self, topic: Topic, new_job: NewJob, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        job = new_job(sink_of(topic))
        job.run([["a"]])
        job.prepare([["b", "c"]])()
        crash(job, place, monkeypatch)
        job.publish()
        job.publish()
        job.run([["d"]])

        assert topic.values() == ["a", "b", "c", "d"]


class TestShares:
    @pytest.mark.parametrize("place", PLACES)
    def test_are_each_sent_once_whatever_their_number_is_later(
        self, topic: Topic, new_job: NewJob, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        job = new_job(sink_of(topic), parallelism=3)
        job.run([["a"], ["b"], ["c"]])
        job.sink = sink_of(topic, shares=3)
        job.rescale(3)
        job.prepare([["d"], ["e"], ["f"]])()
        crash(job, place, monkeypatch, share=1)
        job.publish()
        job.run([["g"], [], ["h"]])
        job.prepare([["i"], ["j"], ["k"]])()
        crash(job, place, monkeypatch, share=2)
        job.sink = sink_of(topic)
        job.rescale(3)
        job.start_driver()
        job.run([["l"], ["m"], ["n"]])

        assert sorted(topic.values()) == list("abcdefghijklmn")

    def test_are_visible_when_kafka_has_all_of_them(
        self, kafka: KafkaCluster, new_job: NewJob, tmp_path: Path
    ) -> None:
        topic = Topic(kafka, max_message_bytes="1000")
        job = new_job(sink_of(topic, shares=2), parallelism=2)
        job.prepare([["a"], ["b" * 2000]])()
        with pytest.raises(SinkRowError, match="a record of 2000 bytes for the topic"):
            job.publish()
        assert topic.values() == []
        topic.set("max.message.bytes", "10000")
        staged = sorted((tmp_path / "job" / "prepared").iterdir())
        content = staged[0].read_bytes()
        staged[0].unlink()
        with pytest.raises(LostOutputError):
            job.publish()
        assert topic.values() == []
        assert not [one for one in threading.enumerate() if "penstock-kafka" in one.name]

        staged[0].write_bytes(content)
        job.publish()
        assert sorted(topic.values()) == ["a", "b" * 2000]

    def test_that_are_no_more_hold_up_no_reader(self, topic: Topic, new_job: NewJob) -> None:
        job = new_job(sink_of(topic, shares=2), parallelism=2)
        job.run([["a"], ["b"]])
        dead = left_in_a_transaction(topic, f"job-{topic.name}-{SINK_ID}-1")
        dead.produce(f"penstock-epochs-job-{topic.name}", b"9", f"lineage/{SINK_ID}/1")
        dead.flush()
        new_job(sink_of(topic), lineage="later").run([["c"]])

        assert sorted(topic.values()) == ["a", "b", "c"]

    def test_that_the_job_does_not_know_any_more_are_named(
        self, topic: Topic, new_job: NewJob, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sink = sink_of(topic, shares=2)
        job = new_job(sink, parallelism=2)
        job.run([["a"], ["b"]])
        job.prepare([["c"], ["d"]])()
        crash(job, "commit_transaction", monkeypatch, share=1)
        with pytest.raises(LostEpochError, match="The metadata of epoch 1 is gone"):
            sink.create_committer().drop(Uncommitted("lineage", after=0, sink_id=SINK_ID))
        job.publish()
        assert sorted(topic.values()) == ["a", "b", "c", "d"]


def test_a_broker_that_goes_away_and_comes_back_is_waited_for(
    new_job: NewJob, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("penstock.datastream.connectors.kafka.waiting._ROUND_SECONDS", 0.2)
    with closing(KafkaCluster()) as cluster:
        topic = Topic(cluster)
        job = new_job(sink_of(topic))
        job.run([["a"]])
        job.prepare([["b"]])()
        cluster.pause(0)
        with ThreadPoolExecutor() as threads:
            done = threads.submit(job.publish)
            while "waiting for the commit of epoch 1 for" not in caplog.text:
                assert wait([done], timeout=0.01).not_done
            cluster.resume(0)
            done.result()
        assert topic.values() == ["a", "b"]


def test_a_leader_that_is_killed_in_a_transaction_is_replaced_and_the_records_are_there_once(
    new_job: NewJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill_leader(step: Callable[[float], Any], *others: Any) -> Any:
        if leaders:
            cluster.kill(leaders.pop())
        return waited(step, *others)

    with closing(KafkaCluster(3)) as cluster:
        topic, of_all = Topic(cluster), Topic(cluster, min_insync_replicas="3")
        strict = new_job(sink_of(of_all, delivery_timeout_ms="1500"), lineage="strict")
        job = new_job(sink_of(topic))
        job.run([["a"]])
        job.prepare([["b"]])()
        known = AdminClient({"bootstrap.servers": topic.servers}).list_topics(timeout=30)
        leaders = [known.topics[topic.name].partitions[0].leader]
        monkeypatch.setattr("penstock.datastream.connectors.kafka.committer.waited", kill_leader)
        job.publish()
        assert not leaders
        job.run([["c"]])
        assert topic.values() == ["a", "b", "c"]

        strict.prepare([["a"]])()
        with pytest.raises(SinkNotWritableError, match=r"the replicas in sync that min\.insync"):
            strict.publish()
        of_all.set("min.insync.replicas", "2")
        strict.publish()
        assert of_all.values() == ["a"]


def test_a_record_that_the_topic_does_not_take_is_named_and_the_job_goes_on(
    kafka: KafkaCluster, new_job: NewJob
) -> None:
    topic = Topic(kafka, max_message_bytes="1000")
    job = new_job(sink_of(topic, batch_num_messages="1"))
    job.prepare([["a", "b" * 2000]])()
    with pytest.raises(SinkRowError, match=r"a record of 2000 bytes for the topic .* is too large"):
        job.publish()
    assert topic.values() == []

    topic.set("max.message.bytes", "10000")
    job.publish()
    job.run([["c"]])
    assert topic.values() == ["a", "b" * 2000, "c"]


def test_rights_that_are_taken_away_are_named_and_the_job_goes_on(
    kafka: KafkaCluster, topic: Topic, new_job: NewJob
) -> None:
    sink = sink_of(topic)
    epochs, name = sink.target.topic_of_epochs, sink.target.transactional_id(SINK_ID)
    job = new_job(sink)
    for kind, resource, error, why in (
        (ResourceType.TOPIC, topic.name, SinkTopicError, "Topic authorization failed"),
        (ResourceType.TOPIC, epochs, SinkTopicError, f"or that of its epochs, '{epochs}'"),
        (ResourceType.TRANSACTIONAL_ID, name, SinkNotWritableError, "transactional ids that begin"),
    ):
        job.prepare([[resource]])()
        with forbidden(kafka, kind, resource), pytest.raises(error, match=why):
            job.publish()
        assert resource not in topic.values()
        job.publish()
        assert topic.values()[-1] == resource
    assert len(topic.values()) == 3


def test_a_driver_that_stands_still_for_longer_than_a_transaction_may_goes_on(
    topic: Topic, new_job: NewJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stand_still(step: Callable[[float], Any], *others: Any) -> Any:
        step.__self__.flush()  # type: ignore[attr-defined]
        topic.wait_for_end_of_transactions()
        return waited(step, *others)

    job = new_job(sink_of(topic, transaction_timeout_ms="1000"))
    job.run([["a"]])
    job.prepare([["b"]])()
    with monkeypatch.context() as patch:
        patch.setattr("penstock.datastream.connectors.kafka.committer.waited", stand_still)
        with pytest.raises(
            SinkNotWritableError, match=r"Epoch 1 could not be sent .* within the 1 s"
        ):
            job.publish()
    assert topic.values() == ["a"]

    job.publish()
    job.run([["c"]])
    assert topic.values() == ["a", "b", "c"]


def test_each_record_is_there_once_wherever_in_a_commit_the_driver_is_killed(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    with closing(Zygote(killed_job.__name__)) as zygote:
        trial = killed_job.Trial(zygote, kafka, tmp_path)
        for point in killed_job.POINTS:
            assert not trial.live(point), f"it was not killed at {point}"
        assert trial.live()
    trial.check()


@pytest.mark.spark
@pytest.mark.timeout(180)
def test_each_result_is_there_once_on_spark_where_a_driver_and_workers_are_killed(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    chance, trial = random.Random(1), killed_on_spark.Trial(kafka, tmp_path, epochs=6)
    sent = killed_job.Point("commit_transaction", skip=1)

    assert not trial.live(killed_on_spark.Fate(commit=sent, harries=True), chance)
    assert trial.live(killed_on_spark.Fate(point="prepared.in"), chance)

    assert trial.kills["driver after commit_transaction"] == 1
    assert trial.kills["worker at prepared.in"] == 1
    trial.check()
