"""Counts words.

python examples/word_count.py FILE                     of a text file: the final counts
python examples/word_count.py --socket localhost 9999  of what "nc -lk 9999" sends: each new
                                                       count, until Ctrl-C
"""

from __future__ import annotations

import argparse
import re

from penstock.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment


def main() -> None:
    parser = argparse.ArgumentParser(description="Counts words.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", help="a text file")
    source.add_argument("--socket", nargs=2, metavar=("HOST", "PORT"), help="what sends lines")
    arguments = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    if arguments.socket:
        host, port = arguments.socket
        count_words(env.socket_text_stream(host, int(port))).print()
        env.execute("word count")
    else:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        counts = count_words(env.read_text_file(arguments.file)).execute_and_collect("word count")
        for word, count in sorted(counts, key=lambda result: (-result[1], result[0])):
            print(f"{count:7,} {word}")


def count_words(lines: DataStream) -> DataStream:
    return (
        lines.flat_map(lambda line: re.findall(r"\w+", line.lower()))
        .map(lambda word: (word, 1))
        .key_by(lambda result: result[0])
        .sum(1)
    )


if __name__ == "__main__":
    main()
