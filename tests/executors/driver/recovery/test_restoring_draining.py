from __future__ import annotations

import pickle

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.common import WatermarkStrategy
from penstock.executors.driver.recovery.restoring import begun_anew
from penstock.runtime.exchange.elements import ChannelWatermark
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.program import OperatorSpec, Program, Vertex
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.timestamp import MAX_TIMESTAMP

SOURCE, OTHER = "a" * 32, "b" * 32
STRATEGY: WatermarkStrategy = WatermarkStrategy.for_monotonous_timestamps()


def test_event_time_begins_anew_and_all_else_stays() -> None:
    source, other = SourceOperator(None, STRATEGY, 200), StreamOperator()
    specs = (
        OperatorSpec(SOURCE, "source", pickle.dumps(source)),
        OperatorSpec(OTHER, "other", pickle.dumps(other)),
    )
    program = Program("job", (Vertex(0, SOURCE, "source", specs, 1, 1, 0, source=0),))
    at_its_end = ChannelWatermark(MAX_TIMESTAMP)
    progress = SubtaskProgress(
        at_its_end,
        outputs=((0, at_its_end),),
        clock=77,
        operators=((SOURCE, b"generators"), (OTHER, b"what it keeps")),
        gauges=((MAX_TIMESTAMP, MAX_TIMESTAMP),) * 2,
        inputs=(at_its_end,) * 2,
    )
    record = EpochRecord(5, progress={(0, 0): progress.to_plain()}, is_drained=True)

    [found] = begun_anew(record, program).progress.values()

    # Nobody knows when timers of processing time are due: the first epoch comes at once.
    assert SubtaskProgress.from_plain(found) == SubtaskProgress(
        clock=77, operators=((OTHER, b"what it keeps"),), next_wake_up=77
    )
