"""Every error penstock raises on purpose: one named class per cause.

A message says what happened, then, after a blank line, `Hint:` and what to do.
"""

from __future__ import annotations


class PenstockError(Exception):
    """Base class of all errors raised by penstock.

    Args:
        message: What happened, with the operator and the record where there is one.
        hint: What the reader can do about it.

    Example:
        >>> print(PenstockError("The source 'numbers' has no split.", hint="Give it one."))
        The source 'numbers' has no split.
        <BLANKLINE>
        Hint: Give it one.

    Attributes:
        operator: The name of the operator whose function met the error; None if it was not met in one.
        record: The text of the record that function was called with, shortened; None if there was none.
        user_traceback: The traceback of that function as text, without frames of penstock's; None if there is none.
        user_class: The class of what that function raised, as tracebacks name it; None if it is the error's own.
        user_line: The user's own line that it failed in, as `rides.py:14 in fare`; None if that is not known.
    """

    operator: str | None = None
    record: str | None = None
    user_traceback: str | None = None
    user_class: str | None = None
    user_line: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\n\nHint: {hint}")
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(
    cls: type[PenstockError], args: tuple[object, ...], state: dict[str, object]
) -> PenstockError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error


class JavaNotFoundError(PenstockError):
    """Raised when Spark is to be started and there is no Java for it to run on."""


class NotInPenstockError(PenstockError, ImportError):
    """Raised when a name of PyFlink's is imported that penstock has not; the hint is what does its work."""


class InvalidArgumentError(PenstockError, ValueError):
    """Raised when an argument has a value that the call cannot take."""


class NotAvailableFromPythonError(PenstockError):
    """Raised when a program asks for what PyFlink wraps of Java, and what runs in no Python process."""


class InvalidParallelismError(InvalidArgumentError):
    """Raised when a parallelism is below 1 or above the maximum parallelism."""


class ForwardParallelismError(InvalidParallelismError):
    """Raised when a forward edge joins operators of different parallelism."""


class DuplicateUidError(PenstockError):
    """Raised when two operators of one program have the same uid."""


class MissingUidError(PenstockError):
    """Raised when an operator has no uid, and `pipeline.auto-generate-uids` says that each has to have one."""


class NoSinkError(PenstockError):
    """Raised when a program that has no sink, or no operator at all, is to be executed."""


class FunctionNotSerializableError(PenstockError):
    """Raised when a user's function cannot be pickled, so that no worker could run it."""


class ValueNotSerializableError(PenstockError):
    """Raised when a record or a state value cannot be pickled, so that it cannot leave its process."""


class ValueNotCopyableError(PenstockError):
    """Raised when a record cannot be copied, and object reuse is off, so that its operators get copies."""


class InvalidKeyError(PenstockError):
    """Raised when a value cannot be a key: it cannot be hashed, or not alike in every process."""


class ColumnNotFoundError(PenstockError, AttributeError):
    """Raised when a field or column is named that the record or frame does not have."""


class UserFunctionError(PenstockError):
    """Raised when a function of the user raised.

    The message begins with the user's own traceback, and names operator and record.

    Attributes:
        operator: The name of the operator whose function raised.
        record: The text of the record it was called with, shortened; None if there was none.
    """

    operator: str = ""


class LostBufferError(PenstockError):
    """Raised when what a task received from another has a gap, or its end never came."""


class InconsistentEpochError(PenstockError):
    """Raised when tasks of one epoch read different attempts of one sender, however often retried."""


class JobFailedError(PenstockError):
    """Raised when the engine failed a job for a reason that is not the user's function."""


class WorkerLostError(JobFailedError):
    """Raised when a Python worker or an executor died more often than Spark tries a task: killed, say."""


class WorkerPythonError(JobFailedError):
    """Raised when Python workers cannot run a program: their Python is of another version, or lacks a package."""


class RecordTooLargeError(PenstockError):
    """Raised when a record is larger, in pickled form, than what can go from one process to another."""


class SourceNotReadableError(PenstockError):
    """Raised when the input of a job cannot be read or reached."""


