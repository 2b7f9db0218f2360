from __future__ import annotations

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import sequence
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, item, within
from ackclock.reproduce.jacobson88 import f3_without_slow_start as f3
from ackclock.reproduce.jacobson88 import testbed
from ackclock.reproduce.jacobson88.f3_without_slow_start import ONE_WAY, SECONDS, SHARED
from ackclock.reproduce.jacobson88.testbed import KB

MINUTE = 60.0


def paths() -> list[tuple[str, ac.Chain, float]]:
    """Other paths: propagation delays, and the whole link instead of what is left of it."""
    delays = [
        (f"{d} ms one way", testbed.one_conversation(f"{d}ms", rate=SHARED), testbed.SHARE_DATA)
        for d in (10, 30, 60, 150)
    ]
    return [*delays, ("the whole link", testbed.one_conversation(ONE_WAY), testbed.LINK_DATA)]


@item(
    "J-F4",
    kind="SIM",
    title="The same start with slow start",
    choices={**f3.CHOICES, **testbed.OLD_CHOICES, **testbed.NEW_CHOICES},
)
def reproduce(setting: Setting) -> Outcome:
    """New TCP over the path of J-F3, for ten seconds and for a minute, beside the old one."""
    path, available = testbed.one_conversation(ONE_WAY, rate=SHARED), testbed.SHARE_DATA
    tcps, workers = (testbed.new_tcp(), testbed.old_tcp()), setting.workers
    found, old = (f3.starts(tcp, path, available, workers=workers) for tcp in tcps)
    setting.progress(0.3, "J-F4")
    minute, old_minute = (
        f3.starts(tcp, path, available, seconds=MINUTE, phases=4, workers=workers) for tcp in tcps
    )
    shown = f3.middle(found)
    (used, resent, _), (old_used, *_) = f3.median(found), f3.median(old)
    t = f3.shifted(shown)
    later = t.acked_at > SECONDS / 2
    slope = np.polyfit(t.acked_at[later], t.acked[later], 1)[0]
    effective = f3.median(minute)[0] * available / KB
    checks = [
        at_most("share of packets that are retransmissions", resent, 0.02, "2 %"),
        within("slope of the second half over the available rate", slope / available, 1.0, 0.05),
        at_least("effective rate over 60 s (KB/s)", effective, 0.95 * 19, "95 % of 19"),
        at_least("rate over the plot, times that of J-F3", used / old_used, 2.0, "twice"),
    ]
    figure = sequence(
        {"new TCP": t},
        title="The start of a conversation with slow start",
        subtitle="Window 16 KiB, six hops, queue 30 packets, 20 KiB/s available, 100 ms one way",
        available=available,
        until=SECONDS,
    )
    readings = []
    for i, (name, other, rate) in enumerate(paths()):
        setting.progress(0.4 + 0.1 * i, "J-F4")
        new_rate, old_rate = (
            f3.median(f3.starts(tcp, other, rate, phases=8, workers=workers))[0] * rate / KB for tcp in tcps
        )
        readings.append(
            {"path": name, "new_KBps": new_rate, "old_KBps": old_rate, "ratio": new_rate / old_rate}
        )
    lost = SECONDS * (1 - used)
    rows = {"tcp": ["new", "old"], "KBps_10s": [used * available / KB, old_used * available / KB]}
    rows["KBps_60s"] = [effective, f3.median(old_minute)[0] * available / KB]
    notes = [
        f"Over the plot {rows['KBps_10s'][0]:.3g} KB/s (paper 16), {lost:.2g} s spent on slow start "
        f"(paper 2); over a minute {effective:.3g} KB/s (paper 19), "
        f"{effective / rows['KBps_60s'][1]:.2f} times the old TCP's {rows['KBps_60s'][1]:.3g} KB/s.",
        *(
            (
                f"{r['path']}: {r['new_KBps']:.1f} against {r['old_KBps']:.1f} KB/s over the plot, "
                f"{r['ratio']:.2f} times"
            )
            for r in readings
        ),
    ]
    return Outcome(
        checks,
        {"rates": pa.table(rows), "paths": pa.Table.from_pylist(readings)},
        {"sequence": figure},
        notes,
    )
