"""Completion for shells: the script that a shell sources, and the values that parameters take. The shell runs
`ackclock` with a variable set, and the answer comes from the declarations of the commands.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from ackclock import _core
from ackclock.cli import COMPLETE


class Fish(FishComplete):
    """As click has it, but for what contains a comma: a list of timers, and most descriptions."""

    source_template = FishComplete.source_template.replace(
        'string split "," $completion', 'string split --max 1 "," $completion'
    )


SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": Fish}

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
def command(shell: str) -> None:
    """Print the script that completes commands, options and names in SHELL.

    \b
    bash (4.4 or newer), in ~/.bashrc:
        eval "$(ackclock completion bash)"
    zsh, in ~/.zshrc after compinit:
        eval "$(ackclock completion zsh)"
    fish, once:
        cd ~/.config/fish/completions
        ackclock completion fish > ackclock.fish
    """
    from ackclock.cli import command as program

    # `source` itself would start bash for its version.
    complete = SHELLS[shell](program, {}, "ackclock", COMPLETE)
    print(complete.source_template % complete.source_vars())


def answer(program: click.Command) -> bool:
    """Prints the completions that a shell asks for. Returns whether one asked."""
    shell, _, instruction = os.environ.get(COMPLETE, "").partition("_")
    if shell not in SHELLS or instruction != "complete":
        return False
    print(SHELLS[shell](program, {}, "ackclock", COMPLETE).complete())
    return True


def matching(names: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    """The names with that beginning, in any case, with what they are."""
    begins = incomplete.casefold()
    found = {name: about for name, about in names if name.casefold().startswith(begins)}
    return [CompletionItem(name, help=about) for name, about in found.items()]


def policies(*kinds: str) -> Completer:
    """Completes names of policies of these kinds; of all, kinds and presets included, without any."""

    def complete(
        _context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from ackclock.policy import declarations

        known = [d for d in declarations() if not kinds or d.kind in kinds]
        names = [(d.name, d.about) for d in known]
        if not kinds:
            names += [(kind, "all of this kind") for kind in dict.fromkeys(d.kind for d in known)]
            names += _presets()
        return matching(names, incomplete)

    return complete


def stacks(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes names of presets, and after a `+` those of changes to them."""
    from ackclock.policy import modifiers

    head, plus, _ = incomplete.rpartition("+")
    if not plus:
        return matching(_presets(), incomplete)
    # What takes values ends where they begin.
    return matching(((f"{head}+{m.usage.partition('(')[0]}", m.about) for m in modifiers()), incomplete)


def timers(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes names of estimators and timers, after commas and `+` too."""
    from ackclock.policy import declarations

    head, comma, _ = incomplete.rpartition(",")
    names = [(d.name, d.about) for d in declarations() if d.kind in ("estimator", "timer")]
    return matching(((head + comma + name, about) for name, about in names), incomplete)


def items(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes ids of items, and names of papers. Importing the items takes seconds; their ids are in the
    registers too, where all papers are the package's own.
    """
    papers = Path(_core.__file__).parent / "reproduce"
    if os.environ.get("ACKCLOCK_PAPERS"):
        from ackclock.reproduce import ITEMS, PAPERS

        names = [*PAPERS, *ITEMS]
    else:
        registers = sorted(papers.glob("*/register.txt"))
        names = [file.parent.name for file in registers]
        for file in registers:
            lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
            names += [words[0] for words in lines if words and words[0] != "#" and "missing" not in words]
    return matching(((name, "") for name in ["all", *names]), incomplete)


def examples(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes files of examples."""
    from ackclock.examples import EXAMPLES

    return matching(((e.file, e.about) for e in EXAMPLES), incomplete)


def formulas(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes names of formulas."""
    from ackclock.models import FORMULAS

    return matching(((f.name, f.about) for f in FORMULAS.values()), incomplete)


def _presets() -> list[tuple[str, str]]:
    from ackclock.policy import presets

    return [(p.name, p.about) for p in presets()]
