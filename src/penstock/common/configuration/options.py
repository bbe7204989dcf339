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
    description="Whether a key that closely resembles one of these is refused as a typing "
    "mistake. If not, it is kept as your own key, and the log has a warning. Not in Flink.",
)
PARALLELISM: Final[ConfigOption[int | None]] = ConfigOption(
    "parallelism.default",
    int,
    None,
    "The parallelism of operators that set none of their own. Default: the number of cores.",
    minimum=1,
)
MAX_PARALLELISM: Final[ConfigOption[int | None]] = ConfigOption(
    "pipeline.max-parallelism",
    int,
    None,
    "The number of key groups, and therefore the greatest parallelism that a job with state can "
    "ever be restarted with. Default: derived from the parallelism, at least 128.",
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
    description="Whether chained operators pass on the same objects; false copies every record at "
    "every operator. Flink's default is false, but its Python operators pass on the same objects "
    "anyway.",
)
OPERATOR_CHAINING: Final = ConfigOption(
    "pipeline.operator-chaining.enabled",
    bool,
    default=True,
    description="Whether operators run as one if no records are redistributed between them.",
    fallback_keys=("pipeline.operator-chaining",),
)
CHAIN_DIFFERENT_MAX_PARALLELISM: Final = ConfigOption(
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    bool,
    default=True,
    description="Whether operators with different maximum parallelisms are chained.",
)
AUTO_GENERATE_UIDS: Final = ConfigOption(
    "pipeline.auto-generate-uids",
    bool,
    default=True,
    description="Whether operators may do without a uid; if not, a program with such operators is "
    "refused. See uid().",
)
AUTO_WATERMARK_INTERVAL: Final = ConfigOption(
    "pipeline.auto-watermark-interval",
    Duration,
    Duration.of_millis(200),
    "How often watermark generators are asked for a watermark; with 0, only at each record.",
    minimum=0,
)
GLOBAL_JOB_PARAMETERS: Final[ConfigOption[dict[str, str]]] = ConfigOption(
    "pipeline.global-job-parameters",
    dict,
    {},
    "Your own settings, which functions can read. Each can also be a key of its own that begins "
    "with this one and a dot.",
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
    description="Whether Spark aggregates the rows of a bounded DataFrame for windows that allow "
    "it, before any of them goes to Python. No row is late then. Not in Flink.",
)
TARGET: Final = ConfigOption(
    "execution.target",
    str,
    "spark",
    "Where a job runs: on Spark, or in this process, for tests and debugging. The names of "
    "Flink's clusters mean Spark, whose own cluster is set with `spark.master`.",
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
    "The time from the start of one epoch of a streaming job to the start of the next; with 0, an "
    "epoch starts as soon as there is input. Not in Flink.",
    minimum=0,
)
TRIGGER: Final = ConfigOption(
    "execution.trigger",
    str,
    "processing-time",
    "When a streaming job reads. With processing-time it reads whatever comes, until it is stopped. "
    "With available-now it reads what is there when it starts, and ends; state, open windows and timers "
    "are kept at the checkpoint location, and the next start continues from there with whatever has "
    "arrived since. Not in Flink.",
    choices=("processing-time", "available-now"),
)
EPOCH_END_OF_INPUT: Final[ConfigOption[bool | None]] = ConfigOption(
    "execution.epoch.end-of-input",
    bool,
    None,
    "With execution.trigger set to available-now: whether what is there when the job starts is all of "
    "its input. If so, event time ends with it, all windows and event timers fire, and starting the job "
    "again does nothing. Default: false; with the older execution.epoch.available-now, true. Not in Flink.",
)
EPOCH_AVAILABLE_NOW: Final = ConfigOption(
    "execution.epoch.available-now",
    bool,
    default=False,
    description="An older way to say that execution.trigger is available-now and execution.epoch.end-of-input "
    "true, unless that is set to false. Not in Flink.",
)
PROFILE: Final = ConfigOption(
    "execution.profile",
    bool,
    default=False,
    description="Whether a job measures where its time goes, by operator and by epoch; "
    "get_profile() of its result returns it. Not in Flink.",
)
PROGRESS: Final = ConfigOption(
    "execution.progress",
    str,
    "auto",
    "Where a job reports its progress. With auto, in a line of the terminal or of the notebook; "
    "where there is neither, in the log, which is on standard error if none is configured. With "
    "on, the same, but always on standard error and never in the log. Not in Flink.",
    choices=("auto", "on", "off"),
)
PROGRESS_INTERVAL: Final = ConfigOption(
    "execution.progress.interval",
    Duration,
    Duration.of_seconds(10),
    "How often the log reports a job's progress; with 0, never. Not in Flink.",
    minimum=0,
)
LOG_LINES: Final = ConfigOption(
    "execution.log.lines",
    int,
    1000,
    "How many lines that functions log the driver's log shows, for each subtask of an operator "
    "and each epoch, if they run in other processes. If there are more, it shows the first ones, "
    "and keeps a tenth of its lines for the last ones. With 0, they are only in the logs of "
    "Spark's executors. Not in Flink.",
    minimum=0,
)
ASYNC_DRAIN_TIMEOUT: Final = ConfigOption(
    "async.drain-timeout",
    Duration,
    Duration.of_seconds(10),
    "How long an asynchronous call may hold up the end of an epoch; calls that take longer "
    "continue in the next one. Not in Flink.",
    minimum=0,
)

