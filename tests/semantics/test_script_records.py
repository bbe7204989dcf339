"""Records of classes that a user's script defines: they cross exchanges, are keys, and are state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.semantics.running import run_script

SCRIPT = """
import json
import sys
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.testing import TestingSource


class Side(Enum):
    BUY = "buy"
    SELL = "sell"


@dataclass(frozen=True)
class Account:
    owner: str
    number: int


class Trade(NamedTuple):
    account: Account
    side: Side
    amount: int


@dataclass
class Total:
    account: Account
    side: Side
    amount: int
    last: Trade


class Check(KeyedProcessFunction):
    def process_element(self, trade, ctx):
        assert type(trade) is Trade and type(trade.account) is Account, type(trade)
        assert ctx.get_current_key() is trade.side and trade.side in (Side.BUY, Side.SELL)
        yield Total(trade.account, trade.side, trade.amount, trade)


def add(known, new):
    assert type(known) is Total and type(known.last) is Trade
    assert known.account == new.account and known.side is new.side
    return Total(known.account, known.side, known.amount + new.amount, new.last)


def totals(trades):
    checked = trades.key_by(lambda trade: trade.side).process(Check())
    by_account = checked.key_by(lambda total: (total.account, total.side)).reduce(add)
    found = {}
    with by_account.execute_and_collect() as results:
        for total in results:
            assert type(total) is Total and total.side in (Side.BUY, Side.SELL)
            assert total.last.account == total.account
            key = f"{total.account.owner}{total.account.number} {total.side.value}"
            found.setdefault(key, []).append(total.amount)
    return found


def trade(row):
    return Trade(Account(row["owner"], len(row["owner"])), Side[row["side"]], row["amount"])


def from_rows(epochs):
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration().set_string("execution.target", "local")
    ).set_parallelism(3)
    source = TestingSource([[trade(row) for row in epoch] for epoch in epochs])
    return totals(env.from_source(source, WatermarkStrategy.no_watermarks(), "trades"))


def from_files(folder):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2, 4]").config("spark.ui.enabled", "false")
    spark = spark.config("spark.log.level", "ERROR").getOrCreate()
    reader = spark.readStream.schema("owner string, side string, amount int")
    rows = reader.option("maxFilesPerTrigger", 1).json(folder)
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration().set_string("execution.epoch.available-now", "true")
    ).set_parallelism(3)
    found = totals(env.from_data_frame(rows).map(trade))
    spark.stop()
    return found


if __name__ == "__main__":
    epochs = json.loads(sys.argv[2])
    print(json.dumps([from_rows(epochs), from_files(sys.argv[1])]))
"""

EPOCHS = [
    [("ann", "BUY", 1), ("bob", "BUY", 10), ("ann", "SELL", 100)],
    [("ann", "BUY", 2), ("ann", "BUY", 3)],
    [("bob", "BUY", 20), ("ann", "SELL", 200), ("ann", "BUY", 4)],
]
TOTALS = {"ann3 buy": [1, 3, 6, 10], "bob3 buy": [10, 30], "ann3 sell": [100, 300]}


@pytest.mark.spark
def test_classes_of_a_script(tmp_path: Path) -> None:
    folder = tmp_path / "trades"
    folder.mkdir()
    rows = [
        [dict(zip(("owner", "side", "amount"), row, strict=True)) for row in epoch]
        for epoch in EPOCHS
    ]
    for number, epoch in enumerate(rows):
        (folder / f"{number}.json").write_text("\n".join(map(json.dumps, epoch)))

    local, spark = json.loads(run_script(tmp_path, SCRIPT, str(folder), json.dumps(rows)))

    assert local == TOTALS
    # The files of one second may be read in any order.
    assert {key: (len(found), found[-1]) for key, found in spark.items()} == {
        key: (len(found), found[-1]) for key, found in TOTALS.items()
    }