class KafkaNotReachableError(SourceNotReadableError):
    """Raised when no broker of a Kafka answers for too long."""


class KafkaAccessError(SourceNotReadableError):
    """Raised when a Kafka refuses the user who reads: the password is wrong, say, or a right is missing."""


class KafkaTopicNotFoundError(SourceNotReadableError):
    """Raised when a Kafka has not the topic, or the partition, that is to be read."""


class KafkaOffsetNotFoundError(SourceNotReadableError):
    """Raised when a partition of Kafka has not, or no longer, the offset it is to be read from."""


class KafkaPropertyError(InvalidArgumentError):
    """Raised when the client of Kafka does not know a property, or does not take its value."""


class DamagedStateError(PenstockError):
    """Raised when a state file is missing, truncated, or not what was written."""


class LostEpochError(DamagedStateError):
    """Raised when the metadata of an epoch is gone that was committed, as something shows that came of it.

    Attributes:
        epoch: The number of the epoch.
    """

    epoch: int = -1

    @classmethod
    def after(cls, last: int, shown: int, where: str, by: str) -> LostEpochError:
        """Return the error for a job.

        Args:
            last: The last epoch whose metadata is there; -1 for none.
            shown: The epoch that was committed.
            where: The job's checkpoint location, or where its output goes.
            by: What shows that.
        """
        found = f"the last one that is there is epoch {last}" if last >= 0 else "none is there"
        error = cls(
            f"The metadata of epoch {shown} is gone, and {found}: {by} that epoch {shown} was committed ({where}).",
            hint="Restore the checkpoint location from a backup. To go on from what is there, which delivers again "
            "what came after it, start at a new location with this one as execution.state-recovery.path; to "
            "begin anew, give the job a new location.",
        )
        error.epoch = shown
        return error


class UnknownFieldError(ColumnNotFoundError, KeyError, ValueError):
    """Raised when a field of a row is asked for by a name that the row does not have.

    It is an AttributeError, a KeyError and a ValueError: a program written for PyFlink expects one
    of the three, depending on how it asks.
    """

    def __str__(self) -> str:
        return Exception.__str__(self)


class RowFieldNamesError(PenstockError, TypeError, ValueError):
    """Raised when the names of a row's fields are missing where needed, or do not fit its values."""


class ImmutableRowError(PenstockError, TypeError):
    """Raised when a row of a DataFrame is to be changed."""


class InvalidDurationError(PenstockError, ValueError):
    """Raised when something that should say how long a time is does not."""


class TypeMismatchError(PenstockError, TypeError):
    """Raised when a value is not of the type that was declared for it."""


class UnsupportedTypeError(PenstockError, TypeError):
    """Raised when a type is described that there cannot be, or that has no counterpart."""


class UnknownConfigurationKeyError(PenstockError, KeyError):
    """Raised with `configuration.strict` when a key is set that seems to be mistyped."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class InvalidConfigurationValueError(PenstockError, ValueError):
    """Raised when a configuration key is set to, or read as, what it cannot be."""


class MetricsLibraryNotFoundError(PenstockError, ImportError):
    """Raised when a reporter of metrics is configured and the library that it takes is not installed."""


class MetricsNotReportedError(PenstockError, OSError):
    """Raised when what a reporter of metrics sends them to does not take them; the job goes on."""


class SparkNotFoundError(PenstockError, ImportError):
    """Raised when a program is to run on Spark and pyspark is not installed."""


class SparkTooOldError(PenstockError):
    """Raised when pyspark, or the Spark of a session, is older than penstock runs on."""


class UnknownSparkError(PenstockError):
    """Raised when pyspark, or the Spark of a session, is none that penstock is tested with: newer, or without a number."""


class SparkPackageError(PenstockError, ImportError):
    """Raised when a package, or the Python that runs the program, does not go with the Spark that is installed, or is missing."""


class SparkServerNotNamedError(PenstockError):
    """Raised when only the client of Spark Connect is installed, and nothing names the server that it is to ask."""


class StreamingOnConnectError(PenstockError):
    """Raised when a program that reads a stream of Spark's cannot run in a session of Spark Connect; the hint says how it can."""


