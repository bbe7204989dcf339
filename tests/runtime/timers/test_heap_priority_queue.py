from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.timers.heap_priority_queue import NOT_IN_QUEUE, HeapPriorityQueue


class Element:
    def __init__(self, number: int, due: int) -> None:
        self.number = number
        self.due = due
        self.heap_index = NOT_IN_QUEUE

    def __repr__(self) -> str:
        return f"{self.number}@{self.due}"


def queue_of(*dues: int) -> tuple[HeapPriorityQueue[Element], list[Element]]:
    queue = HeapPriorityQueue[Element](lambda element: element.due)
    elements = [Element(number, due) for number, due in enumerate(dues)]
    queue.add_all(elements)
    return queue, elements


def drain(queue: HeapPriorityQueue[Element]) -> list[Element]:
    found = []
    while (element := queue.poll()) is not None:
        found.append(element)
    return found


@pytest.mark.parametrize(
    ("size", "order"), [(3, "0 2 1"), (5, "0 4 3 2 1"), (8, "0 7 6 5 4 3 2 1")]
)
def test_equal_priorities_come_in_the_order_of_flinks_heap(size: int, order: str) -> None:
    queue, _ = queue_of(*[7] * size)
    assert " ".join(str(element.number) for element in drain(queue)) == order


def test_mixed_priorities_come_in_the_order_of_flinks_heap() -> None:
    queue, _ = queue_of(5, 3, 5, 3, 1, 5, 3, 1, 5, 1)
    order = "4@1 7@1 9@1 1@3 3@3 6@3 0@5 8@5 5@5 2@5"
    assert " ".join(map(repr, drain(queue))) == order


def test_an_empty_queue_has_no_head() -> None:
    queue, _ = queue_of()
    assert queue.peek() is None
    assert queue.poll() is None
    assert queue.is_empty()
    assert queue.size() == len(queue) == 0


def test_add_tells_whether_the_element_is_the_head() -> None:
    queue, _ = queue_of(5)
    assert not queue.add(Element(1, 5))
    assert queue.add(Element(2, 4))
    assert not queue.add(Element(3, 6))


def test_remove_tells_whether_the_element_was_the_head() -> None:
    queue, (first, second, third) = queue_of(1, 2, 3)
    assert not queue.remove(third)
    assert queue.remove(first)
    assert queue.peek() is second


def test_removing_what_is_elsewhere_changes_nothing() -> None:
    queue, (first,) = queue_of(1)
    other, (stranger,) = queue_of(1)
    assert not queue.remove(stranger)
    assert not queue.remove(Element(9, 0))
    assert first in queue
    assert stranger in other
    assert stranger not in queue


def test_a_removed_element_may_be_added_again() -> None:
    queue, (first, _) = queue_of(1, 2)
    queue.remove(first)
    assert first not in queue
    assert first.heap_index == NOT_IN_QUEUE
    assert queue.add(first)


def test_clear_lets_all_elements_go() -> None:
    queue, elements = queue_of(3, 1, 2)
    queue.clear()
    assert queue.is_empty()
    assert all(element.heap_index == NOT_IN_QUEUE for element in elements)
    queue.add_all(elements)
    assert [element.due for element in drain(queue)] == [1, 2, 3]


def check_heap(queue: HeapPriorityQueue[Element]) -> None:
    for index, element in enumerate(queue, start=1):
        assert element.heap_index == index
        if index > 1:
            assert queue._heap[index // 2].due <= element.due


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "remove", "poll", "adjust"]),
        st.integers(0, 9),
        st.integers(0, 99),
    ),
    max_size=60,
)


@given(OPERATIONS)
def test_it_is_a_sorted_collection(operations: list[tuple[str, int, int]]) -> None:
    queue, _ = queue_of()
    model: list[Element] = []
    for number, (operation, due, choice) in enumerate(operations):
        least = min((element.due for element in model), default=None)
        chosen = model[choice % len(model)] if model else None
        if operation == "add":
            element = Element(number, due)
            model.append(element)
            assert queue.add(element) == (least is None or due < least)
        elif operation == "poll":
            head = queue.poll()
            assert (head.due if head else None) == least
            if head is not None:
                model.remove(head)
        elif chosen is not None and operation == "remove":
            was_head = queue.peek() is chosen
            assert queue.remove(chosen) == was_head
            model.remove(chosen)
        elif chosen is not None:
            chosen.due = due
            queue.adjust(chosen)
        check_heap(queue)
        assert set(queue) == set(model)
    assert [element.due for element in drain(queue)] == sorted(element.due for element in model)
