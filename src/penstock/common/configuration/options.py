"""All that can be configured with effect. The keys and defaults are Flink's, unless their text says otherwise."""

from __future__ import annotations

from typing import Final

from penstock.common.configuration import metric_options, options_without_effect, rocksdb_options
from penstock.common.configuration.config_option import ClassNames, ConfigOption, Location
from penstock.common.configuration.memory_size import MemorySize
from penstock.common.configuration.rest_options import *  # noqa: F403 - options, as those below are
from penstock.common.time import Duration

STRICT: Final = ConfigOption(
    "configuration.strict",
    bool,
    default=False,
    description="Whether a key that is nearly one of these, and none itself, is refused as a typing mistake. "
    "If not, it is kept as the user's own, and the log has a warning. Not in Flink.",
)
PARALLELISM: Final[ConfigOption[int | None]] = ConfigOption(
    "parallelism.default",
    int,
    None,
    "How many subtasks an operator has that does not say so itself. Default: one for each core.",
    minimum=1,
)
MAX_PARALLELISM: Final[ConfigOption[int | None]] = ConfigOption(
    "pipeline.max-parallelism",
    int,
    None,
    "The greatest parallelism that a job with its state can ever be restarted with; the number of "
    "its key groups. Default: derived from the parallelism, at least 128.",
    minimum=1,
    maximum=32_768,
)
PIPELINE_NAME: Final[ConfigOption[str | None]] = ConfigOption(
    "pipeline.name", str, None, "The name of the job, unless execute() is given one."
)
OBJECT_REUSE: Final = ConfigOption(
    "pipeline.object-reuse",
    bool,
    default=True,
    description="Whether chained operators hand on the same objects; false copies every record at every "
    "operator. Flink's default is false, and its Python operators hand on the same objects still.",
)
OPERATOR_CHAINING: Final = ConfigOption(
    "pipeline.operator-chaining.enabled",
    bool,
    default=True,
    description="Whether operators between which nothing is redistributed run as one.",
    fallback_keys=("pipeline.operator-chaining",),
)
CHAIN_DIFFERENT_MAX_PARALLELISM: Final = ConfigOption(
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    bool,
    default=True,
    description="Whether operators are chained whose maximum parallelisms differ.",
)
AUTO_GENERATE_UIDS: Final = ConfigOption(
    "pipeline.auto-generate-uids",
    bool,
    default=True,
    description="Whether an operator may be without a uid; if not, such a program is refused. See uid().",
)
AUTO_WATERMARK_INTERVAL: Final = ConfigOption(
    "pipeline.auto-watermark-interval",
    Duration,
    Duration.of_millis(200),
    "How often watermark generators are asked for a watermark; 0 asks at each record only.",
    minimum=0,
)
GLOBAL_JOB_PARAMETERS: Final[ConfigOption[dict[str, str]]] = ConfigOption(
    "pipeline.global-job-parameters",
    dict,
    {},
    "The user's own settings, which functions can read. Each can be a key of its own as well, "
    "which begins with this one and a point.",
)
RUNTIME_MODE: Final = ConfigOption(
    "execution.runtime-mode",
    str,
    "STREAMING",
    "Whether results are emitted as they change, or once at the end of bounded input. AUTOMATIC "
    "takes BATCH if all sources are bounded.",
    choices=("STREAMING", "BATCH", "AUTOMATIC"),
)
COLUMNAR_IN_SPARK: Final = ConfigOption(
    "execution.columnar.in-spark",
    bool,
    default=True,
    description="Whether Spark aggregates the rows of a bounded DataFrame for windows that allow it, before "
    "any of them goes to Python. None of them is late then. Not in Flink.",
)
TARGET: Final = ConfigOption(
    "execution.target",
    str,
    "spark",
    "Where a job runs: on Spark, or in this process, for tests and debugging. The names of Flink's clusters stand "
    "for Spark, whose own is `spark.master`.",
    choices=("spark", "local"),
    synonyms=dict.fromkeys(
        (
            *("remote", "yarn-session", "yarn-application"),
            *("kubernetes-session", "kubernetes-application"),
        ),
        "spark",
    ),
)
EPOCH_INTERVAL: Final = ConfigOption(
    "execution.epoch.interval",
    Duration,
    Duration.of_millis(0),
    "The time from the start of one epoch of a streaming job to that of the next; 0 starts it as "
    "soon as there is input. Not in Flink.",
    minimum=0,
)
EPOCH_AVAILABLE_NOW: Final = ConfigOption(
    "execution.epoch.available-now",
    bool,
    default=False,
    description="Whether a streaming job reads what is there when it starts, and then ends. Not in Flink.",
)
EPOCH_END_OF_INPUT: Final = ConfigOption(
    "execution.epoch.end-of-input",
    bool,
    default=True,
    description="Whether what is there when a job starts is all its input, with "
    "execution.epoch.available-now: then event time ends with it, all windows and timers fire, and the job "
    "has nothing left to do when it is started again. If not, its state is kept, and the next start on its "
    "checkpoint location goes on with what has come since. Not in Flink.",
)
PROFILE: Final = ConfigOption(
    "execution.profile",
    bool,
    default=False,
    description="Whether a job measures where its time goes, by operator and by epoch: its result tells, "
    "with get_profile(). Not in Flink.",
)
PROGRESS: Final = ConfigOption(
    "execution.progress",
    str,
    "auto",
    "Where it is said how a job is doing. With auto in a line of the terminal or of the notebook; where there is "
    "neither, in the log, which is on standard error if none is configured. With on the same, but always on standard "
    "error and never in the log. Not in Flink.",
    choices=("auto", "on", "off"),
)
PROGRESS_INTERVAL: Final = ConfigOption(
    "execution.progress.interval",
    Duration,
    Duration.of_seconds(10),
    "How often the log says how a job is doing; 0 says nothing there. Not in Flink.",
    minimum=0,
)
LOG_LINES: Final = ConfigOption(
    "execution.log.lines",
    int,
    1000,
    "How many lines that functions log in one subtask of an operator and one epoch the driver's log shows, where they "
    "run in other processes: of more of them the first, and a tenth for the last ones. 0 leaves them to the logs "
    "of Spark's executors. Not in Flink.",
    minimum=0,
)
ASYNC_DRAIN_TIMEOUT: Final = ConfigOption(
    "async.drain-timeout",
    Duration,
    Duration.of_seconds(10),
    "How long an asynchronous call may hold up the end of an epoch; what is then not done goes on in "
    "the next. Not in Flink.",
    minimum=0,
)