class JobDriverLostError(PenstockError):
    """Raised when the driver's side of a job on Spark Connect, which runs in a process of the server, has died."""


class JobRunsElsewhereError(PenstockError):
    """Raised when a job is started at whose checkpoint location another program, or another version of it, runs."""


class NoRunningJobError(PenstockError):
    """Raised when a job is to be followed by its checkpoint location, and none runs there."""


class ReportsMissedError(PenstockError):
    """Raised when a client that collects results was away for so long that some of them are gone."""


class TriggerNotSupportedError(PenstockError):
    """Raised when a stream is to run on where the platform allows only runs that read what is there."""


class PortInUseError(PenstockError):
    """Raised when a port that was asked for is taken."""


class JobsNotReachableError(PenstockError, OSError):
    """Raised by the command `penstock` where no REST API of a job answers."""


class JobsRefusedError(PenstockError):
    """Raised by the command `penstock` where a job's REST API refuses what was asked for, or has failed with it."""


class UnknownJobError(PenstockError):
    """Raised by the command `penstock` where there is no such job, or where several are meant."""


class UnsupportedOperationError(PenstockError):
    """Raised when something is asked for that cannot be done in the place where it is asked for."""


class InvalidFunctionError(PenstockError, TypeError):
    """Raised when what was given as a function cannot be called as the operation will call it."""


class ProcessingTimeServiceShutDownError(PenstockError):
    """Raised when a processing-time timer is registered after its task has ended."""


class InvalidTimerError(InvalidArgumentError):
    """Raised when a timer is registered or deleted for what is no time in milliseconds."""


class InvalidTimeToLiveError(InvalidArgumentError):
    """Raised when the values of a state are to live for no time at all, or less."""


class StateTypeMismatchError(PenstockError):
    """Raised when one state is asked for with two types, or another than it was written with."""


class WindowsChangedError(StateTypeMismatchError):
    """Raised when a checkpoint holds windows that the program would not find, or would take for others."""


class MutatedKeyError(PenstockError):
    """Raised when a key was changed after state was kept under it, so that it cannot be found."""


class RocksDBFolderError(PenstockError, OSError):
    """Raised when RocksDB is to have its files in a folder that it cannot use."""


class RocksDBOptionsError(PenstockError):
    """Raised when RocksDB opens no database with the options that it is given, or their factory fails."""


class RocksDBNotFoundError(PenstockError, ImportError):
    """Raised when state is to be kept in RocksDB and rocksdict is not installed."""


class InvalidTimestampError(PenstockError, ValueError):
    """Raised when a record has no timestamp where one is needed, or one that is no 64-bit integer."""


class ReadOnlyStateError(PenstockError):
    """Raised when broadcast state is changed from the input that may only read it."""


class UnknownBroadcastStateError(InvalidArgumentError):
    """Raised when a broadcast state is asked for that `broadcast` was not told of."""


class NoKeyError(PenstockError):
    """Raised when keyed state or a key is asked for where there is no key."""


class TriggerCannotMergeError(InvalidArgumentError):
    """Raised when windows that merge, such as sessions, are given a trigger that cannot."""


class LateMergedWindowError(PenstockError):
    """Raised when windows become one that is late already, so that its result could not be known."""


class NonAssociativeReduceError(PenstockError):
    """Raised when windows share what a reduce function comes to, and it depends on the grouping."""


class MergeMismatchError(PenstockError):
    """Raised when windows are to share panes, and `merge` of their aggregate function does not fit `add`."""


class WindowStateError(UnsupportedOperationError):
    """Raised when a function asks for the state of one window where there can be none."""


class InvalidWindowError(InvalidArgumentError):
    """Raised when windows are asked for that there cannot be, such as windows of no size."""


class InvalidSessionGapError(InvalidArgumentError):
    """Raised when a gap extractor returns what is no length of time, or none above zero."""


class InvalidTriggerError(InvalidArgumentError):
    """Raised when a trigger is asked for that there cannot be, such as one that counts to zero."""


