"""Groups of operators that never run in one chain with those of others."""

from __future__ import annotations

from penstock.common.configuration.memory_size import MemorySize
from penstock.common.configuration.remarks import say_once
from penstock.errors import InvalidArgumentError

__all__ = ["SlotSharingGroup"]


class SlotSharingGroup:
    """The name of a group of operators, and what the group is to have of a machine.

    Operators of different groups never run in one chain. The resources change nothing here, since all
    operators of a job run in Spark's executors: `spark.executor.cores` and `spark.executor.memory` say
    what one has. The log says so once.

    Args:
        name: The name of the group.
        cpu_cores: The number of cores.
        task_heap_memory: The memory for functions.
        task_off_heap_memory: The memory for functions, outside of Java's heap.
        managed_memory: The memory for state.
        external_resources: Amounts of other resources, by their names.

    Example:
        >>> from penstock.testing import local_environment
        >>> group = SlotSharingGroup.builder("models").set_cpu_cores(2).set_task_heap_memory_mb(512).build()
        >>> env = local_environment().register_slot_sharing_group(group)
        >>> scores = env.from_collection([1, 2]).map(float).slot_sharing_group(group)
        >>> print(group.get_name(), group.get_cpu_cores(), group.get_task_heap_memory())
        models 2.0 512 mb
    """

    def __init__(
        self,
        name: str,
        *,
        cpu_cores: float | None = None,
        task_heap_memory: MemorySize | None = None,
        task_off_heap_memory: MemorySize | None = None,
        managed_memory: MemorySize | None = None,
        external_resources: dict[str, float] | None = None,
    ) -> None:
        self._name = name
        self._cpu_cores = cpu_cores
        self._task_heap_memory = task_heap_memory
        self._task_off_heap_memory = task_off_heap_memory
        self._managed_memory = managed_memory
        self._external_resources = dict(external_resources or {})

    def get_name(self) -> str:
        """Return the name of the group."""
        return self._name

    def get_managed_memory(self) -> MemorySize | None:
        """Return the memory for state; None if the group says nothing of resources."""
        return self._managed_memory

    def get_task_heap_memory(self) -> MemorySize | None:
        """Return the memory for functions; None if the group says nothing of resources."""
        return self._task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Return the memory outside of Java's heap; None if the group says nothing of resources."""
        return self._task_off_heap_memory

    def get_cpu_cores(self) -> float | None:
        """Return the number of cores; None if the group says nothing of resources."""
        return self._cpu_cores

    def get_external_resources(self) -> dict[str, float]:
        """Return amounts of other resources, by their names."""
        return dict(self._external_resources)

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Begin a group.

        Args:
            name: Its name.

        Returns:
            What makes it.
        """
        return SlotSharingGroup.Builder(name)

    def _resources(self) -> tuple[object, ...]:
        memory = self._task_heap_memory, self._task_off_heap_memory, self._managed_memory
        return self._cpu_cores, *memory, self._external_resources

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SlotSharingGroup)
            and self._name == other._name
            and self._resources() == other._resources()
        )

    def __hash__(self) -> int:
        return hash((self._name, self._cpu_cores, self._task_heap_memory))

    def __repr__(self) -> str:
        return f"SlotSharingGroup({self._name!r})"

    class Builder:
        """Makes a `SlotSharingGroup`. All methods but `build` return the builder.

        Args:
            name: The name of the group.

        Raises:
            InvalidArgumentError: On setting cores or the memory for functions to 0 or less, or a memory to what is
                no `MemorySize`.
        """

        def __init__(self, name: str) -> None:
            self._name = name
            self._cpu_cores: float | None = None
            self._task_heap_memory: MemorySize | None = None
            self._task_off_heap_memory: MemorySize | None = None
            self._managed_memory: MemorySize | None = None
            self._external_resources: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Set the number of cores.

            Args:
                cpu_cores: The number, above 0.
            """
            if cpu_cores <= 0:
                raise self._not_positive("cores", cpu_cores)
            self._cpu_cores = float(cpu_cores)
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the memory for functions.

            Args:
                task_heap_memory: The amount, above 0.
            """
            amount = self._checked(task_heap_memory)
            if amount == MemorySize(0):
                raise self._not_positive("task heap memory", amount)
            self._task_heap_memory = amount
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the memory for functions.

            Args:
                task_heap_memory_mb: The number of mebibytes, above 0.
            """
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(
            self, task_off_heap_memory: MemorySize
        ) -> SlotSharingGroup.Builder:
            """Set the memory for functions outside of Java's heap.

            Args:
                task_off_heap_memory: The amount. Default: 0.
            """
            self._task_off_heap_memory = self._checked(task_off_heap_memory)
            return self

        def set_task_off_heap_memory_mb(
            self, task_off_heap_memory_mb: int
        ) -> SlotSharingGroup.Builder:
            """Set the memory for functions outside of Java's heap.

            Args:
                task_off_heap_memory_mb: The number of mebibytes. Default: 0.
            """
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the memory for state.

            Args:
                managed_memory: The amount. Default: 0.
            """
            self._managed_memory = self._checked(managed_memory)
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the memory for state.

            Args:
                managed_memory_mb: The number of mebibytes. Default: 0.
            """
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Set the amount of another resource.

            Args:
                name: The name of the resource.
                value: The amount.
            """
            self._external_resources[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """Make the group.

            Returns:
                The group.

            Raises:
                InvalidArgumentError: If a resource is set, and not both the cores and the memory for functions.
            """
            memory = self._task_heap_memory, self._task_off_heap_memory, self._managed_memory
            if self._cpu_cores is None or self._task_heap_memory is None:
                if self._cpu_cores or any(memory) or self._external_resources:
                    raise InvalidArgumentError(
                        f"Slot sharing group {self._name!r} has resources, but not both cores and task heap memory.",
                        hint="Set both, with set_cpu_cores() and set_task_heap_memory_mb(), or no resources.",
                    )
                return SlotSharingGroup(self._name)
            say_once(
                f"slot sharing group {self._name}",
                f"The resources of slot sharing group {self._name!r} change nothing here: `spark.executor.cores` and "
                "`spark.executor.memory` say what an executor has.",
            )
            return SlotSharingGroup(
                self._name,
                cpu_cores=self._cpu_cores,
                task_heap_memory=self._task_heap_memory,
                task_off_heap_memory=self._task_off_heap_memory or MemorySize(0),
                managed_memory=self._managed_memory or MemorySize(0),
                external_resources=self._external_resources,
            )

        def _checked(self, amount: MemorySize) -> MemorySize:
            if not isinstance(amount, MemorySize):
                raise InvalidArgumentError(
                    f"Slot sharing group {self._name!r} was given {amount!r}, which is no MemorySize.",
                    hint="Give MemorySize.parse('512 mb'), for instance.",
                )
            return amount

        def _not_positive(self, what: str, value: object) -> InvalidArgumentError:
            return InvalidArgumentError(
                f"Slot sharing group {self._name!r} cannot have {value} {what}.",
                hint="Give more than 0.",
            )
