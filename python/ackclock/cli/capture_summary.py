"""What `ackclock capture` prints: a summary, a row for each connection, and sentences on those that stalled
longest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ackclock.console import note, print_table, say
from ackclock.plain import plain
from ackclock.quantities import count, percent, rate, seconds
from ackclock.results.what_if_words import HEADINGS, meanings

if TYPE_CHECKING:
    from ackclock.results import Capture

MOST_ROWS = 40
"""Connections that the terminal shows; those with the longest stalls come first when there are more."""
MOST_SERVERS = 10
"""Servers whose totals it shows."""
MOST_DESCRIBED = 5
"""Connections that it describes in sentences."""
COUNTED = ("timeouts", "spurious", "early", "rounds")
WAITED = ("waited", "waited_least", "waited_most")
COLUMNS = (
    "no",
    "client",
    "server",
    "state",
    "packets",
    "bytes",
    "duration",
    "RTT",
    "retransmitted",
    "spurious",
    "timeouts",
    "in a row",
    "stalled",
    "loss events (p)",
)
SPARE = ("in a row", "spurious", "RTT", "loss events (p)", "state", "bytes", "duration", "packets")
"""Columns that a narrow terminal leaves out, in this order."""


def show(capture: Capture, named: bool) -> None:
    """Prints a capture, with the name of its file if there are several."""
    from ackclock.results.overview import worst_first

    report = capture.report
    if named:
        say(f"{plain(report['file'])}:")
    if not capture.connections:
        say(f"No TCP connection in {count(report['packets'])} packets.")
    else:
        for sentence in (report["answer"]["sentence"], *report["answer"]["others"], *capture.summary()):
            say(sentence)
        say()
        shown = capture.connections
        if len(shown) > MOST_ROWS:
            shown = worst_first(shown)[:MOST_ROWS]
        columns = [(c, "left" if c in ("client", "server", "state") else "right") for c in COLUMNS]
        names = ("no", "client", "server")
        print_table(
            columns,
            [_row(c) for c in shown],
            names=names,
            spare=SPARE,
            stack=names[1:],
            elsewhere="--csv has all",
        )
        _servers(report["answer"]["servers"])
        _describe(shown)
        if len(shown) < len(capture.connections):
            say(
                f"... and {count(len(capture.connections) - len(shown))} more connections that stalled "
                "less; --flow, --csv or --json shows them."
            )
    for sentence in report["notes"]:
        note(f"Note: {sentence}.")
    for c in capture.connections[:MOST_ROWS]:
        for sentence in c["notes"]:
            note(f"Connection {c['number']}: {sentence}.")


def _servers(groups: list[dict[str, Any]]) -> None:
    """Totals of the connections to each server, where one had several; those that took longest first."""
    from ackclock.results.answer import cause_of

    if not any(g["connections"] > 1 for g in groups):
        return
    say()
    columns = ("server", "connections", "bytes", "time", "mean", "set-up", "timers", "most of it")
    rows = [
        [
            g["server"],
            count(g["connections"]),
            count(g["bytes"]),
            *(seconds(g[key]) for key in ("time", "mean", "handshake", "timeouts")),
            cause_of(g),
        ]
        for g in groups[:MOST_SERVERS]
    ]
    sides = [(c, "left" if c in ("server", "most of it") else "right") for c in columns]
    print_table(sides, rows, names=("server",), spare=("timers", "bytes", "mean", "set-up", "time"))
    if len(groups) > MOST_SERVERS:
        say(f"... and {count(len(groups) - MOST_SERVERS)} more servers; --json has all.")


def _describe(connections: list[dict[str, Any]]) -> None:
    """Describes the connections that stalled longest, or the only one: what happened, what limited the
    sender, and what other timers would have done.
    """
    from ackclock.results.captured import limited, totals
    from ackclock.results.overview import stalled, worst_first

    worth = [c for c in worst_first(connections) if stalled(c) > 0 or len(connections) == 1]
    for c in worth[:MOST_DESCRIBED]:
        if len(connections) > 1:
            first, *others = (c["answer"]["sentence"], *c["answer"]["others"], *c["summary"])
            say(f"\nConnection {c['number']}: {first}")
            for sentence in others:
                say(sentence)
        else:
            say()
        for sentence in c["answer"]["more"]:
            say(sentence)
        for who, d in zip(("client", "server"), c["directions"], strict=True):
            if d["data_packets"]:
                say(limited(who, d, c))
            if d["models"]:
                say(_models(who, d["models"]))
        if timers := totals(c["directions"]):
            _what_if(timers, c["directions"])


def _what_if(timers: list[dict[str, Any]], directions: list[dict[str, Any]]) -> None:
    """The table of a what-if, with what its columns are."""
    ends = [who for who, d in zip(("client", "server"), directions, strict=True) if d["what_if"]]
    say(
        f"\nThe timers of the {' and the '.join(ends)}{', both together,' if len(ends) > 1 else ''} as they "
        "ran, and others in their place, with the losses of this capture:"
    )
    rows = [
        [
            t["timer"],
            *(count(t[k]) for k in COUNTED),
            *(seconds(t[k]) for k in WAITED),
            f"{seconds(t['rerun_least'])} to {seconds(t['rerun_most'])}",
        ]
        for t in timers
    ]
    headings = [HEADINGS.get(k, k) for k in (*COUNTED, *WAITED)] + ["if repeated"]
    left_out = print_table(
        [("timer", "left"), *((h, "right") for h in headings)],
        rows,
        spare=("early", "streak", "spurious", "least", "most"),
    )
    for sentence in meanings([h for h in headings if h not in left_out]):
        say(sentence)


def _models(who: str, m: dict[str, Any]) -> str:
    said, rates = [], []
    for name, key in (("Mathis", "mathis"), ("PFTK", "pftk")):
        if m[key]["ratio"] is not None:
            said.append(
                f"{100 * m[key]['ratio']:.0f} % of the {rate(m[key]['rate'])} that {name}'s model predicts"
            )
            p = percent(m[key]["p"]) + ("?" if m[key]["p_uncertain"] else "")
            # Mathis's p leaves out episodes with a timeout.
            apart = m["mathis"]["p"] != m["pftk"]["p"]
            which = "with" if key == "pftk" else "without"
            rates.append(f"{p} for {name} {which} episodes that ended in a timeout" if apart else p)
    had = (
        f"The {who} achieved {rate(m['achieved'])} over all the time in which it had data to send, with the "
        "set-up and waits for timers"
    )
    if not said:
        return f"{had}."
    doubt = "; ?: fewer than four" if any("?" in r for r in rates) else ""
    return (
        f"{had}: {' and '.join(said)}, for a round trip of {seconds(m['rtt'])}, segments of {m['mss']} B and "
        f"p = {' and '.join(dict.fromkeys(rates))} (p: loss episodes per packet, each counted once however "
        f"many packets it lost{doubt})."
    )


def _row(c: dict[str, Any]) -> list[str]:
    from ackclock.results.overview import overview

    o = overview(c)
    counts = [count(o[key]) for key in ("retransmitted", "spurious", "timeouts", "rounds")]
    return [
        *(str(o[key]) for key in ("number", "client", "server", "state")),
        *(count(o[key]) for key in ("packets", "bytes")),
        *(seconds(o[key]) for key in ("duration", "rtt")),
        *counts,
        seconds(o["stalled"]),
        percent(o["p"]) + ("?" if o["p_uncertain"] else ""),
    ]