class InvalidEvictorError(InvalidArgumentError):
    """Raised when an evictor is asked for that there cannot be, such as one that keeps -1 records."""


class JobCancelledError(PenstockError):
    """Raised where the result of a job is asked for that was cancelled.

    Also in a task of it that waits for calls; of that nobody hears.
    """


class EventLoopDiedError(PenstockError):
    """Raised when the event loop that asynchronous functions run on has ended."""


class LateRecordsDroppedWarning(UserWarning):
    """Warns that a bounded job dropped records because they came late: they are missing in its results."""


class EventLoopBlockedWarning(UserWarning):
    """Warns of an asynchronous function that does not await, so that no other call goes on."""


class AsyncTimeoutError(PenstockError, TimeoutError):
    """Raised when an asynchronous call did not end in time.

    Attributes:
        operator: The name of the operator whose call it was.
        record: The text of the record it was called with, shortened.
    """

    operator: str = ""


class AsyncResultError(PenstockError, TypeError):
    """Raised when an asynchronous function gave what is no list of results."""


class EpochTakenError(PenstockError):
    """Raised when an epoch is to be committed that was committed before, by another driver."""


class LocationInUseError(PenstockError):
    """Raised when a second driver is started on a checkpoint location, or has taken it over."""


class CheckpointMismatchError(PenstockError):
    """Raised when a program, its checkpoint and what Spark remembers of it do not belong together."""


class OtherJobError(CheckpointMismatchError):
    """Raised when a job is started on the checkpoint location of another job, or of a query of Spark's."""


class NoCheckpointLocationError(PenstockError):
    """Raised when a job is to go on with its next run, and has no checkpoint location to go on from."""


class NoCheckpointLocationWarning(UserWarning):
    """Warns that a streaming job has state and no checkpoint location: the state dies with the job."""


class UnclaimedStateWarning(UserWarning):
    """Warns of an operator that has asked for new states, and not for others that its checkpoint holds."""


class CacheNotKeptWarning(UserWarning):
    """Warns that the records of a cached stream were not kept, so that later executions compute them again."""


class CheckpointsOpenToOthersWarning(UserWarning):
    """Warns that others can write where checkpoints are: what a job restores is unpickled, which runs code."""


class ObstoreNotFoundError(PenstockError, ImportError):
    """Raised when something is in an object store and obstore is not installed."""


class ObjectStoreError(PenstockError, OSError):
    """Raised when an object store cannot be opened, or refuses to read or write a file."""


class SavepointError(PenstockError):
    """Raised when a savepoint cannot be written or read, or there is none."""


class EpochListenerWarning(UserWarning):
    """Warns of an epoch listener that raised; the job goes on."""


class WaitInListenerError(PenstockError):
    """Raised when an epoch listener waits for the end of the job that it listens to."""


class CheckpointNotFoundError(PenstockError):
    """Raised when there is no checkpoint at a location, or not the epoch that was asked for."""


class UnknownOperatorError(InvalidArgumentError):
    """Raised when a checkpoint has no operator of that name, or several."""


class StateClassNotFoundError(PenstockError, ImportError):
    """Raised when a class is not there of which something was kept in state.

    Attributes:
        operator: The name of the operator whose state it is, if that is known.
    """


class UnknownStateError(InvalidArgumentError):
    """Raised when an operator has no state of that name in a checkpoint."""


class SinkError(PenstockError):
    """Base class of what penstock's own sinks raise for what they write to."""


class LostOutputError(SinkError):
    """Raised when what a sink prepared is no longer there, or not what was written."""


class SinkNotWritableError(SinkError, OSError):
    """Raised when the place that a sink writes to refuses it: no room, no right, not reached."""


class SinkNotReachableError(SinkNotWritableError):
    """Raised when the place that a sink writes to does not answer for too long."""


class SinkTableError(SinkError):
    """Raised when the table that a sink writes to, or one of its columns, does not exist."""


class SinkTopicError(SinkError):
    """Raised when a topic that a sink writes to does not exist, or may not be written to."""


