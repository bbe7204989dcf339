"""Runs a server for as long as the process that wants it: ends it when standard input ends.

    python examples/keeper.py USER COMMAND...

USER is the number of the user it runs as; nothing for the same user.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import Any

PATIENCE = 30.0


def main() -> int:
    user, *command = sys.argv[1:]
    identity: dict[str, Any] = {}
    if user:
        identity = {"user": int(user), "group": int(user), "extra_groups": []}
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, **identity)

    def end() -> None:
        sys.stdin.read()
        server.send_signal(signal.SIGINT)  # PostgreSQL then does not wait for its clients
        try:
            server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()

    threading.Thread(target=end, daemon=True).start()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main())