CHECKPOINT_INTERVAL: Final[ConfigOption[Duration | None]] = ConfigOption(
    "execution.checkpointing.interval",
    Duration,
    None,
    "How often changelogs are folded into snapshots. Each epoch is durable and a job can go on from any, "
    "whatever is set here. If it is set, a job that fails is restarted: see restart-strategy.type. "
    "Flink's only checkpoints are those of this interval.",
    minimum=1,
)
CHECKPOINT_DIR: Final[ConfigOption[str | None]] = ConfigOption(
    "execution.checkpointing.dir",
    Location,
    None,
    "The folder or object store that is the job's own: a job that is started again on it goes on from "
    "its last epoch. Default: a temporary folder, so that a job cannot be taken up. In Flink many jobs "
    "may share it.",
    fallback_keys=("state.checkpoints.dir", "state.backend.fs.checkpointdir"),
)
SAVEPOINT_DIR: Final[ConfigOption[str | None]] = ConfigOption(
    "execution.checkpointing.savepoint-dir",
    Location,
    None,
    "The folder or object store of savepoints that are not given one.",
    fallback_keys=("state.savepoints.dir", "savepoints.state.backend.fs.dir"),
)
CHECKPOINTS_RETAINED: Final = ConfigOption(
    "execution.checkpointing.num-retained",
    int,
    3,
    "Of how many epochs the state is kept, the last one included. Flink's default is 1.",
    minimum=1,
    fallback_keys=("state.checkpoints.num-retained",),
)
RESTORE_EPOCH: Final[ConfigOption[int | None]] = ConfigOption(
    "execution.state-recovery.epoch",
    int,
    None,
    "The epoch of the job's own location to go on from, for one start; later ones are given up. Default: "
    "the last that was committed. Not in Flink.",
    minimum=0,
)
STATE_BACKEND: Final = ConfigOption(
    "state.backend.type",
    str,
    "hashmap",
    "Where keyed state lives while a job runs: in memory, or in RocksDB on disk.",
    choices=("hashmap", "rocksdb"),
    synonyms={
        "org.apache.flink.runtime.state.hashmap.HashMapStateBackendFactory": "hashmap",
        "org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackendFactory": "rocksdb",
    },
    fallback_keys=("state.backend",),
)
STATE_MEMORY_LIMIT: Final[ConfigOption[MemorySize | None]] = ConfigOption(
    "state.backend.memory.limit",
    MemorySize,
    None,
    "How much memory the keyed state in each worker process may take, such as 512 mb. With hashmap, state that "
    "is not in use beyond that is let go of, and read again when it is needed; with rocksdb, it is shared by "
    "RocksDB's caches and what is yet to be written. Default: a quarter of the machine's or container's "
    "memory, divided by its cores; no less than 4 kb. Not in Flink.",
    minimum=4096,
)
SAVEPOINT_PATH: Final[ConfigOption[str | None]] = ConfigOption(
    "execution.state-recovery.path",
    Location,
    None,
    "The savepoint that a job starts from if its checkpoint location is new. Default: it starts from "
    "nothing.",
    fallback_keys=("execution.savepoint.path",),
)
RENAMED_FROM: Final[ConfigOption[str | None]] = ConfigOption(
    "execution.state-recovery.renamed-from",
    str,
    None,
    "The name that the job had when it was last run on its checkpoint location, if it has another one now. Without it "
    "a job is refused at the location of a job with another name.",
)
IGNORE_UNCLAIMED_STATE: Final = ConfigOption(
    "execution.state-recovery.ignore-unclaimed-state",
    bool,
    default=False,
    description="Whether state of operators that the program no longer has is dropped, and output of its sinks that "
    "is not delivered; else such a start is refused.",
    fallback_keys=("execution.savepoint.ignore-unclaimed-state",),
)
STATE_CLASS_NAMES: Final[ConfigOption[dict[str, str]]] = ConfigOption(
    "state.class-names",
    ClassNames,
    ClassNames(),
    "The new qualified names of classes that were renamed or moved since they were written into state, by "
    "their old ones: `old_module.Old:new_module.New`, several separated by commas.",
)

