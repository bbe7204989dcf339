"""The user functions that every side of a comparison calls.

Equal numbers share a key, so what the running sums are does not depend on the order of arrival:
every engine must come to the same updates, and their count and sum can be compared.
"""

from __future__ import annotations

BUCKETS = 1_000

Pair = tuple[int, int]


def spread(number: int) -> int:
    return number * 7 + 3


def bucket(number: int) -> int:
    return number % BUCKETS


def is_wanted(number: int) -> bool:
    return number % 10 != 0


def key_of(number: int) -> int:
    return number


def add(left: int, right: int) -> int:
    return left + right


def is_even(total: int) -> bool:
    return total % 2 == 0


def expected(records: int) -> tuple[int, int]:
    """Count and sum of the updates that the numbers 1 to `records` lead to."""
    sums: dict[int, int] = {}
    count = total = 0
    for number in range(1, records + 1):
        value = bucket(spread(number))
        if is_wanted(value):
            key = key_of(value)
            sums[key] = add(sums[key], value) if key in sums else value
            if is_even(sums[key]):
                count += 1
                total += sums[key]
    return count, total


def pair(number: int) -> Pair:
    return (number, 0)


def step_1(record: Pair) -> Pair:
    return (record[0], record[1] + 1)


def step_2(record: Pair) -> Pair:
    return (record[0] + 1, record[1])


def step_3(record: Pair) -> Pair:
    return (record[0], record[1] + 3)


def step_4(record: Pair) -> Pair:
    return (record[0] - 1, record[1])


def step_5(record: Pair) -> Pair:
    return (record[1], record[0])


def step_6(record: Pair) -> Pair:
    return (record[0] + 2, record[1])


def step_7(record: Pair) -> Pair:
    return (record[0], record[1] - 3)


def step_8(record: Pair) -> Pair:
    return (record[1], record[0])


def step_9(record: Pair) -> int:
    return record[0] + record[1]


def ten_steps(number: int) -> int:
    """The ten functions, one inside the other, as a person would write them in a loop."""
    return step_9(step_8(step_7(step_6(step_5(step_4(step_3(step_2(step_1(pair(number))))))))))
