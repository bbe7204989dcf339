"""Kills a streaming job on Spark Connect again and again, and looks whether each record counts once.

    python -m tests.crash.connect.on_connect --kills 20 --seed 1

A kill ends the driver's side of the job on the server, the process there that hands micro-batches to it, the workers,
the client, or the server with all of these.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

from tests.servers.connect_server import ConnectServer
from tests.servers.processes import Process, kill, processes

KINDS: Final = ("driver", "relay", "workers", "client", "server")
_SECONDS_FOR_EPOCH: Final = 240.0
_WORDS: Final = ("to", "be", "or", "not", "that", "is")

PROGRAM: Final = """
import os
import sys
import time

from pyspark.sql import SparkSession

from penstock.common import Configuration, Types
from penstock.common.serialization import Encoder
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.datastream.state import ValueStateDescriptor

root, server = sys.argv[1:]


class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, context):
        self.count.update((self.count.value() or 0) + 1)
        yield f"{value} {self.count.value()}"


spark = SparkSession.builder.remote(server).getOrCreate()
settings = {
    "execution.checkpointing.dir": f"{root}/checkpoints",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "100 ms",
}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings), spark=spark)
env.set_parallelism(2)
files = spark.readStream.schema("value string").option("maxFilesPerTrigger", "1").text(f"{root}/in")
words = env.from_data_frame(files).map(lambda row: row.value)
counts = words.key_by(lambda word: word).process(Count(), output_type=Types.STRING())
sink = FileSink.for_row_format(f"{root}/out", Encoder.simple_string_encoder())
counts.sink_to(sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build())
job = env.execute_async("counting")
while not os.path.exists(f"{root}/end") and not job.get_job_status().result().is_terminal_state():
    time.sleep(0.1)
job.stop().result()
"""


class CrashTestFailed(Exception):
    """Not each record has counted once, or the job does not go on."""


class Trial:
    """A job that is killed.

    Args:
        folder: Where everything is.
        seed: What is left to chance comes of it.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        self._expected: Counter[str] = Counter()
        self._files = 0
        (folder / "in").mkdir()
        self._script = folder / "program.py"
        self._script.write_text(PROGRAM)
        self._server: ConnectServer | None = None
        self._client: subprocess.Popen[bytes] | None = None
        self._log = (folder / "clients.log").open("ab")
        self._servers = 0
        self.killed: Counter[str] = Counter()

    def feed(self) -> None:
        """Put one more file where the job reads."""
        words = self._chance.choices(_WORDS, k=5)
        self._expected.update(words)
        draft = self._folder / "draft"
        draft.write_text("".join(f"{word}\n" for word in words))
        draft.rename(self._folder / "in" / f"{self._files:06d}")
        self._files += 1

    def results(self) -> Counter[str]:
        """Return the results, and how often each is there."""
        # What begins with a dot is not published.
        names = self._folder.glob("out/**/*") if (self._folder / "out").is_dir() else ()
        shown = [
            path
            for path in names
            if not any(part.startswith(".") for part in path.relative_to(self._folder).parts)
        ]
        files = [path for path in shown if path.is_file()]
        return Counter(line for path in files for line in path.read_text().splitlines())

    def start(self) -> None:
        """Start what does not run: a server, and a client."""
        if self._server is None:
            self._servers += 1
            self._server = ConnectServer(self._folder / f"server-{self._servers}")
        if self._client is None or self._client.poll() is not None:
            self._client = subprocess.Popen(
                [sys.executable, self._script, self._folder, self._server.url],
                stdout=self._log,
                stderr=self._log,
            )

    def strike(self, kind: str) -> None:
        """Kill something once there are more results, or at any moment."""
        self.start()
        before = self.results().total()
        self.feed()
        self.feed()
        if self._chance.random() < 0.7:
            self._wait_for(before + 1)
        time.sleep(self._chance.random())
        self.killed[kind] += self._kill(kind) > 0

    def _wait_for(self, results: int) -> None:
        until = time.monotonic() + _SECONDS_FOR_EPOCH
        while self.results().total() < results:
            if time.monotonic() > until:
                raise CrashTestFailed(f"The job has not gone on after {_SECONDS_FOR_EPOCH} s.")
            self.start()
            time.sleep(0.1)

    def _kill(self, kind: str) -> int:
        assert self._server is not None
        assert self._client is not None
        if kind == "server":
            self._server.close()
            self._server = None
            self._end_client(signal.SIGKILL)
            return 1
        if kind == "client":
            self._end_client(signal.SIGKILL)
            return 1
        found = processes(self._server.session)
        return kill(process.pid for process in found if self._is_meant(kind, process))

    def _is_meant(self, kind: str, process: Process) -> bool:
        if kind == "workers":
            return process.is_spark_worker
        if "foreach_batch_worker" not in process.command:
            return False
        return (process.pid == self._driver()) == (kind == "driver")

    def _driver(self) -> int | None:
        try:
            owner = (self._folder / "checkpoints" / "lock").read_text().split()
        except FileNotFoundError:
            return None
        return int(owner[1]) if len(owner) > 1 else None

    def _end_client(self, number: int) -> None:
        if self._client is not None:
            self._client.send_signal(number)
            self._client.wait()
            self._client = None

    def check(self) -> None:
        """Let the job come to the end of its input, and stop it.

        Raises:
            CrashTestFailed: If not each record has counted once.
        """
        self.start()
        self.feed()
        self._wait_for(self._expected.total())
        (self._folder / "end").touch()
        assert self._client is not None
        if self._client.wait(60):
            raise CrashTestFailed("The client has not ended well.")
        self.compare()

    def compare(self) -> None:
        """Compare the results with what was fed.

        Raises:
            CrashTestFailed: If not each record has counted once.
        """
        expected = Counter(
            f"{word} {number}"
            for word, times in self._expected.items()
            for number in range(1, times + 1)
        )
        found = self.results()
        if found != expected:
            raise CrashTestFailed(f"too many: {found - expected}, lost: {expected - found}")

    def close(self) -> None:
        """End all that runs."""
        self._end_client(signal.SIGKILL)
        if self._server is not None:
            self._server.close()
        self._log.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="penstock-crash-"))
    begun = time.monotonic()
    trial = Trial(folder, given.seed)
    try:
        for number in range(given.kills):
            if time.monotonic() - begun > given.seconds:
                break
            trial.strike(KINDS[number % len(KINDS)])
            print(f"{time.monotonic() - begun:.0f} s: {dict(trial.killed)}", flush=True)
        trial.check()
        print(f"{os.path.basename(folder)}: {dict(trial.killed)}, and each record has counted once")
    finally:
        trial.close()


if __name__ == "__main__":
    main()
