"""Random programs on PyFlink. Runs under the interpreter that peers.py installs PyFlink for.

Started with an execution mode, it keeps one local Flink and runs programs for each line of its input:
`{"mode": "BATCH", "parallelism": 2, "programs": [...], "inputs": [...]}` is answered with the results, each with its
program's place, or with the error.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

from benchmarks.sides.on_pyflink import on_pyflink
from pyflink.common import Configuration  # type: ignore[import-not-found]
from pyflink.datastream import StreamExecutionEnvironment  # type: ignore[import-not-found]


def main() -> None:
    on_pyflink("benchmarks.flink_programs.functions")
    kinds = on_pyflink("benchmarks.flink_programs.kinds")
    for line in sys.stdin:
        order = json.loads(line)
        configuration = Configuration()
        configuration.set_string("python.execution-mode", sys.argv[1])
        configuration.set_string("python.fn-execution.bundle.time", "20")
        configuration.set_string("rest.bind-port", "0")
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        answer: dict[str, Any]
        try:
            with kinds.build(env, **order).execute_and_collect() as found:
                answer = {"results": list(found)}
        except Exception:  # noqa: BLE001 - whatever it is, it is the answer
            answer = {"error": traceback.format_exc()}
        print("answer", json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
