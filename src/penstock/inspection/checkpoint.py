"""A checkpoint as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from penstock.checkpoint.epoch_record import EpochRecord, OperatorRecord, VertexRecord
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import open_storage
from penstock.errors import DamagedStateError, UnknownOperatorError, UnknownStateError
from penstock.inspection.columns import columns_of
from penstock.inspection.epochs import deleted, read_record
from penstock.inspection.stores import Entry, OperatorStores, read_stores
from penstock.runtime.job_pickle import job_classes
from penstock.runtime.state.tables import WITH_TTL, Shape, shape_of

_STATES = pa.list_(
    pa.struct(
        [
            ("name", pa.string()),
            ("kind", pa.string()),
            ("type", pa.string()),
            ("entries", pa.int64()),
        ]
    )
)
_OPERATORS = pa.schema(
    [
        ("operator_id", pa.string()),
        ("uid", pa.string()),
        ("name", pa.string()),
        ("parallelism", pa.int32()),
        ("max_parallelism", pa.int32()),
        ("states", _STATES),
        ("entries", pa.int64()),
        ("timers", pa.int64()),
        ("bytes", pa.int64()),
    ]
)


def read_checkpoint(
    location: str,
    *,
    epoch: int | None = None,
    import_classes: bool = True,
    class_names: Mapping[str, str] | None = None,
) -> Checkpoint:
    """Read what a job remembers: from its checkpoint location, or from a savepoint.

    The job may be running. Objects are unpickled, which can run whatever code the checkpoint names: read
    those that you do not trust with `import_classes=False`. Objects whose classes cannot be imported here
    are shown as texts.

    Args:
        location: The folder or the URL of the checkpoint or savepoint.
        epoch: The number of the epoch; None for the last one that was committed, or of a job that has
            ended, the one before: at the end nothing is kept.
        import_classes: Whether classes that objects are of are imported, and objects made of them. If not,
            all but plain data and windows is shown as texts, and nothing that the checkpoint names is
            run.
        class_names: The new qualified names of classes by those under which they were written, as a job
            is told of them by `state.class-names`.

    Returns:
        The checkpoint.

    Raises:
        CheckpointNotFoundError: If there is none, or not of that epoch.
        DamagedStateError: If its metadata is not what was written.

    Example:
        >>> import tempfile
        >>> from penstock.common import Configuration, WatermarkStrategy
        >>> from penstock.testing import TestingSource, local_environment
        >>> env = local_environment()
        >>> folder = tempfile.TemporaryDirectory()
        >>> configuration = Configuration()
        >>> _ = configuration.set_string("execution.checkpointing.dir", folder.name)
        >>> env.configure(configuration)
        >>> words = env.from_source(
        ...     TestingSource([["to", "be", "to"], []]), WatermarkStrategy.no_watermarks(), "words"
        ... )
        >>> counts = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1).uid("counts")
        >>> list(counts.execute_and_collect())
        [('to', 1), ('be', 1), ('to', 2)]
        >>> checkpoint = read_checkpoint(folder.name)
        >>> checkpoint.operators().select(["uid", "entries"]).to_pylist()[2]
        {'uid': 'counts', 'entries': 2}
        >>> checkpoint.state("counts", "reduce").select(["key", "value"]).sort_by("key").to_pylist()
        [{'key': 'be', 'value': {'f0': 'be', 'f1': 1}}, {'key': 'to', 'value': {'f0': 'to', 'f1': 2}}]
        >>> folder.cleanup()
    """
    storage = open_storage(location)
    return Checkpoint(
        storage.location,
        read_record(storage, epoch),
        import_classes=import_classes,
        class_names=class_names,
    )


class Checkpoint:
    """What a job remembers after an epoch; made by `read_checkpoint`.

    State is read anew by each call, and held in memory while it is read; a job that runs may have deleted
    the epoch by then, which is a `CheckpointNotFoundError`. All tables are Arrow's:
    `to_pandas()` makes them pandas', `spark.createDataFrame(table)` Spark's.

    Args:
        location: Where it is.
        record: Its metadata.
        import_classes: See `read_checkpoint`.
        class_names: See `read_checkpoint`.
    """

    def __init__(
        self,
        location: str,
        record: EpochRecord,
        *,
        import_classes: bool = True,
        class_names: Mapping[str, str] | None = None,
    ) -> None:
        self._class_names = class_names or {}
        self._location = location
        self._record = record
        self._import_classes = import_classes

    def __repr__(self) -> str:
        return f"<Checkpoint of {self.job_name!r} after epoch {self.epoch} at {self._location}>"

    @property
    def epoch(self) -> int:
        """The number of the epoch."""
        return self._record.number

    @property
    def job_name(self) -> str:
        """The name of the job."""
        return self._record.job.name

    def operators(self) -> pa.Table:
        """Return the operators of the job, from sources to sinks.

        Returns:
            A table with the columns `operator_id`, `uid`, `name`, `parallelism`, `max_parallelism`,
            `states` (of each its name, kind, type and number of entries), `entries`, `timers` and `bytes`, the
            length of what the state is read from.

        Raises:
            DamagedStateError: If a file is missing or damaged.
        """
        rows = []
        for vertex in self._record.job.vertices:
            stores = self._read(vertex)
            rows += [
                self._summary(vertex, operator, stores[operator.operator_id])
                for operator in vertex.operators
            ]
        return pa.Table.from_pylist(rows, _OPERATORS)

    def _summary(
        self, vertex: VertexRecord, operator: OperatorRecord, stores: OperatorStores
    ) -> dict[str, Any]:
        found = [*stores.keyed, *([stores.broadcast] if stores.broadcast else [])]
        states = [
            {
                "name": name,
                "kind": kind,
                "type": next(filter(None, (store.type_of(name) for store in found)), None),
                "entries": _count(chain.from_iterable(store.values_of(name) for store in found)),
            }
            for name, kind in _kinds(stores).items()
        ]
        return {
            "operator_id": operator.operator_id,
            "uid": operator.uid,
            "name": operator.name,
            "parallelism": vertex.parallelism,
            "max_parallelism": vertex.max_parallelism,
            "states": states,
            "entries": sum(state["entries"] for state in states),
            "timers": sum(_count(store.timers()) for store in found),
            "bytes": sum(store.bytes for store in found),
        }

    def state(self, operator: str, name: str, *, limit: int | None = None) -> pa.Table:
        """Return what a state of an operator holds.

        Args:
            operator: The operator's uid, its id, or its name if no other has it.
            name: The name of the state.
            limit: The most rows; None for all.

        Returns:
            A table with a row for each value, each element of a list, and each entry of a map. Its
            columns are `key_group`, `key`, `namespace` (the window, for instance), `position` in lists,
            `map_key` in maps, `value`, and for state that expires `written_at`, in milliseconds. Broadcast
            state has neither key groups nor keys. Where Arrow has no type for all values of a column, the
            column is of texts, and one more, as `value_pickled`, holds their pickles.

        Raises:
            UnknownOperatorError: If there is no such operator, or several.
            UnknownStateError: If it has no such state.
            DamagedStateError: If a file is missing or damaged.
        """
        stores = self._stores(operator)
        kinds = _kinds(stores)
        if name not in kinds:
            raise UnknownStateError(
                f"The operator {operator!r} has no state {name!r} in epoch {self.epoch}.",
                hint=f"It has {', '.join(map(repr, kinds)) or 'no state'}.",
            )
        if stores.broadcast is not None and name in stores.broadcast.kinds():
            entries = list(islice(stores.broadcast.values_of(name), limit))
            return pa.table(_columns(stores.broadcast.kinds()[name], entries))
        found = [
            (store.key_group_of(entry.key), entry)
            for store, entry in islice(
                ((store, entry) for store in stores.keyed for entry in store.values_of(name)), limit
            )
        ]
        entries = [entry for _, entry in found]
        return pa.table(
            {
                "key_group": pa.array([group for group, _ in found], pa.int32()),
                **columns_of("key", [entry.key for entry in entries]),
                **columns_of("namespace", [entry.namespace for entry in entries]),
                **_columns(kinds[name], entries),
            }
        )

    def timers(self, operator: str, *, limit: int | None = None) -> pa.Table:
        """Return the timers of an operator.

        Args:
            operator: The operator's uid, its id, or its name if no other has it.
            limit: The most rows; None for all.

        Returns:
            A table with the columns `key_group`, `key`, `namespace`, `time_domain` (event time or
            processing time) and `timestamp`, in milliseconds.

        Raises:
            UnknownOperatorError: If there is no such operator, or several.
            DamagedStateError: If a file is missing or damaged.
        """
        every = (
            (store.key_group_of(timer.key), domain, timer)
            for store in self._stores(operator).keyed
            for domain, timer in store.timers()
        )
        found = list(islice(every, limit))
        return pa.table(
            {
                "key_group": pa.array([group for group, _, _ in found], pa.int32()),
                **columns_of("key", [timer.key for _, _, timer in found]),
                **columns_of("namespace", [timer.namespace for _, _, timer in found]),
                "time_domain": pa.array([domain for _, domain, _ in found], pa.string()),
                "timestamp": pa.array([timer.timestamp for _, _, timer in found], pa.int64()),
            }
        )

    def operator_id(self, operator: str) -> str:
        """Return the id of an operator.

        Args:
            operator: The operator's uid, its id, or its name if no other has it.

        Raises:
            UnknownOperatorError: If there is no such operator, or several.
        """
        return self._find(operator)[1]

    def _stores(self, operator: str) -> OperatorStores:
        vertex, operator_id = self._find(operator)
        return self._read(vertex)[operator_id]

    def _read(self, vertex: VertexRecord) -> dict[str, OperatorStores]:
        try:
            with job_classes({}, self._class_names):
                return read_stores(
                    self._location, self._record, vertex, import_classes=self._import_classes
                )
        except DamagedStateError as error:
            storage = open_storage(self._location)
            if self.epoch in StoredEpochs(storage).numbers():
                raise
            raise deleted(storage, self.epoch) from error

    def _find(self, operator: str) -> tuple[VertexRecord, str]:
        every = [(vertex, one) for vertex in self._record.job.vertices for one in vertex.operators]
        exact = [pair for pair in every if operator in {pair[1].uid, pair[1].operator_id}]
        found = exact or [pair for pair in every if pair[1].name == operator]
        if len(found) != 1:
            known = ", ".join(repr(one.uid or one.name) for _, one in every)
            many = "There are several operators" if found else "There is no operator"
            raise UnknownOperatorError(
                f"{many} {operator!r} in epoch {self.epoch} of {self.job_name!r}.",
                hint=f"Give a uid, or an id from operators(). There are {known}.",
            )
        return found[0][0], found[0][1].operator_id


def _kinds(stores: OperatorStores) -> dict[str, str]:
    kinds = {name: kind for store in stores.keyed for name, kind in store.kinds().items()}
    if stores.broadcast is not None:
        kinds |= {name: f"broadcast {kind}" for name, kind in stores.broadcast.kinds().items()}
    return kinds


def _columns(kind: str, entries: list[Entry]) -> dict[str, pa.Array]:
    columns: dict[str, pa.Array] = {}
    places = [entry.place for entry in entries]
    shape = shape_of(kind)
    if shape is Shape.LIST:
        columns["position"] = pa.array(places, pa.int64())
    if shape is Shape.MAP:
        columns |= columns_of("map_key", places)
    columns |= columns_of("value", [entry.value for entry in entries])
    if kind.endswith(WITH_TTL):
        columns["written_at"] = pa.array([entry.written_at for entry in entries], pa.int64())
    return columns


def _count(found: Iterable[object]) -> int:
    return sum(1 for _ in found)
