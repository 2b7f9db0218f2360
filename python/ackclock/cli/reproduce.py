from __future__ import annotations

import re
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock._core import InputError, ScenarioError
from ackclock.cli import completion
from ackclock.cli.run import override
from ackclock.cli.whole import Whole
from ackclock.console import bar, note, print_json, print_table, say
from ackclock.plain import listed
from ackclock.quantities import count, for_people
from ackclock.scenario.scenario import Progress

if TYPE_CHECKING:
    from ackclock.reproduce.item import Item
    from ackclock.reproduce.keys import Key

HOLDS, FALLS_SHORT, OPEN = "holds", "falls short", "open"
SHOWN = {HOLDS: "holds", FALLS_SHORT: "FALLS SHORT", OPEN: "open"}
"""How verdicts of checks are printed."""
AS_BEFORE = "What the checks expect stays as it was."
MOST_REASONS = 3
"""Reasons why scenarios did not take a value that are printed."""
MOST_VALUES, LONGEST = 4, 40
"""Values of a key that `--keys` prints, and the characters of each."""
CHANGED, SHORT = ("delay", "rtt", "rate", "load", "p", "duration"), 10
"""Keys that are first as the example of `--keys`, and the characters of a value that one would type."""


@click.command("reproduce")
@click.argument("name", metavar="[ID | PAPER | all]", required=False, shell_complete=completion.items)
@click.option("--list", "listing", is_flag=True, help="List the items instead of running them.")
@click.option(
    "--full",
    is_flag=True,
    help="Use the paper's own sizes; by default an item takes at most a minute on two cores.",
)
@click.option(
    "--real",
    is_flag=True,
    help="Run on the kernel's TCP, beside the simulation, what has such a form; needs Linux, and root or "
    "user namespaces.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs/reproduce"),
    show_default=True,
    help="Folder for data and figures.",
)
@click.option(
    "--seed",
    type=Whole(1, 10**15),
    default=1,
    show_default=True,
    help="The first seed: N - 1 is added to each seed of the item.",
)
@click.option(
    "--seeds",
    type=Whole(1, 10_000),
    default=1,
    help="Repeat with so many different seeds; each check is then judged by its mean and 95 % interval.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value in those of the item's scenarios that take it: --set path.rtt=50ms. May be "
    "repeated.",
)
@click.option(
    "--keys", "keys_only", is_flag=True, help="List the keys that --set takes for the item, and run nothing."
)
@click.option("--workers", type=Whole(1, 1024), help="Runs side by side; one per core by default.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    name: str | None,
    listing: bool,
    full: bool,
    real: bool,
    out: Path,
    seed: int,
    seeds: int,
    overrides: tuple[str, ...],
    keys_only: bool,
    workers: int | None,
    as_json: bool,
) -> int | None:
    """Rerun an item of a paper: a figure, table, equation, number or algorithm.

    Writes its data and figure, and prints each check with what the paper has, what was found and whether it
    holds. Exit code 1 where a check falls short.

    \b
        ackclock reproduce --list          all items, each in a line
        ackclock reproduce mathis97        all items of a paper
        ackclock reproduce M-F3 --keys     what --set can change in an item
    """
    from ackclock.reproduce.chance import repeat
    from ackclock.reproduce.item import Setting, find
    from ackclock.reproduce.real_form import forms
    from ackclock.reproduce.saved import save
    from ackclock.results import folder
    from ackclock.scenario.variation import Variation

    items = find(name or "all")
    if listing or name is None:
        _list(items, as_json)
        return None
    if keys_only:
        _keys(items, full, as_json)
        return None
    if real:
        items = forms(items)
    changes = tuple(map(override, overrides))
    if changes and len(items) > 1:
        raise InputError(
            f"`--set` changes the scenarios of one item, and {len(items)} are named; expected an id such as "
            f"{items[0].id}"
        )
    for i in items:
        folder.check_writable(out / i.id)
    results = []
    for i in items:
        began = time.monotonic()
        with bar(i.id) as progress:
            settings = [
                Setting(full, workers, _part(progress, n, seeds), Variation(overrides=changes))
                for n in range(seeds)
            ]
            try:
                found = repeat(i, settings, seed)
            except ScenarioError as e:
                if not changes:
                    raise
                raise _refused(i, full, changes, str(e)) from None
        if changes and not settings[0].variation.scenarios:
            raise _no_scenario(i)
        several = found if len(found.outcomes) > 1 else None
        results.append(save(i, found.outcomes[0], settings[0], began, out, several))
        if not as_json:
            _show(results[-1], asked=seeds > 1 or seed != 1)
    holds = all(_verdict(r) is not False for r in results)
    if as_json:
        print_json(
            results[0]
            if len(results) == 1 and name and name.casefold() == items[0].id.casefold()
            else {"holds": holds, "items": results}
        )
    elif len(results) > 1:
        skipped = sum(bool(r["skipped"]) for r in results)
        undecided = sum(_verdict(r) is None and not r["skipped"] for r in results)
        say(
            f"{sum(bool(_verdict(r)) for r in results)} of {len(results)} items "
            f"hold{f', {undecided} are open' if undecided else ''}"
            f"{f', {skipped} were skipped' if skipped else ''}."
        )
    return None if holds else 1


