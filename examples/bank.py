"""The bank around `kafka_payments.py`: has people pay, knows how risky their cards are, and checks the counts.

    python examples/bank.py topics        makes the topics
    python examples/bank.py score         serves `GET /cards/NUMBER` until it is interrupted
    python examples/bank.py pay 0 10      sends what is paid in the minutes from 0 to 10 of a day
    python examples/bank.py check 0 10    compares the counts of these minutes with its own

All of it is made up, and comes out the same each time.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from aiohttp import web
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

if TYPE_CHECKING:
    from collections.abc import Iterator

START = int(datetime(2026, 3, 2, 9, tzinfo=UTC).timestamp()) * 1000
TOPICS = ("payments", "payment-counts", "unreadable-payments")
PARTITIONS = 3
MERCHANTS = ("Bakery", "Bookshop", "Cinema", "Garage", "Grocer", "Pharmacy")
PER_MINUTE = 300
UNREADABLE = 200  # one message more after so many
RISKY = 0.9


class Payment(NamedTuple):
    """What somebody pays; `at` is in milliseconds."""

    at: int
    card: str
    merchant: str
    cents: int


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--servers", default="localhost:9092", help="of Kafka")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("topics")
    commands.add_parser("score").add_argument("--port", type=int, default=8080)
    for command in ("pay", "check"):
        minutes = commands.add_parser(command)
        minutes.add_argument("first", type=int)
        minutes.add_argument("end", type=int)
    arguments = parser.parse_args()
    match arguments.command:
        case "topics":
            make_topics(arguments.servers)
        case "score":
            web.run_app(scores(), host="127.0.0.1", port=arguments.port)
        case "pay":
            pay(arguments.servers, arguments.first, arguments.end)
        case "check":
            return check(arguments.servers, arguments.first, arguments.end)
    return 0


def make_topics(servers: str) -> None:
    forever = {"retention.ms": "-1"}  # the day of the payments is long past
    topics = [NewTopic(name, num_partitions=PARTITIONS, config=forever) for name in TOPICS]
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics(topics).values():
        made.result()


def payments(first: int, end: int) -> Iterator[Payment]:
    """What is paid from one minute of the day to another; up to three seconds out of order."""
    for number in range(first * PER_MINUTE, end * PER_MINUTE):
        chance = random.Random(number)
        at = START + number * 60_000 // PER_MINUTE + chance.randrange(3_000)
        card, merchant = f"{chance.randrange(400):04}", chance.choice(MERCHANTS)
        yield Payment(at, card, merchant, chance.randrange(100, 20_000))


def pay(servers: str, first: int, end: int) -> None:
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for number, payment in enumerate(payments(first, end), 1):
        value = json.dumps(
            {"card": payment.card, "merchant": payment.merchant, "cents": payment.cents}
        )
        producer.produce("payments", value, payment.card, timestamp=payment.at)
        if number % UNREADABLE == 0:
            producer.produce("payments", value[:20], payment.card, timestamp=payment.at)
        producer.poll(0)
    if producer.flush(60):
        sys.exit("Kafka does not answer.")
    print(f"{(end - first) * PER_MINUTE:,} payments")


def risk(card: str) -> float:
    return crc32(card.encode()) % 1000 / 1000


def scores() -> web.Application:
    """The service. One request in fifty fails, and may be made again."""
    chance = random.Random()

    async def score(request: web.Request) -> web.Response:
        if chance.random() < 0.02:
            raise web.HTTPServiceUnavailable
        return web.json_response({"risk": risk(request.match_info["card"])})

    service = web.Application()
    service.add_routes([web.get("/cards/{card}", score)])
    return service


def check(servers: str, first: int, end: int) -> int:
    """Compare counts, but not those of the last minute: for the job it has not ended yet."""
    minutes = {minute_of(at) for at in range(first * 60_000, (end - 1) * 60_000, 60_000)}
    counted = (tuple(json.loads(count).values()) for count in committed(servers, "payment-counts"))
    found = Counter(count for count in counted if count[1] in minutes)
    expected = Counter(count for count in counts(first, end) if count[1] in minutes)
    line = "{:10}  {:22}  {:>8}  {:>5}".format
    print(line("merchant", "minute", "payments", "risky"))
    for count in sorted(found, key=lambda count: count[1])[-len(MERCHANTS) :]:
        print(line(*count))
    unreadable = sum(1 for _ in committed(servers, "unreadable-payments"))
    same = found == expected
    print(f"\n{unreadable} messages that hold no payment")
    print(f"{found.total()} counts, the right ones, and each once: {'yes' if same else 'no'}")
    return 0 if same else 1


def counts(first: int, end: int) -> Iterator[tuple[Any, ...]]:
    """What the job should count."""
    paid, risky = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for payment in payments(first, end):
        window = payment.merchant, minute_of(payment.at - START)
        paid[window] += 1
        risky[window] += risk(payment.card) >= RISKY
    return ((*window, number, risky[window]) for window, number in paid.items())


def minute_of(at: int) -> str:
    return datetime.fromtimestamp((START + at) / 1000, UTC).isoformat(timespec="minutes")


def committed(servers: str, topic: str) -> Iterator[Any]:
    """The values of a topic, up to its end, without those of transactions that are open or aborted."""
    settings = {
        "bootstrap.servers": servers,
        "group.id": "bank",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
    }
    with closing(Consumer(settings)) as consumer:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        ended = 0
        while ended < PARTITIONS:
            message = consumer.poll(60)
            if message is None:
                sys.exit("Kafka does not answer.")
            error = message.error()
            if error is None:
                yield message.value()
            elif error.name() == "_PARTITION_EOF":
                ended += 1
            else:
                sys.exit(error.str())


if __name__ == "__main__":
    sys.exit(main())
