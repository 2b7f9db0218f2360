"""What `ackclock capture --compare` prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ackclock.console import print_json, print_table, say
from ackclock.plain import plain

MOST_DESCRIBED = 10
"""Connections that it describes."""


def show(files: tuple[Path, ...], flow: str | None, as_json: bool) -> None:
    """Compares two captures and prints the result."""
    from ackclock.results.compared import compare

    found = compare(files[0], files[1], flow)
    if as_json:
        print_json(found)
    elif found["kind"] == "two-ends":
        _ends(found)
    else:
        say("The two captures have no connection in common: their figures side by side.")
        say()
        print_table(
            [("", "left"), *((plain(name), "right") for name in _names(files))],
            [[f["figure"], *f["text"]] for f in found["figures"]],
        )


def _ends(found: dict[str, Any]) -> None:
    several = len(found["ends"]) > 1
    say(
        f"The two captures are two ends of {len(found['ends']):,} connections."
        if several
        else "The two captures are two ends of one connection."
    )
    if several:
        total = [sum(w[key] for c in found["ends"] for w in c["ways"]) for key in ("data_lost", "data")]
        say(f"Between them {total[0]:,} of {total[1]:,} data packets were lost.")

    def gone(c: dict[str, Any]) -> int:
        return sum(w["data_lost"] + w["acks_lost"] for w in c["ways"])

    # Those that lost most come first.
    for c in sorted(found["ends"], key=lambda c: (-gone(c), c["numbers"]))[:MOST_DESCRIBED]:
        near = plain(found["files"][c["near_client"]])
        say()
        say(f"Connection {c['numbers'][0]}, {c['client']} to {c['server']}; {near} is nearer to the client.")
        for sentence in c["summary"]:
            say(sentence)
    if len(found["ends"]) > MOST_DESCRIBED:
        say(f"\n... and {len(found['ends']) - MOST_DESCRIBED:,} more connections; --json has all.")


def _names(files: tuple[Path, ...]) -> list[str]:
    names = [file.name for file in files]
    return names if names[0] != names[1] else [str(file) for file in files]
