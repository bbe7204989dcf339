"""What a job has around it, and what may go wrong with that: its disk or store, the network, the clock."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.crash.points import WITHOUT_LOCK
from tests.crash.surroundings import disk
from tests.crash.surroundings.clock import Clock
from tests.crash.surroundings.disk import Disk
from tests.crash.surroundings.network import MODES, Relay
from tests.servers.namespaces import Namespace

_JUMPS: Final = (3_600, -3_600, 40 * 86_400, -5, 5, 0)


@dataclass
class Surroundings:
    """What a job has around it.

    Args:
        has_locks: Whether drivers lock the location.
        store: The URL of a folder in an object store, and what the environment must have for it; None for
            a disk.
        disk: The disk, if it lies; None for one that keeps everything.
        clock: The clock, if it jumps; None for the true one.
        relays: The connections that may be parted.
        cables: The networks of workers, whose cables may be pulled.
    """

    has_locks: bool = True
    store: tuple[str, Mapping[str, str]] | None = None
    disk: Disk | None = None
    clock: Clock | None = None
    relays: tuple[Relay, ...] = ()
    cables: tuple[Namespace, ...] = ()

    @property
    def name(self) -> str:
        """What the log calls them."""
        words = ["store" if self.store else "disk"]
        words += ["no-lock"] if not self.has_locks and not self.store else []
        words += ["lies"] if self.disk else []
        words += ["clock"] if self.clock else []
        return "+".join(words)

    def environment(self) -> dict[str, str]:
        """Return what drivers find in their environment."""
        found: dict[str, str] = {}
        if self.store:
            found |= self.store[1]
        if not self.has_locks:
            found[WITHOUT_LOCK] = "1"
        if self.disk:
            found[disk.VARIABLE] = self.disk.variable
        if self.clock:
            found |= self.clock.environment
        return found

    @property
    def is_parted(self) -> bool:
        """Whether a server cannot be reached now."""
        return any(relay.mode for relay in self.relays) or any(
            cable.is_pulled for cable in self.cables
        )

    def part(self, chance: random.Random) -> None:
        """Part the job from one of its servers or workers, for a moment or for longer."""
        if self.cables and chance.random() < 0.6:
            chance.choice(self.cables).part(chance.choice((0.5, 3.0, 14.0)))
            return
        chance.choice(self.relays).part(chance.choice(MODES), chance.choice((0.05, 0.3, 1.5)))

    def jump(self, chance: random.Random) -> None:
        """Let the clock jump."""
        assert self.clock is not None
        self.clock.jump(chance.choice(_JUMPS))

    def mend(self) -> None:
        """Let everything be as it was."""
        for relay in self.relays:
            relay.mend()
        for cable in self.cables:
            cable.mend()
