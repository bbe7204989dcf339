"""A binary heap whose elements know their place in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

NOT_IN_QUEUE = 0
"""The `heap_index` of an element that is in no queue."""


class HeapPriorityQueueElement(Protocol):
    """What a queue asks of its elements.

    Attributes:
        heap_index: The element's place in the queue, kept by the queue; at first `NOT_IN_QUEUE`.
    """

    heap_index: int


ElementT = TypeVar("ElementT", bound=HeapPriorityQueueElement)


class HeapPriorityQueue(Generic[ElementT]):
    """A binary min-heap that removes, or moves, any of its elements in logarithmic time.

    The order in which elements of equal priority are polled is Flink's: that of the heap, not that
    of their arrival. An element may be in one queue only, and in it once.

    Args:
        priority: Gives the priority of an element: the least comes first. Whoever changes the
            priority of an element in the queue calls `adjust` with it, before anything else.

    Example:
        >>> class Task:
        ...     def __init__(self, due):
        ...         self.due, self.heap_index = due, NOT_IN_QUEUE
        >>> queue = HeapPriorityQueue(lambda task: task.due)
        >>> late, early = Task(7), Task(2)
        >>> queue.add(late), queue.add(early)
        (True, True)
        >>> early.due = 9
        >>> queue.adjust(early)
        >>> queue.peek().due
        7
    """

    def __init__(self, priority: Callable[[ElementT], Any]) -> None:
        self._priority = priority
        # The heap's root is at index 1, its children of index i at 2i and 2i + 1.
        self._heap: list[ElementT] = [None]  # type: ignore[list-item]

    def peek(self) -> ElementT | None:
        """Return the element with the least priority, or None if the queue is empty."""
        return self._heap[1] if len(self._heap) > 1 else None

    def poll(self) -> ElementT | None:
        """Remove and return the element with the least priority, or None if the queue is empty."""
        if len(self._heap) == 1:
            return None
        head = self._heap[1]
        self._remove_at(1)
        return head

    def add(self, element: ElementT) -> bool:
        """Add an element; return whether it is the new head."""
        index = len(self._heap)
        self._heap.append(element)
        element.heap_index = index
        self._sift_up(index)
        return element.heap_index == 1

    def add_all(self, elements: Iterable[ElementT]) -> None:
        """Add elements one after the other."""
        for element in elements:
            self.add(element)

    def remove(self, element: ElementT) -> bool:
        """Remove an element, if it is here; return whether it was the head."""
        if element not in self:
            return False
        index = element.heap_index
        self._remove_at(index)
        return index == 1

    def adjust(self, element: ElementT) -> None:
        """Move an element whose priority has changed to where it now belongs."""
        index = element.heap_index
        self._sift_down(index)
        if self._heap[index] is element:
            self._sift_up(index)

    def clear(self) -> None:
        for element in self:
            element.heap_index = NOT_IN_QUEUE
        del self._heap[1:]

    def is_empty(self) -> bool:
        """Return whether there is no element."""
        return len(self._heap) == 1

    def size(self) -> int:
        """Return the number of elements."""
        return len(self._heap) - 1

    def __len__(self) -> int:
        return len(self._heap) - 1

    def __iter__(self) -> Iterator[ElementT]:
        """Iterate over the elements as they lie in the heap: the head first, the rest in no order."""
        heap = iter(self._heap)
        next(heap)
        return heap

    def __contains__(self, element: ElementT) -> bool:
        index = element.heap_index
        return 0 < index < len(self._heap) and self._heap[index] is element

    def _remove_at(self, index: int) -> None:
        heap = self._heap
        heap[index].heap_index = NOT_IN_QUEUE
        last = heap.pop()
        if index < len(heap):
            heap[index] = last
            last.heap_index = index
            self.adjust(last)

    def _sift_up(self, index: int) -> None:
        heap, priority = self._heap, self._priority
        element = heap[index]
        own = priority(element)
        parent = index >> 1
        while parent > 0 and own < priority(heap[parent]):
            heap[index] = heap[parent]
            heap[index].heap_index = index
            index, parent = parent, parent >> 1
        heap[index] = element
        element.heap_index = index

    def _sift_down(self, index: int) -> None:
        heap, priority = self._heap, self._priority
        size = len(heap)
        element = heap[index]
        own = priority(element)
        while (child := index << 1) < size:
            least = priority(heap[child])
            if child + 1 < size:
                right = priority(heap[child + 1])
                if right < least:
                    child, least = child + 1, right
            if not least < own:
                break
            heap[index] = heap[child]
            heap[index].heap_index = index
            index = child
        heap[index] = element
        element.heap_index = index