def _refused(i: Item, full: bool, changes: Sequence[tuple[str, str]], error: str) -> InputError:
    """Why no scenario of an item takes a change. Of an unknown key, it names those of its keys that are
    nearest in place of the scenario format's.
    """
    from ackclock.reproduce.keys import keys, nearest

    what, unknown, _ = error.partition(" is not a known key")
    key = next((key for key, value in changes if error.startswith(f"--set {key}={value}: ")), None)
    lists = f"`ackclock reproduce {i.id} --keys` lists the keys of its scenarios"
    if not unknown or key is None:
        return InputError(f"{error}; {lists}")
    near = [f"`{name}`" for name in nearest(key, keys(i, full)[0])]
    hint = f"did you mean {listed(near, 'or')}? " if near else ""
    return InputError(f"{what}{unknown}; {hint}{lists}")


def _no_scenario(i: Item) -> InputError:
    return InputError(
        f"{i.id} runs no scenario ({_kinds(i.kind)}), so `--set` changes nothing; expected an item that does"
    )


def _kinds(codes: str) -> str:
    """What runs, in words, without what explains it further."""
    from ackclock.reproduce.item import KINDS

    return ", ".join(re.split("[;,]", KINDS[k])[0] for k in codes.split(", "))


def _keys(items: Sequence[Item], full: bool, as_json: bool) -> None:
    """Lists what `--set` takes for one item."""
    from ackclock.reproduce.keys import keys

    if len(items) > 1:
        raise InputError(
            f"`--keys` lists the keys of one item, and {len(items)} are named; expected an id such as "
            f"{items[0].id}"
        )
    (i,) = items
    found, scenarios = keys(i, full)
    if not scenarios:
        raise _no_scenario(i)
    if as_json:
        print_json([{"key": k.key, "values": k.values, "scenarios": len(k.scenarios)} for k in found])
        return
    have = "scenario, which has" if scenarios == 1 else "scenarios, which have"
    say(f"{i.id} begins with {count(scenarios)} {have}:")
    say()
    print_table(
        [("key", "left"), ("values", "left"), ("scenarios", "right")],
        [[k.key, _few(k.values), count(len(k.scenarios))] for k in found],
    )
    stands: dict[str, list[str]] = {}
    for k in found:
        for word, of in k.stands_for.items():
            stands[word] = list(dict.fromkeys([*stands.get(word, []), *of]))
    say()
    for word, of in stands.items():
        say(f"{word}: {', '.join(of)}.")
    one = min(found, key=_tells_little)
    note(f"Such as `--set {shlex.quote(f'{one.key}={one.values[0]}')}`.")


def _tells_little(key: Key) -> tuple[bool, bool, int]:
    """The order of keys as an example: first those that people change, with a value that one would type."""
    name = key.key.rpartition(".")[2]
    typed = not key.stands_for and len(key.values[0]) <= SHORT
    return name not in CHANGED, not typed, CHANGED.index(name) if name in CHANGED else 0


def _few(values: Sequence[str]) -> str:
    shown = ", ".join(v if len(v) <= LONGEST else f"{v[:LONGEST]}..." for v in values[:MOST_VALUES])
    return shown if len(values) <= MOST_VALUES else f"{shown}, ... ({count(len(values))} values)"


