from __future__ import annotations

from tests.graph.programs import Programs

from penstock.common.cost import Cost
from penstock.common.job_profile import JobProfile, ProfileRow
from penstock.graph.plan.execution_plan import ExecutionPlan, execution_plan
from penstock.graph.plan.plan_svg import plan_svg
from penstock.graph.plan.plan_text import explain_text


def test_a_plan_has_three_forms() -> None:
    program = Programs()
    program.sink(program.source())
    graph = program.job_graph()
    plan = ExecutionPlan(graph)
    assert str(plan) == repr(plan) == explain_text(graph)
    assert plan._repr_html_() == plan_svg(graph)
    assert plan.to_json() == execution_plan(graph.stream_graph)


def test_an_analyzed_plan_shows_the_time_of_each_operator() -> None:
    program = Programs()
    program.sink(program.map(program.source()))
    graph = program.job_graph()
    times = dict(zip(graph.operator_ids.values(), [5.0, 1234.5, 0.0], strict=True))
    rows = tuple(ProfileRow(key, {Cost.USER: time}, key, 1) for key, time in times.items())
    profile = JobProfile(rows)
    text = str(ExecutionPlan(graph, profile))
    assert text.endswith(str(profile))
    assert "│ Source: numbers      5.0 ms   0.4 %" in text
    assert "│ Map              1,234.5 ms  99.6 %" in text
    picture = ExecutionPlan(graph, profile)._repr_html_()
    assert picture == f"{plan_svg(graph)}\n{profile.to_svg()}"
