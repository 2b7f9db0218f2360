from __future__ import annotations

import dataclasses
import difflib

import click

from ackclock import ids
from ackclock._core import InputError
from ackclock.cli import completion
from ackclock.console import print_json, print_table, say
from ackclock.policy import declarations, presets
from ackclock.policy.declared import Declaration, Preset, bounds


@click.command("policies")
@click.argument("name", required=False, shell_complete=completion.policies())
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, as_json: bool) -> None:
    """List every policy and preset, or show the parameters of those called NAME (or of a kind).

    A policy is one exchangeable rule: a timer, a backoff, a way to detect losses, a congestion window, a
    queue. A preset is a whole TCP with a name, made of policies. Scenarios choose among them.

    \b
        ackclock policies cubic
        ackclock policies backoff
    """
    found = [d for d in declarations() if name is None or name in (d.name, d.kind, f"{d.kind}.{d.name}")]
    stacks = [p for p in presets() if name is None or name in (p.name, "preset", f"preset.{p.name}")]
    if not found and not stacks:
        known = [d.name for d in declarations()] + [d.kind for d in declarations()]
        names = dict.fromkeys([*known, *(p.name for p in presets()), "preset"])
        near = difflib.get_close_matches(name or "", names, 1)
        hint = f"did you mean `{near[0]}`?" if near else "`ackclock policies` lists them"
        raise InputError(f"`{name}` is not the name of a policy or of a kind of policy; {hint}")
    if as_json:
        # A preset has no parameters of its own; what it sets is in `settings`.
        print_json(
            [dataclasses.asdict(d) for d in found]
            + [{"kind": "preset", **dataclasses.asdict(p), "params": []} for p in stacks]
        )
    elif name is None:
        print_table(
            [("kind", "left"), ("policy", "left"), ("about", "left")],
            [(d.kind, d.name, d.about) for d in found] + [("preset", p.name, p.about) for p in stacks],
            names=("kind", "policy"),
        )
    else:
        for i, d in enumerate(found):
            say("\n" * bool(i) + _page(d).rstrip("\n"))
            if d.params:
                rows = [(p.name, p.default, bounds(p), p.about) for p in d.params]
                print_table(
                    [("parameter", "left"), ("default", "left"), ("values", "left"), ("meaning", "left")],
                    rows,
                )
        for i, p in enumerate(stacks, len(found)):
            say("\n" * bool(i) + _preset(p).rstrip("\n"))
            print_table([("sets", "left"), ("to", "left")], p.settings)


def _preset(p: Preset) -> str:
    return f"{p.name} (preset)\n{p.about}\n{_source(p.source)}"


def _page(d: Declaration) -> str:
    return f"{d.name} ({d.kind})\n{d.about}\n{_source(d.source)}" + ("" if d.params else "No parameters.\n")


def _source(source: str) -> str:
    """Where a policy is from, and how to see what the papers say of it."""
    items = ids.named(source)
    return (f"Source: {ids.without(source)}\n" if source else "") + (
        f"In the papers: ackclock reproduce {items[0]}"
        + (f" (also {', '.join(items[1:])})" if items[1:] else "")
        + "\n"
        if items
        else ""
    )