def _part(progress: Progress, n: int, of: int) -> Progress:
    """The progress of repetition `n`, counted from 0."""
    if of == 1:
        return progress
    return lambda share, label: progress((n + share) / of, f"{label}, repetition {n + 1} of {of}")


def _verdict(result: dict[str, Any]) -> bool | None:
    """Whether an item holds, over all repetitions where there are several; None where that is open."""
    chance = result["chance"]
    verdict = chance["verdict"] if chance else result["verdict"]
    return {HOLDS: True, FALLS_SHORT: False}.get(verdict)


def _of_check(check: dict[str, Any]) -> str:
    """The verdict of a check that was run once."""
    return OPEN if check.get("open") else HOLDS if check["holds"] else FALLS_SHORT


def _list(items: Sequence[Item], as_json: bool) -> None:
    from ackclock.reproduce import counted
    from ackclock.reproduce.item import KINDS
    from ackclock.reproduce.papers import PAPERS, order
    from ackclock.reproduce.verdicts import recorded

    record, rows = recorded(), []
    for i in sorted(items, key=lambda i: order(i.id)):
        verdict, decides = counted.decided(i.id, record[i.id]) if i.id in record else (None, counted.QUICK)
        verdict = None if i.kind == "CONTEXT" else verdict
        holds = {HOLDS: True, FALLS_SHORT: False}.get(verdict)
        rows.append({**i.listing(), "holds": holds, "verdict": verdict, "decides": decides})
    if as_json:
        print_json(rows)
        return
    for paper in (p for p in PAPERS.values() if any(i.paper == p.name for i in items)):
        counts = counted.count(paper, record)
        say(f"{paper.name}: {counted.sentence(counts)}")
        others = [(name, counts[name]) for name in (counted.EQUATIONS, counted.RULES) if name in counts]
        say("Apart: " + ", ".join(f"{c.holds} of {c.of} {name} hold" for name, c in others) + ".")
    say()
    print_table(
        [(key, "left") for key in ("id", "at its size", "kind", "title")],
        [[r["id"], r["verdict"] or "-", r["kind"], r["title"]] for r in rows],
        names=("id", "kind"),
    )
    shown = {kind for i in items for kind in i.kind.split(", ")}
    say()
    for kind in (kind for kind in KINDS if kind in shown):
        say(f"{kind}: {KINDS[kind]}.")
    note("`ackclock reproduce PAPER --list` lists those of one paper.")


def _show(result: dict[str, Any], *, asked: bool) -> None:
    """Prints an item. asked: whether other seeds were."""
    say(f"{result['id']} ({result['paper']}, {_kinds(result['kind'])}): {result['title']}")
    if result["answer"]:
        say(f"The answer: {result['answer']}")
    chance = result["chance"]
    if not chance and result["checks"]:
        say(_held(result["checks"]))
    of_checks = chance["checks"] if chance else result["checks"]
    verdicts = [c["verdict"] if chance else _of_check(c) for c in of_checks]
    rows = [
        (SHOWN[v], c["name"], *for_people(c["expected"], c["got"], v == HOLDS))
        for c, v in zip(of_checks, verdicts, strict=True)
    ]
    print_table(
        [("", "left"), ("check", "left"), ("expected", "left"), ("got", "left")], rows, names=("", "check")
    )
    if chance:
        _show_chance(chance)
    elif asked and not result["seeds"]:
        say(
            "It takes no seeds: it draws nothing at random, so it was run once, and another seed is the same."
        )
    elif asked:
        say(f"Run with {_seeds(result['seeds'])}, in place of the seeds that the list below names.")
    if result["skipped"]:
        say(f"Skipped, neither passed nor failed: {result['skipped']}")
    for key, value in result["set"].items():
        _show_set(key, value, result)
    if "REAL" in result["kind"].split(", ") and (asked or result["set"]):
        say("What it runs over real packets is as without `--seed`, `--seeds` and `--set`.")
    for reference in result["points_at"]:
        _show_reference(reference)
    for test in result["tests"]:
        say(f"Tested by {test}")
    if result["choices"]:
        say()
        print_table(
            [("unstated in the paper", "left"), ("chosen here", "left")],
            list(result["choices"].items()),
            names=("unstated in the paper", "chosen here"),
        )
        say()
    for line in result["notes"]:
        say(line)
    note(
        f"{'Data and figure' if result['figures'] else 'Data' if result['data'] else 'Summary'} in "
        f"{result['folder']}"
    )
    if scenarios := result["scenarios"]:
        first = shlex.quote(shortest(scenarios[0]))
        note(f"Scenarios it ran: {len(scenarios)}, each for `ackclock run`; the first: {first}")
    say()