CHECKPOINT_INTERVAL: Final[ConfigOption[Duration | None]] = ConfigOption(
    "execution.checkpointing.interval",
    Duration,
    None,
    "How often changelogs are folded into snapshots. Every epoch is durable, and a job can "
    "continue from any of them, whatever is set here. If it is set, a job that fails is "
    "restarted: see restart-strategy.type. In Flink, only this interval makes checkpoints.",
    minimum=1,
)
CHECKPOINT_DIR: Final[ConfigOption[str | None]] = ConfigOption(
    "execution.checkpointing.dir",
    Location,
    None,
    "The folder or object store that belongs to this job: started again on it, the job continues "
    "after its last epoch. Default: a temporary folder, so the job cannot continue. In Flink, "
    "many jobs may share it.",
    fallback_keys=("state.checkpoints.dir", "state.backend.fs.checkpointdir"),
)
SAVEPOINT_DIR: Final[ConfigOption[str | None]] = ConfigOption(
    "execution.checkpointing.savepoint-dir",
    Location,
    None,
    "The folder or object store for savepoints whose request names none.",
    fallback_keys=("state.savepoints.dir", "savepoints.state.backend.fs.dir"),
)
CHECKPOINTS_RETAINED: Final = ConfigOption(
    "execution.checkpointing.num-retained",
    int,
    3,
    "For how many epochs state is kept, including the last one. Flink's default is 1.",
    minimum=1,
    fallback_keys=("state.checkpoints.num-retained",),
)
RESTORE_EPOCH: Final[ConfigOption[int | None]] = ConfigOption(
    "execution.state-recovery.epoch",
    int,
    None,
    "The epoch of the job's own location to continue from, for one start; later epochs are given "
    "up. Default: the last committed one. Not in Flink.",
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
    "How much memory keyed state may take in each worker process, such as 512 mb. With hashmap, "
    "state beyond that is released while it is not in use, and read again when it is needed; with "
    "rocksdb, RocksDB's caches and write buffers share it. Default: a quarter of the memory of "
    "the machine or container, divided by its cores; at least 4 kb. Not in Flink.",
    minimum=4096,
)
SAVEPOINT_PATH: Final[ConfigOption[str | None]] = ConfigOption(
    "execution.state-recovery.path",
    Location,
    None,
    "The savepoint that a job starts from if its checkpoint location is new. Default: none, the "
    "job starts from scratch.",
    fallback_keys=("execution.savepoint.path",),
)
RENAMED_FROM: Final[ConfigOption[str | None]] = ConfigOption(
    "execution.state-recovery.renamed-from",
    str,
    None,
    "The name under which the job last ran on its checkpoint location, if it has another one now. "
    "Without it, a job is refused at the location of a job with another name.",
)
IGNORE_UNCLAIMED_STATE: Final = ConfigOption(
    "execution.state-recovery.ignore-unclaimed-state",
    bool,
    default=False,
    description="Whether a start drops the state of operators, and the undelivered output of "
    "sinks, that the program no longer has. If not, such a start is refused.",
    fallback_keys=("execution.savepoint.ignore-unclaimed-state",),
)
STATE_CLASS_NAMES: Final[ConfigOption[dict[str, str]]] = ConfigOption(
    "state.class-names",
    ClassNames,
    ClassNames(),
    "The new qualified names of classes that were renamed or moved after they were written into "
    "state: `old_module.Old:new_module.New`, separated by commas.",
)