RESTART_STRATEGY: Final[ConfigOption[str | None]] = ConfigOption(
    "restart-strategy.type",
    str,
    None,
    "What follows a failure: how a job is restarted from its last epoch. Default: exponential-delay if "
    "execution.checkpointing.interval is set, else none.",
    choices=("none", "off", "disable", "fixed-delay", "exponential-delay", "failure-rate"),
    fallback_keys=("restart-strategy",),
)
FIXED_DELAY_ATTEMPTS: Final = ConfigOption(
    "restart-strategy.fixed-delay.attempts",
    int,
    1,
    "How often a job is restarted before it fails.",
    minimum=0,
)
FIXED_DELAY: Final = ConfigOption(
    "restart-strategy.fixed-delay.delay",
    Duration,
    Duration.of_seconds(1),
    "The time before each restart.",
    minimum=0,
)
EXPONENTIAL_INITIAL_BACKOFF: Final = ConfigOption(
    "restart-strategy.exponential-delay.initial-backoff",
    Duration,
    Duration.of_seconds(1),
    "The time before the first restart.",
    minimum=1,
)
EXPONENTIAL_MAX_BACKOFF: Final = ConfigOption(
    "restart-strategy.exponential-delay.max-backoff",
    Duration,
    Duration.of_minutes(1),
    "The longest time before a restart.",
    minimum=1,
)
EXPONENTIAL_MULTIPLIER: Final = ConfigOption(
    "restart-strategy.exponential-delay.backoff-multiplier",
    float,
    1.5,
    "By how much the time before a restart grows from one failure to the next.",
    minimum=1,
)
EXPONENTIAL_RESET: Final = ConfigOption(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    Duration,
    Duration.of_hours(1),
    "How long a job must run without failure for the time to be the initial one again.",
    minimum=1,
)
EXPONENTIAL_JITTER: Final = ConfigOption(
    "restart-strategy.exponential-delay.jitter-factor",
    float,
    0.1,
    "The part of the time before a restart that is left to chance, to either side.",
    minimum=0,
    maximum=1,
)
EXPONENTIAL_ATTEMPTS: Final[ConfigOption[int | None]] = ConfigOption(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    int,
    None,
    "How often a job is restarted before it fails, counted from when the time was last the initial one. "
    "Default: without limit.",
    minimum=1,
)
FAILURE_RATE_MAX: Final = ConfigOption(
    "restart-strategy.failure-rate.max-failures-per-interval",
    int,
    1,
    "How many failures within the interval a job survives.",
    minimum=1,
)
FAILURE_RATE_INTERVAL: Final = ConfigOption(
    "restart-strategy.failure-rate.failure-rate-interval",
    Duration,
    Duration.of_minutes(1),
    "The interval in which failures are counted.",
    minimum=1,
)
FAILURE_RATE_DELAY: Final = ConfigOption(
    "restart-strategy.failure-rate.delay",
    Duration,
    Duration.of_seconds(1),
    "The time before each restart.",
    minimum=0,
)

