"""The word that a driver leaves for the source of ticks: when the next epoch is due."""

from __future__ import annotations

import os
import uuid
from typing import Final

FILE: Final = "wake-up"


def write_wake_up(folder: str, wake_up: int | None) -> None:
    """Leave word of when the next epoch is due (milliseconds), or that none is (None)."""
    draft = os.path.join(folder, f".{FILE}-{uuid.uuid4().hex}")
    with open(draft, "w", encoding="ascii") as file:
        file.write("" if wake_up is None else str(wake_up))
    os.replace(draft, os.path.join(folder, FILE))
