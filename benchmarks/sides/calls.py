"""The asynchronous calls that are compared, and the loop by hand that makes them.

Imports nothing but the standard library, for it runs in PyFlink's environment too.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

Ask = Callable[[int], Awaitable[list[int]]]
"""Takes a number and returns it, alone in a list, after a while."""

LATENCY = 0.01
SLOW = 50 * LATENCY
SLOW_SHARE = 0.01
HANG = 30.0
HANGING = 1_500
"""The number whose call hangs: after a job's first epochs, which take longer than others."""

_rng = random.Random(1)
_IS_SLOW = [_rng.random() < SLOW_SHARE for _ in range(10_007)]


def seconds(number: int) -> float:
    """How long the call for a number takes, if now and then one is slow."""
    return SLOW if _IS_SLOW[number % len(_IS_SLOW)] else LATENCY


async def at_once(number: int) -> list[int]:
    return [number]


async def after_ten_ms(number: int) -> list[int]:
    await asyncio.sleep(LATENCY)
    return [number]


def blocking_ten_ms(number: int) -> int:
    time.sleep(LATENCY)
    return number


async def now_and_then_slow(number: int) -> list[int]:
    await asyncio.sleep(seconds(number))
    return [number]


async def one_hangs(number: int) -> list[int]:
    await asyncio.sleep(HANG if number == HANGING else LATENCY)
    return [number]


async def after_a_second(number: int) -> list[int]:
    await asyncio.sleep(1)
    return [number]


async def by_hand(
    numbers: Iterable[int], ask: Ask, concurrency: int, take: Callable[[int], object]
) -> None:
    """Makes calls, so many at once, and takes their results as they come."""
    left = iter(numbers)

    async def work() -> None:
        for number in left:
            for result in await ask(number):
                take(result)

    await asyncio.gather(*[work() for _ in range(concurrency)])


def ordered_in_theory(latencies: Sequence[float], capacity: int) -> float:
    """How many seconds an ordered queue needs for calls that cost nothing but their latency.

    Call i begins when call i - 1 has and there is room, so when the result of i - capacity is out:
    B(i) = max(B(i-1), E(i-capacity)). Its result comes out when it is there and the one before is out:
    E(i) = max(E(i-1), B(i) + L(i)).
    """
    out: list[float] = []
    begun = emitted = 0.0
    for number, latency in enumerate(latencies):
        if number >= capacity:
            begun = max(begun, out[number - capacity])
        emitted = max(emitted, begun + latency)
        out.append(emitted)
    return emitted


def share(task: int, tasks: int, records: int) -> Iterator[int]:
    """The numbers of a task."""
    return iter(range(task * records // tasks + 1, (task + 1) * records // tasks + 1))