PYTHON_EXECUTABLE: Final[ConfigOption[str | None]] = ConfigOption(
    "python.executable",
    str,
    None,
    "The interpreter of Spark's Python workers, of the same version as the one that runs the program, and with "
    "pyarrow and pandas. Default: what the environment variable `PYSPARK_PYTHON` names, else the one that "
    "runs the program. A session that runs already keeps its own.",
)
PYTHON_FILES: Final[ConfigOption[str | None]] = ConfigOption(
    "python.files",
    str,
    None,
    "Modules, packages and archives of them that functions need, separated by commas: the first comes first "
    "where modules are looked for.",
)
PYTHON_ARCHIVES: Final[ConfigOption[str | None]] = ConfigOption(
    "python.archives",
    str,
    None,
    "Archives that are unpacked in the working folder of functions, separated by commas; each into a folder of its "
    "own name, unless another follows after a `#`.",
)
PYTHON_REQUIREMENTS: Final[ConfigOption[str | None]] = ConfigOption(
    "python.requirements",
    str,
    None,
    "The `requirements.txt` of packages that are installed for functions, where they run. A folder that has the "
    "packages may follow after a `#`; then no index is asked for them.",
)
PYTHON_PATH: Final[ConfigOption[str | None]] = ConfigOption(
    "python.pythonpath",
    str,
    None,
    "Folders of the machines that functions run on, in which they find modules, separated by colons.",
)
PYTHON_OPERATOR_CHAINING: Final = ConfigOption(
    "python.operator-chaining.enabled",
    bool,
    default=True,
    description="As pipeline.operator-chaining.enabled: operators run as one if both are true.",
)
ARROW_BATCH_SIZE: Final[ConfigOption[int | None]] = ConfigOption(
    "python.fn-execution.arrow.batch.size",
    int,
    None,
    "How many rows of a DataFrame Spark hands to Python at a time, where penstock builds the session: "
    "`spark.sql.execution.arrow.maxRecordsPerBatch`, which goes before. Default: 10000, and Flink's is 1000.",
    minimum=1,
)
KAFKA_READER: Final = ConfigOption(
    "kafka.reader",
    str,
    "auto",
    description="Who reads a KafkaSource in a job on Spark: Python with librdkafka, which is three to four times as "
    "fast, or Spark's own connector, whose client is that of Java. auto is Python, unless confluent-kafka is not "
    "installed or cannot log in as the properties say. Not in Flink.",
    choices=("auto", "python", "spark"),
)
JARS: Final[ConfigOption[list[str]]] = ConfigOption(
    "pipeline.jars",
    list,
    [],
    "Jars that Spark needs, for a data source, say; they are added to `spark.jars` of the session that penstock "
    "builds. A session that runs already has to have them. Jars of Flink, whose names begin with `flink-`, are left "
    "out.",
)
CLASSPATHS: Final[ConfigOption[list[str]]] = ConfigOption(
    "pipeline.classpaths",
    list,
    [],
    "URLs of such jars that each machine has at the same place, or can fetch.",
)
CACHED_FILES: Final[ConfigOption[str | None]] = ConfigOption(
    "pipeline.cached-files",
    str,
    None,
    "Files that functions find by a name: `name:prices,path:/data/prices.csv,executable:false`, several separated by "
    "semicolons.",
)

_FOUND: Final = (
    *globals().values(),
    *vars(options_without_effect).values(),
    *vars(rocksdb_options).values(),
    *vars(metric_options).values(),
)
OPTIONS: Final[dict[str, ConfigOption[object]]] = {
    option.key: option for option in _FOUND if isinstance(option, ConfigOption)
}
OPTIONS_BY_EVERY_KEY: Final[dict[str, ConfigOption[object]]] = {
    key: option for option in OPTIONS.values() for key in option.keys
}
"""As `OPTIONS`, and by the older keys as well."""
WITHOUT_EFFECT: Final = frozenset(
    option.key
    for option in vars(options_without_effect).values()
    if isinstance(option, ConfigOption)
)
"""The keys of those options that are accepted and change nothing."""
OPEN_PREFIXES: Final = (
    "spark.",
    f"{GLOBAL_JOB_PARAMETERS.key}.",
    metric_options.REPORTER_PREFIX,
)
"""Any key that begins with one of these is accepted, and its value left as it is, at least until a job starts."""
