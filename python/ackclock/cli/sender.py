from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ackclock.cli import completion
from ackclock.console import note, print_json, print_table, say
from ackclock.quantities import count, seconds

# Seconds (TCP_RTO_MIN).
DEFAULT_MIN_RTO = 0.2


@click.command("sender")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--flow",
    metavar="SEL",
    help="The connection: a number of `ackclock capture`, a port (:443), an address or both. By default the "
    "one with the most data.",
)
@click.option(
    "--stack",
    "stacks",
    metavar="NAME",
    shell_complete=completion.stacks,
    multiple=True,
    help="A stack to try: a preset with modifiers. May be repeated. By default the presets of systems, and "
    "linux with other windows.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(file: Path, flow: str | None, stacks: tuple[str, ...], as_json: bool) -> None:
    """Name the sender of a captured connection: its congestion control and timers.

    FILE is a capture made at the sender's end, as `ackclock capture` reads it. Each stack is given the acks
    of the capture at their times, and what it would have sent, and when, is compared with what was sent.

    The table has the likeliest stack first. `fit` is how well a stack explains the capture: 0 is perfect,
    lower is worse (the logarithm of its likelihood, per round trip). `behind` is how much less likely it is
    than the first, also as a logarithm.
    """
    from ackclock.results import name_sender

    sender = name_sender(file, flow, stacks or None)
    if as_json:
        print_json({**sender.report, "stack": sender.stack})
        return
    report = sender.report
    say(verdict(sender.stack, report))
    say()
    rows = [
        (c["stack"], f"{c['fit']:.2f}", f"{c['behind']:.0f}", deviation(c["deviates"]))
        for c in sender.candidates
    ]
    print_table(
        [("stack", "left"), ("fit", "right"), ("behind", "right"), ("deviates", "left")],
        rows,
        spare=["behind"],
    )
    if report["damage"]:
        note(f"Note: {report['damage']}.")
    if report["cut"]:
        note("The connection is longer; its first two million packets were followed.")


def verdict(stack: str | None, report: dict[str, Any]) -> str:
    """What was found, in sentences."""
    best = report["candidates"][0]
    ends = f"{report['from']} > {report['to']}"
    if stack:
        first = f"{ends}: sent as {stack} sends, window {best['window']}."
    else:
        from ackclock.results.sender import FITS

        unlike = best["fit"] < FITS
        why = "none fits" if unlike else "more than one window fits"
        first = f"{ends}: no stack is named, {why}; nearest is {best['stack']}."
    parts = [first, f"Compared over {count(report['rounds'])} round trips."]
    if (segs := report["initial_window_segs"]) is not None:
        parts.append(f"Initial window {count(segs)} segments.")
    if (found := report["min_rto"]) is not None:
        parts.append(minimum(found))
    elif stack:
        parts.append(unknown(report["min_rto_unknown"], report["min_rto_at_most"]))
    return " ".join(parts)


def minimum(found: dict[str, Any]) -> str:
    """The minimum of the timeout: a value where nothing else within a tick is left, or the range that is."""
    low, high, value = found["low"], found["high"], found["value"]
    if value is not None:
        between = "" if low == high else f" ({seconds(low)} to {seconds(high)})"
        return f"Minimum of the timeout {seconds(value)}, to a tick of 4 ms{between}."
    default = " (Linux's default is 200 ms)" if low <= DEFAULT_MIN_RTO <= high else ""
    return f"Minimum of the timeout between {seconds(low)} and {seconds(high)}{default}."


def unknown(why: str, most: float | None) -> str:
    """Why the minimum of the timeout is not known, and what it is at most."""
    if why == "no-timeout":
        return "No timeout, so its minimum is unknown."
    said = {
        "unlike": "the stack does not fit well enough for its timers",
        "variation": "round trips varied by more",
        "undecided": "none explains when its timer fired better than another",
    }[why]
    bound = f"; it is at most {seconds(most)}" if most is not None else ""
    return f"Its minimum does not show in the timeouts ({said}){bound}."


def deviation(found: dict[str, Any] | None) -> str:
    """Where a stack would have done something else."""
    if found is None:
        return "-"
    packet, what, amount = found["packet"], found["what"], found["amount"]
    if what in ("fewer", "more"):
        does = f"{amount:.1f} segments {what}"
    elif what == "earlier":
        does = f"{seconds(amount)} earlier"
    elif what == "timer":
        does = f"timer {seconds(abs(amount))} {'later' if amount > 0 else 'earlier'}"
    else:
        does = what
    return f"packet {packet:,}: {does}"
