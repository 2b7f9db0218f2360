from __future__ import annotations

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import sequence
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, at_most, between, item
from ackclock.reproduce.jacobson88 import four, testbed
from ackclock.reproduce.jacobson88.four import Totals, listed
from ackclock.reproduce.jacobson88.testbed import KB

LETTER = {"estimator": ac.Rfc793(min_rto="1s"), "timer": "precise", "karn_samples": False}
"""RFC 793's timer by the letter: exact samples, of copies as well, and a countdown from the time at which the
oldest packet was sent.
"""
READINGS = {
    "as chosen": {},
    "4.2BSD's table of backoffs": {"backoff": ac.backoff.Bsd43Table(release="4.2BSD")},
    "copies timed as well": {"karn_samples": False},
    "copies timed as well, 4.2BSD's table": {
        "karn_samples": False,
        "backoff": ac.backoff.Bsd43Table(release="4.2BSD"),
    },
    "every segment timed": {"rtt_sampling": "every-segment"},
    "no backoff": {"backoff": "none"},
    "exact samples": {"estimator": ac.Rfc793(min_rto="500ms")},
    "exact samples, no backoff": {"estimator": ac.Rfc793(min_rto="500ms"), "backoff": "none"},
    "exponential backoff": {"backoff": "exponential"},
    "shortest timeout one tick": {"estimator": testbed.old_estimator(min_rto="500ms")},
    "fine timer": {"timer": ac.timer.RestartOnAck()},
    "out of order acknowledged at once": {"ack": "bsd43"},
    "RFC 793 by the letter, exponential backoff": {**LETTER, "backoff": "exponential"},
    "RFC 793 by the letter, no backoff": {**LETTER, "backoff": "none"},
    "beta 1.3": {"estimator": testbed.old_estimator(beta=1.3)},
    "alpha 0.8, beta 1.3": {"estimator": testbed.quicker_timer()},
}


def totals(
    setting: Setting, share: tuple[float, float], seconds: float = four.PLOTTED, **changes: object
) -> list[Totals]:
    """Four old TCPs over each delay of the register's set, for 170 s."""
    wanted = [four.old(delay, seconds, trace=False, **changes) for delay in four.DELAYS]
    return [Totals.of(run, seconds) for run in setting.run_all(wanted, "J-F8", share)]


def judged(found: list[Totals]) -> list[Check]:
    """The register's statements about four old TCPs, over all delays."""
    return [
        between("packets sent in 170 s, delays of 10 to 80 ms", [t.sent for t in found], 9000, 12000),
        between("share of them that are retransmissions", [t.share for t in found], 0.25, 0.5),
        at_most(
            "delivered over what the link carries, at most",
            max(t.delivered for t in found) / (testbed.LINK_DATA / KB),
            0.9,
            "90 %",
        ),
        at_least(
            "median of the fastest rate over the slowest", float(np.median([t.spread for t in found])), 2, "2"
        ),
    ]


@item(
    "J-F8",
    kind="SIM",
    title="Four TCPs without congestion avoidance",
    choices={**four.CHOICES, **testbed.OLD_CHOICES},
)
def reproduce(setting: Setting) -> Outcome:
    """Four old TCPs over eight delays, and what other readings of the old TCP give."""
    by_reading = {}
    for i, (name, changes) in enumerate(READINGS.items()):
        by_reading[name] = totals(
            setting, (i / (len(READINGS) + 1), (i + 1) / (len(READINGS) + 1)), **changes
        )
    found, quicker = by_reading["as chosen"], by_reading["alpha 0.8, beta 1.3"]
    link = testbed.LINK_DATA / KB
    checks = judged(found)
    run = four.old_run()
    figure = sequence(
        testbed.connections(run),
        title="Four conversations without congestion avoidance",
        subtitle=four.SUBTITLE,
        available=testbed.LINK_DATA / 4,
        until=four.PLOTTED,
    )
    rows = []
    for name, over in by_reading.items():
        rows.append(
            {
                "reading": name,
                **{
                    k: float(np.median([getattr(t, k) for t in over]))
                    for k in ("sent", "share", "delivered", "spread")
                },
            }
        )
    delays = [
        {"one_way_ms": d, "sent": t.sent, "resent": t.resent, "KBps": t.rates}
        for d, t in zip(four.DELAYS, found, strict=True)
    ]
    shown = Totals.of(run, four.PLOTTED)
    longer = totals(setting, (len(READINGS) / (len(READINGS) + 1), 1.0), 200)
    notes = [
        f"The run shown: {shown.resent} of {shown.sent} packets retransmitted (paper: 4000 of 11000); "
        f"rates {listed(shown.rates)} KB/s (paper: 8, 5, 5, 0.5); "
        f"{link - shown.delivered:.1f} KB/s of the link missing (paper: 6).",
        f"In 200 s: {min(t.sent for t in longer)} to {max(t.sent for t in longer)} packets.",
        "With the other ends of RFC 793's ranges, alpha 0.8 and beta 1.3, all of it: "
        f"{min(t.sent for t in quicker)} to {max(t.sent for t in quicker)} sent, "
        f"{100 * min(t.share for t in quicker):.0f} to {100 * max(t.share for t in quicker):.0f} % "
        f"retransmitted, up to {max(t.delivered for t in quicker) / link:.2f} of the link delivered, "
        f"fastest over slowest {np.median([t.spread for t in quicker]):.2f}.",
        *(
            (
                f"{r['reading']}: median {r['sent']:.0f} sent, {100 * r['share']:.0f} % retransmitted, "
                f"{r['delivered']:.1f} KB/s delivered, fastest over slowest {r['spread']:.2f}"
            )
            for r in rows
        ),
    ]
    return Outcome(
        checks,
        {"readings": pa.Table.from_pylist(rows), "delays": pa.Table.from_pylist(delays)},
        {"sequence": figure},
        notes,
    )
