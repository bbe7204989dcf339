"""The command `penstock`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from penstock.cli.jobs.commands import add_commands
from penstock.cli.jobs.serving import add_command
from penstock.cli.layout import harmless
from penstock.cli.listing import list_epochs
from penstock.cli.showing import show
from penstock.cli.verifying import verify
from penstock.common.configuration.options import STATE_CLASS_NAMES
from penstock.errors import InvalidConfigurationValueError, JobsRefusedError, PenstockError

__all__ = ["main"]

_WHOLE_OR_NOT = """exit code: 0 if everything is whole, 1 if something is damaged, 2 if there is no
such checkpoint or the command is wrong"""

_NOT_READ: Final = 141
"""What shells say of a command whose output nobody reads on, as behind `| head`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: What follows the command's name; None for those of this process.

    Returns:
        0 if all is well; 1 if a checkpoint is damaged, or a job refuses what it is asked for; 2 if there is no such
        checkpoint, or no such job; 141 if the output is not read to its end.

    Raises:
        SystemExit: With 2, if the arguments are wrong.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if getattr(options, "class_names", None) and not options.import_classes:
        parser.error("--class-names needs --import-classes: else no class is looked for")
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except PenstockError as error:
        sys.stderr.write(f"{harmless(str(error))}\n")
        return 1 if isinstance(error, JobsRefusedError) else 2
    except BrokenPipeError:
        # Python would fail once more when it writes the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NOT_READ
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock", description="Looks after penstock's jobs.")
    subjects = parser.add_subparsers(
        required=True, metavar="{list,show,stop,savepoint,cancel,jobs,checkpoint}"
    )
    add_commands(subjects)
    add_command(subjects)
    checkpoint = subjects.add_parser("checkpoint", help="look at checkpoints and savepoints")
    actions = checkpoint.add_subparsers(required=True, metavar="{list,show,verify}")

    listing = actions.add_parser("list", help="list the epochs that are kept")
    listing.set_defaults(run=list_epochs)
    showing = actions.add_parser("show", help="show what an epoch holds")
    showing.set_defaults(run=show)
    verifying = actions.add_parser(
        "verify",
        help="read every file and compare lengths and checksums",
        epilog=_WHOLE_OR_NOT,
    )
    verifying.set_defaults(run=verify)
    for command in (listing, showing, verifying):
        command.add_argument(
            "location", metavar="DIR", help="the folder or URL of a checkpoint or savepoint"
        )
    for command, default in ((showing, "the last one with state"), (verifying, "all")):
        command.add_argument(
            "--epoch", type=int, metavar="N", help=f"the number of the epoch; default: {default}"
        )
    showing.add_argument(
        "--operator", metavar="X", help="show state of this operator: uid, id or name"
    )
    showing.add_argument("--state", metavar="NAME", help="show this state; default: its timers")
    showing.add_argument(
        "--limit", type=_count, default=20, metavar="K", help="how many rows; default: 20"
    )
    showing.add_argument(
        "--import-classes",
        action="store_true",
        help="make objects of the job's own classes, which runs what the checkpoint names: only for "
        "checkpoints that you trust; default: they are shown as texts",
    )
    showing.add_argument(
        "--class-names",
        type=_class_names,
        metavar="OLD:NEW",
        help="with --import-classes: the new qualified names of classes that were renamed or moved, several "
        "separated by commas, as state.class-names has them",
    )
    showing.add_argument("--json", action="store_true", help="write JSON")
    return parser


def _class_names(text: str) -> dict[str, str]:
    try:
        return STATE_CLASS_NAMES.parse(text)
    except InvalidConfigurationValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} has not the form. {error.hint}") from None


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rows")
    return int(text)
