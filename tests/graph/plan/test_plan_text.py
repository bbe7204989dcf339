from __future__ import annotations

from textwrap import dedent

from tests.graph.programs import Programs

from penstock.common.plain_text import text_width
from penstock.graph.plan.plan_text import explain_text
from penstock.runtime.exchange.partitioners import ShufflePartitioner


def explained(program: Programs) -> str:
    return explain_text(program.job_graph(job_name="flights"))


def test_one_chain() -> None:
    program = Programs()
    program.sink(program.map(program.source(), name="parse"))
    assert explained(program) == dedent("""\
        Job 'flights': 1 chain on 1 level

        level 0
        ╭─ [1] parallelism 1 ─╮
        │ Source: numbers     │
        │ parse               │
        │ Sink: Print         │
        ╰─────────────────────╯""")


def test_branches_exchanges_and_side_outputs() -> None:
    program = Programs()
    parsed = program.map(program.source(), name="parse")
    kept = program.map(parsed, name="keep")
    program.sink(program.map(kept, name="format"))
    program.sink(program.side_output(kept, "odd"), name="Sink: odd")
    program.sink(program.side_output(parsed, "broken"), name="Sink: broken")
    totals = program.map(program.key_by(kept), name="totals", parallelism=4)
    moved = program.partition(program.side_output(kept, "late"), ShufflePartitioner())
    both = program.map(program.union(totals, moved), name="both", parallelism=2)
    program.sink(both, parallelism=2)
    assert explained(program) == dedent("""\
        Job 'flights': 3 chains on 3 levels

        level 0
        ╭─ [1] parallelism 1 ───────╮
        │ Source: numbers           │
        │ parse                     │
        │ ├─ keep                   ├─ HASH (key by) ─▶ [2] totals
        │ │                         ├─ 'late', SHUFFLE ─▶ [3] both
        │ │  ├─ format              │
        │ │  │  Sink: Print         │
        │ │  └─ 'odd': Sink: odd    │
        │ └─ 'broken': Sink: broken │
        ╰───────────────────────────╯

        level 1
        ╭─ [2] parallelism 4 from [1] ─╮
        │ totals                       ├─ REBALANCE ─▶ [3] both
        ╰──────────────────────────────╯

        level 2
        ╭─ [3] parallelism 2 from [1], [2] ─╮
        │ both                              │
        │ Sink: Print                       │
        ╰───────────────────────────────────╯""")


def test_borders_stand_below_each_other_whatever_the_names() -> None:
    program = Programs()
    program.sink(program.map(program.source("航班"), name="two\nlines\x00 e\u0301"))
    box = explained(program).splitlines()[3:]
    assert len({text_width(line) for line in box}) == 1
    assert "│ two lines e\u0301 " in box[2]
