"""The command line. Exit codes: 0 done, 1 a check fell short, 2 bad input or usage, 3 a fault of ackclock
itself, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from ackclock._core import AckclockError, InputError, version
from ackclock.exit_codes import BAD_INPUT, DONE, FAULT, INTERRUPTED
from ackclock.plain import plain

COMPLETE = "_ACKCLOCK_COMPLETE"
"""The environment variable by which a shell asks for completions."""

# One file each, imported on use: some need libraries that take a second to load.
COMMANDS = {
    "demo": "Show what ackclock does: a simulation, and a download over real packets.",
    "examples": "Write files to begin with: scenarios, a capture, a series, a script.",
    "run": "Simulate a scenario, a file that describes a network and its traffic.",
    "testbed": "Run a scenario on the kernel's TCP, over emulated links.",
    "link": "Run a command or a shell behind an emulated link.",
    "sweep": "Run a scenario over many values and seeds; finished runs are kept.",
    "capture": "Explain a capture: what was retransmitted, why, and what it cost.",
    "sender": "Name the sender of a captured connection: its congestion control and timers.",
    "reproduce": "Rerun a figure, table, equation or number of five papers.",
    "policies": "List every rule of a TCP that can be chosen, with its parameters.",
    "model": "Evaluate a formula of a paper, such as the throughput at a loss rate.",
    "timers": "Replay retransmission timers over a series of round-trip times.",
    "passport": "Test a congestion controller by the criteria of RFC 9743.",
    "probe": "Measure what a TCP transfer would get on a path, from one end (TReno).",
    "script": "Run scripted tests in packetdrill's language, simulated or on the kernel.",
    "completion": "Print the completion script of bash, zsh or fish.",
}


class Interrupted(Exception):
    """Ctrl-C. Click prints an empty line for KeyboardInterrupt; it lets this exception through."""


class Commands(click.Group):
    """The commands. Each is in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are declared."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name."""
        return importlib.import_module(f"ackclock.cli.{name}").command if name in COMMANDS else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completes commands without importing them, and options."""
        found = [CompletionItem(n, help=about) for n, about in COMMANDS.items() if n.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> object:
        """Runs the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists them without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Lists the known commands in the error for an unknown one."""
        if args and args[0] not in COMMANDS:
            raise click.UsageError(f"`{args[0]}` is not a command; expected one of {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version, prog_name="ackclock")
def command() -> None:
    """See what a TCP does when packets are lost or late, and what another rule would have done.

    \b
        ackclock demo                       a first look, half a minute
        ackclock examples short-lossy.toml  write a file to begin with
        ackclock run short-lossy.toml       simulate a network
        ackclock capture slow.pcap.gz       explain a slow connection
        ackclock reproduce M-F3             rerun a figure of a paper

    `ackclock COMMAND --help` describes a command, `--json` prints the results of most for programs.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and ends the process."""
    sys.exit(run_command(arguments))


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code. Errors are one sentence on stderr."""
    try:
        code = _run(sys.argv[1:] if arguments is None else list(arguments))
        _flush()
        return code
    except BrokenPipeError:
        # The reader of our output has closed the pipe.
        _discard_output()
        return DONE
    except OSError as e:
        code = _fail(f"ackclock: {e.filename or 'the system'}: {e.strerror or e}", BAD_INPUT)
        try:
            _flush()
        except OSError:
            _discard_output()
        return code


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _discard_output() -> None:
    """Discards further output: the interpreter would report a failed flush when it exits."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(arguments: list[str]) -> int:
    try:
        if COMPLETE in os.environ and importlib.import_module("ackclock.cli.completion").answer(command):
            return DONE
        code = _invoke(arguments)
        return code if isinstance(code, int) else DONE
    except OSError:
        # Printing an error can itself meet a closed pipe or a full disk.
        raise
    except click.exceptions.NoArgsIsHelpError as e:
        print(e.format_message())
        return DONE
    except click.UsageError as e:
        place = e.ctx.command_path if e.ctx else "ackclock"
        return _fail(f"{place}: {_in_plain_words(_sentence(e.format_message()))}", BAD_INPUT)
    except click.ClickException as e:
        return _fail(f"ackclock: {_sentence(e.format_message())}", BAD_INPUT)
    except InputError as e:
        return _fail(f"ackclock: {_sentence(str(e))}", BAD_INPUT)
    except (Interrupted, KeyboardInterrupt, EOFError, click.Abort):
        return INTERRUPTED
    except AckclockError as e:
        return _fail(f"ackclock: {_sentence(str(e))}", FAULT)
    except Exception as e:
        return _internal(e)


def helper(work: Callable[[], None]) -> int:
    """Runs the part of a command that has its own process, and returns the exit code. Errors are one sentence
    on stderr, like those of commands.
    """
    try:
        work()
    except (KeyboardInterrupt, EOFError):
        return INTERRUPTED
    except AckclockError as e:
        return _fail(f"ackclock: {_sentence(str(e))}", FAULT)
    except Exception as e:
        return _internal(e)
    return DONE


def _internal(e: Exception) -> int:
    if os.environ.get("ACKCLOCK_TRACEBACK"):
        raise e
    return _fail(
        f"ackclock: internal fault, {_sentence(f'{type(e).__name__}: {e}')} (ACKCLOCK_TRACEBACK=1 "
        "shows where; please report it)",
        FAULT,
    )


def _invoke(arguments: list[str]) -> object:
    # Click's own `main` would end the process on a closed pipe.
    try:
        with warnings.catch_warnings(), command.make_context("ackclock", arguments) as context:
            failed: list[int] = []
            said: set[str] = set()

            def show(message: Any, kind: type[Warning], *place: Any, **more: Any) -> None:
                text = _sentence(str(message)).rstrip(".")
                # Compared by name: importing its module loads matplotlib, which takes a second.
                if kind.__name__ == "FigureWarning":
                    failed.append(BAD_INPUT if message.bad_input else FAULT)
                if text not in said:
                    said.add(text)
                    _fail(f"Note: {text}.", DONE)

            warnings.showwarning = show
            return command.invoke(context) or max(failed, default=DONE)
    except click.exceptions.Exit as e:
        return e.exit_code


def _fail(sentence: str, code: int) -> int:
    print(plain(sentence), file=sys.stderr)
    return code


def _sentence(text: str) -> str:
    """In one line, and without the number that Rust adds to what the system says."""
    return re.sub(r" \(os error \d+\)", "", " ".join(text.split()))


def _in_plain_words(message: str) -> str:
    """What click says of a value that is no number, as a user would say it."""
    for kind, name in (("whole number", "whole number"), ("integer", "whole number"), ("float", "number")):
        for ending in (" range.", "."):
            message = message.replace(f"is not a valid {kind}{ending}", f"is not a {name}.")
    return message
