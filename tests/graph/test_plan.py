from __future__ import annotations

from tests.graph.programs import Programs

from penstock.graph.plan import ExecutionPlan
from penstock.graph.plan_json import execution_plan
from penstock.graph.plan_svg import plan_svg
from penstock.graph.plan_text import explain_text


def test_a_plan_has_three_forms() -> None:
    program = Programs()
    program.sink(program.source())
    graph = program.job_graph()
    plan = ExecutionPlan(graph)
    assert str(plan) == repr(plan) == explain_text(graph)
    assert plan._repr_html_() == plan_svg(graph)
    assert plan.to_json() == execution_plan(graph.stream_graph)
