from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.reproduce.item import Outcome, Setting, at_most, item
from ackclock.reproduce.jacobson88 import f2_slow_start as f2
from ackclock.reproduce.jacobson88 import testbed

LINKS = (9_600, 56_000, 230_400, 1_544_000, 5_000_000)
"""Bottlenecks in bit/s behind an Ethernet of 10 Mbit/s."""
ONE_WAYS = (0.01, 0.1, 0.5)


@item(
    "J-X11",
    kind="SIM",
    title="Slow start sends at most twice what the path carries",
    choices={
        "paths": "that of J-F2 with bottlenecks from 9.6 kbit/s to 5 Mbit/s behind 10 Mbit/s, and 10, 100 "
        "and 500 ms one way",
        "slow start": "until the window of 127 packets is open; any round trip that begins with a packet "
        "sent, of the length that packet's ack took",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The most that was sent in a round trip over what the bottleneck can carry in it, for each path."""
    points = [(link, one_way) for link in LINKS for one_way in ONE_WAYS]
    wanted = [
        f2.scenario(link, one_way=one_way, window=127, seconds=40 * one_way + 300 * 8 * 552 / link)
        for link, one_way in points
    ]
    rows = []
    for (link, one_way), run in zip(points, setting.run_all(wanted, "J-X11"), strict=True):
        t = testbed.only_transfer(run, "tcp")
        end = t.offset + t.size
        back = t.acked_at[np.minimum(np.searchsorted(t.acked, end), t.acked.size - 1)]
        # The window is open when an ack no longer releases two packets.
        opened = np.flatnonzero(end - t.acked[np.searchsorted(t.acked_at, t.time, "right") - 1] >= 127 * 512)
        last = t.time[opened[0]] if opened.size else t.time[-1]
        inside = (back <= last) & (t.acked[-1] >= end)
        counts = np.searchsorted(t.time, back[inside], "left") - np.arange(t.time.size)[inside]
        share = counts / (2 * f2.carried(link, (back - t.time)[inside]))
        rows.append(
            {
                "link": link,
                "one_way": one_way,
                "round_trips": int(inside.sum()),
                "most": float(share.max()),
                "packets": int(counts.max()),
            }
        )
    checks = [
        at_most(
            f"{r['link'] / 1e3:g} kbit/s, {1e3 * r['one_way']:g} ms: most sent over twice what is carried",
            r["most"],
            1.0,
            "the bound",
        )
        for r in rows
    ]
    return Outcome(checks, {"paths": pa.Table.from_pylist(rows)})