def _seeds(seeds: Sequence[int]) -> str:
    """Seeds in words."""
    first, last = min(seeds), max(seeds)
    if first == last:
        return f"seed {first}"
    if sorted(set(seeds)) == list(range(first, last + 1)):
        return f"seeds {first} to {last}"
    return f"seeds {listed([str(n) for n in sorted(set(seeds))])}"


def _held(checks: Sequence[dict[str, Any]]) -> str:
    """How many checks hold, in a sentence."""
    verdicts, of = [_of_check(c) for c in checks], len(checks)
    n, undecided = verdicts.count(HOLDS), verdicts.count(OPEN)
    if n == of:
        return "Its check holds." if of == 1 else f"All {of} checks hold."
    if of == 1:
        return (
            "Its check is open: the interval contains the limit." if undecided else "Its check falls short."
        )
    rest = [f"{of - n - undecided} fall short"] if n + undecided < of else []
    rest += [f"{undecided} are open: the interval contains the limit"] if undecided else []
    return f"{n} of {of} checks hold; {', '.join(rest)}."


def _show_set(key: str, value: str, result: dict[str, Any]) -> None:
    """Says in which scenarios a value was set."""
    refused, of = result["refused"].get(key, []), len(result["scenarios"])
    without = sum(len(r["scenarios"]) for r in refused)
    if not without:
        say(f"Set in all its scenarios ({count(of)}): {key} = {value}. {AS_BEFORE}")
        return
    say(
        f"Set in {count(of - without)} of its {count(of)} scenarios: {key} = {value}. The figure, the data "
        f"and the checks mix them with the others. {AS_BEFORE}"
    )
    for r in refused[:MOST_REASONS]:
        say(f"Not in {_files(r['scenarios'])}: {r['reason']}.")
    if len(refused) > MOST_REASONS:
        rest = sum(len(r["scenarios"]) for r in refused[MOST_REASONS:])
        say(f"Not in {count(rest)} more, for reasons that summary.json has (`refused`).")


def _files(files: Sequence[str]) -> str:
    names = [Path(file).name for file in files]
    if len(names) <= 2:
        return " and ".join(names)
    return f"{count(len(names))} scenarios ({names[0]}, {names[1]}, ...)"


def shortest(file: str) -> str:
    """A file's path from here, if it lies below this folder."""
    here = Path.cwd()
    return str(Path(file).relative_to(here)) if Path(file).is_relative_to(here) else file


def _show_chance(chance: dict[str, Any]) -> None:
    from ackclock.reproduce.chance import ENOUGH

    say(
        f"Over {chance['repetitions']} repetitions with other seeds: {chance['verdict']}. Means with 95 % "
        "intervals; in brackets, in how many repetitions the check holds. Open: the interval contains the "
        f"limit. All checks together hold in {chance['held']}."
    )
    if not chance["enough"]:
        say(f"Fewer than {ENOUGH} repetitions are not enough for a verdict on chance: --seeds {ENOUGH}")
    added = chance["seeds_added"]
    say(
        "Figure, data and scenarios are those of the first; the seeds of the others are larger by "
        f"{', '.join(str(n - added[0]) for n in added[1:])}."
    )


def _show_reference(reference: dict[str, Any]) -> None:
    source = f" Source: {reference['source']}." if reference["source"] else ""
    about = f": {reference['about']}" if reference["about"] else ""
    say(f"\n{reference['reference']}{about}{source}")
    rows = [(p["name"], p["here"], p["default"], p["values"], p["about"]) for p in reference["params"]]
    if rows:
        print_table([(name, "left") for name in ("parameter", "here", "default", "values", "meaning")], rows)