RESTART_STRATEGY: Final[ConfigOption[str | None]] = ConfigOption(
    "restart-strategy.type",
    str,
    None,
    "How a job is restarted from its last epoch after a failure. Default: exponential-delay if "
    "execution.checkpointing.interval is set, otherwise none.",
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
    "The delay before each restart.",
    minimum=0,
)
EXPONENTIAL_INITIAL_BACKOFF: Final = ConfigOption(
    "restart-strategy.exponential-delay.initial-backoff",
    Duration,
    Duration.of_seconds(1),
    "The delay before the first restart.",
    minimum=1,
)
EXPONENTIAL_MAX_BACKOFF: Final = ConfigOption(
    "restart-strategy.exponential-delay.max-backoff",
    Duration,
    Duration.of_minutes(1),
    "The longest delay before a restart.",
    minimum=1,
)
EXPONENTIAL_MULTIPLIER: Final = ConfigOption(
    "restart-strategy.exponential-delay.backoff-multiplier",
    float,
    1.5,
    "The factor by which the delay grows from one failure to the next.",
    minimum=1,
)
EXPONENTIAL_RESET: Final = ConfigOption(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    Duration,
    Duration.of_hours(1),
    "How long a job must run without failure before the delay is the initial one again.",
    minimum=1,
)
EXPONENTIAL_JITTER: Final = ConfigOption(
    "restart-strategy.exponential-delay.jitter-factor",
    float,
    0.1,
    "The fraction of the delay that is random, in either direction.",
    minimum=0,
    maximum=1,
)
EXPONENTIAL_ATTEMPTS: Final[ConfigOption[int | None]] = ConfigOption(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    int,
    None,
    "How often a job is restarted before it fails, counted since the delay was last the initial "
    "one. Default: without limit.",
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
    "The delay before each restart.",
    minimum=0,
)

PYTHON_EXECUTABLE: Final[ConfigOption[str | None]] = ConfigOption(
    "python.executable",
    str,
    None,
    "The interpreter of Spark's Python workers. It must have the same version as the one that "
    "runs the program, and have pyarrow and pandas. Default: what the environment variable "
    "`PYSPARK_PYTHON` names, otherwise the one that runs the program. A session that is already "
    "running keeps its own.",
)
PYTHON_FILES: Final[ConfigOption[str | None]] = ConfigOption(
    "python.files",
    str,
    None,
    "Modules, packages and archives of them that functions need, separated by commas. They are "
    "searched for modules in this order.",
)
PYTHON_ARCHIVES: Final[ConfigOption[str | None]] = ConfigOption(
    "python.archives",
    str,
    None,
    "Archives that are unpacked in the working folder of functions, separated by commas. Each "
    "gets a folder of its own name, unless another name follows after a `#`.",
)
PYTHON_REQUIREMENTS: Final[ConfigOption[str | None]] = ConfigOption(
    "python.requirements",
    str,
    None,
    "The `requirements.txt` of packages that are installed where functions run. A folder that "
    "contains the packages may follow after a `#`; then no package index is used.",
)
PYTHON_PATH: Final[ConfigOption[str | None]] = ConfigOption(
    "python.pythonpath",
    str,
    None,
    "Folders on the machines where functions run that are searched for modules, separated by "
    "colons.",
)
PYTHON_OPERATOR_CHAINING: Final = ConfigOption(
    "python.operator-chaining.enabled",
    bool,
    default=True,
    description="Like pipeline.operator-chaining.enabled; operators run as one if both are true.",
)
ARROW_BATCH_SIZE: Final[ConfigOption[int | None]] = ConfigOption(
    "python.fn-execution.arrow.batch.size",
    int,
    None,
    "How many rows of a DataFrame Spark passes to Python at a time, if penstock builds the "
    "session. `spark.sql.execution.arrow.maxRecordsPerBatch` takes precedence. Default: 10000; "
    "Flink's is 1000.",
    minimum=1,
)
KAFKA_READER: Final = ConfigOption(
    "kafka.reader",
    str,
    "auto",
    description="What reads a KafkaSource in a job on Spark: Python with librdkafka, which is "
    "three to four times as fast, or Spark's own connector with Kafka's Java client. With auto, "
    "Python reads, unless confluent-kafka is not installed or cannot log in as the properties "
    "say. Not in Flink.",
    choices=("auto", "python", "spark"),
)
JARS: Final[ConfigOption[list[str]]] = ConfigOption(
    "pipeline.jars",
    list,
    [],
    "Jars that Spark needs, for example for a data source; they are added to `spark.jars` of the "
    "session that penstock builds. A session that is already running must have them. Flink's "
    "jars, whose names begin with `flink-`, are left out.",
)
CLASSPATHS: Final[ConfigOption[list[str]]] = ConfigOption(
    "pipeline.classpaths",
    list,
    [],
    "URLs of jars that every machine has in the same place, or can fetch.",
)
CACHED_FILES: Final[ConfigOption[str | None]] = ConfigOption(
    "pipeline.cached-files",
    str,
    None,
    "Files that functions find by name: `name:prices,path:/data/prices.csv,executable:false`, "
    "separated by semicolons.",
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
