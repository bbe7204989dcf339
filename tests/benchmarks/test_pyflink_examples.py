from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks import pyflink_examples
from benchmarks.kit import peers
from benchmarks.kit.kafka import Broker
from benchmarks.pyflink_examples import Example, Result, copied, error_in, ran, verdict

if TYPE_CHECKING:
    from tests.servers.kafka_server import KafkaCluster

PROGRAM = """\
import sys, logging
from pyflink.common import Types
import  pyflink
logging.basicConfig(stream=sys.stdout)
print(pyflink.__name__, "pyflink")
"""


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(peers, "HOME", tmp_path)
    folder = tmp_path / pyflink_examples.EXAMPLES
    folder.mkdir(parents=True)
    return folder


def test_imports_are_changed_and_logs_are_no_results(examples: Path, tmp_path: Path) -> None:
    (examples / "word.py").write_text(PROGRAM)

    text = Path(copied(tmp_path, "word.py", package="penstock")).read_text()

    assert "from penstock.common import Types\nimport  penstock\n" in text
    assert "stream=sys.stderr" in text
    assert 'print(pyflink.__name__, "pyflink")' in text


def test_lines_that_are_printed_and_written_are_results(examples: Path) -> None:
    (examples / "word.py").write_text(
        "import pathlib, sys\n"
        "print('2> b'); print('Printing result to stdout.'); print('1> a')\n"
        "folder = pathlib.Path(sys.argv[1]) / 'bucket'; folder.mkdir(parents=True)\n"
        "(folder / 'part').write_text('d\\nc'); (folder / '.part').write_text('hidden')\n"
    )
    example = Example("word.py", arguments=("OUTPUT",))

    assert ran([sys.executable], example, "pyflink") == Result(["a", "b", "c", "d"])


def test_a_program_without_an_end_is_ended_when_it_has_printed_its_rows(
    examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyflink_examples, "GRACE", 0.1)
    (examples / "read.py").write_text(
        "import time\n"
        "print('start reading data from kafka'); print('1> b'); print('a')\n"
        "time.sleep(600)\n"
    )
    assert ran([sys.executable], Example("read.py", reads=2), "pyflink") == Result(["a", "b"])

    monkeypatch.setattr(pyflink_examples, "PATIENCE", 0.5)
    assert ran([sys.executable], Example("read.py", reads=3), "pyflink") == Result(
        error="did not end in 0.5 seconds"
    )


@pytest.mark.kafka
def test_topics_are_changed_and_what_is_in_them_is_a_result(
    examples: Path, kafka: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyflink_examples, "flink_jars", lambda: {"path/to": Path("/jars")})
    (examples / "write.py").write_text(
        "from confluent_kafka import Producer\n"
        "print('path/to'); writer = Producer({'bootstrap.servers': 'localhost:9092'})\n"
        "writer.produce('topic', '1'); writer.produce('topic', '2', 'k', 3); writer.flush()\n"
    )
    example = Example("write.py", topic="topic")

    result = ran([sys.executable], example, "pyflink", Broker(kafka))

    assert result == Result(["3 b'k' b'2'", "b'1'"])


def test_a_program_that_fails_says_how(examples: Path) -> None:
    (examples / "word.py").write_text("raise ValueError('wrong')")

    assert ran([sys.executable], Example("word.py"), "pyflink").error == "ValueError: wrong"
    text = "penstock.errors.NotInPenstockError: no pulsar\n\nHint: Spark\n"
    assert error_in(text) == "NotInPenstockError: no pulsar"


@pytest.mark.parametrize(
    ("expected", "found", "text"),
    [
        (Result(["a"]), Result(["a"]), "the same 1 lines"),
        (Result(["a", "b"]), Result(["a", "c"]), "differs: without ['b'], with ['c']"),
        (None, Result(["a"]), "runs, 1 lines"),
        (Result(error="E: no"), Result(["a"]), "runs, 1 lines; PyFlink's stops: E: no"),
        (Result(["a"]), Result(error="E: no"), "stops: E: no"),
    ],
)
def test_a_verdict_compares(expected: Result | None, found: Result, text: str) -> None:
    assert verdict(expected, found) == text