class SinkRowError(SinkError, ValueError):
    """Raised when the table, the index or the topic that a sink writes to does not take a record."""


class EpochsTopicLostError(SinkError):
    """Raised when the topic is gone that says which epochs a sink has sent, so that one might be sent twice."""


class ProducerFencedError(SinkError):
    """Raised when another job, or another driver of the job, has taken over a sink's transactional id."""


class PsycopgNotFoundError(PenstockError, ImportError):
    """Raised when rows go to PostgreSQL and psycopg is not installed."""


class KafkaClientNotFoundError(PenstockError, ImportError):
    """Raised when Kafka is read or written and confluent-kafka is not installed."""


class KafkaConnectorNotFoundError(PenstockError):
    """Raised when Spark's connector for Kafka is to read a topic, and is not in the SparkSession."""


class FastavroNotFoundError(PenstockError, ImportError):
    """Raised when Avro is read or written and fastavro is not installed."""


class MalformedMessageError(PenstockError, ValueError):
    """Raised when bytes are no record of the format in which they are read."""


class NoSchemaIdError(MalformedMessageError):
    """Raised when a message does not begin with the id of a schema, as those of a schema registry do."""


class UnknownSchemaError(MalformedMessageError):
    """Raised when a schema registry does not know the schema that a message names."""


class IncompatibleSchemaError(PenstockError):
    """Raised when records of one schema cannot be read with another, or a schema registry refuses it for that."""


class SchemaRegistryNotReachableError(PenstockError, OSError):
    """Raised when a schema registry is away, or too busy, for longer than it is tried again."""


class SchemaRegistryRefusedError(PenstockError):
    """Raised when a schema registry refuses a request: the user may not ask, or the schema is none, say."""


class SchemaRegistryClientNotFoundError(PenstockError, ImportError):
    """Raised when a schema registry is needed and the client for it is not installed."""


class DatabaseClientNotFoundError(PenstockError, ImportError):
    """Raised when rows go to a database whose Python client is not installed, or not known."""


class CheckpointNotWritableError(PenstockError, OSError):
    """Raised when the checkpoint location cannot be written: it is full, say, or read-only."""


class CheckpointNotSharedError(CheckpointNotWritableError):
    """Raised when what workers write to the checkpoint location is not there for the driver."""


class CheckpointNotReadableError(PenstockError, OSError):
    """Raised when the checkpoint location does not say what is in it: a disk that is away for a while, say."""


class SparkServerNotReachableError(JobFailedError):
    """Raised when a server of Spark Connect does not answer for as long as its client asks."""


class SessionLostError(JobFailedError):
    """Raised when the SparkSession that a job ran on has ended, so that it cannot be restarted there."""


class JavaProcessLostError(SessionLostError):
    """Raised when Spark's Java process died that penstock started: a restart starts another."""


class MaxParallelismChangedError(PenstockError):
    """Raised when state is to be taken up by a program that divides keys into other key groups."""


class UnclaimedStateError(PenstockError):
    """Raised when a checkpoint holds state of an operator that the program does not have."""


class KeyFieldOrderError(PenstockError):
    """Raised when keys are rows with the fields of those that a checkpoint keeps state under, in another order.

    Or with names, where those have none.
    """


class UnclaimedOutputError(PenstockError):
    """Raised when an epoch is committed and not delivered, and the program has not the sink it is for."""


class StateNotRescalableError(UnsupportedOperationError):
    """Raised when an operator's parallelism was changed, and its state cannot be divided anew."""


class ArchiveNotReadableError(PenstockError, OSError):
    """Raised when an archive that functions need is none, or cannot be unpacked."""


class RequirementsNotInstalledError(PenstockError):
    """Raised when pip does not install the packages that functions require."""


class CachedFileNotFoundError(PenstockError, KeyError):
    """Raised when a function asks for a file that was not registered."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class JarsNotLoadedError(PenstockError):
    """Raised when a job needs jars, and the SparkSession that it is to run in was built without them."""


class OtherInterpreterError(UnsupportedOperationError):
    """Raised when functions are to run in another Python than the one that runs the program, and cannot."""
