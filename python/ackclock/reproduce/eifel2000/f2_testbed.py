from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.plot import sequence
from ackclock.reproduce.eifel2000 import testbed
from ackclock.reproduce.item import Outcome, Setting, item, within
from ackclock.results.timing import Timing
from ackclock.results.transfer import Transfer

SECONDS = 9000


@item(
    "E-F2",
    kind="SIM",
    title="The testbed: two hosts on a serial line of 2.4 kbit/s",
    choices=testbed.CHOICES,
)
def reproduce(setting: Setting) -> Outcome:
    """The service time and the time of a full queue, as acks and samples show them, with ten bits for each
    byte and with eight.
    """
    found = {framing: _measure(framing) for framing in (10, 8)}
    service, full = found[10][:2]
    checks = [
        within("service time (s), 10 bits for each byte", service, testbed.SERVICE, 0.02 * testbed.SERVICE),
        within("largest round-trip time (s): 40 packets (E-E17)", full, 250.0, 0.02 * 250),
        within("service time (s), 8 bits for each byte", found[8][0], 5.0, 0.02 * 5.0),
        within("largest round-trip time (s), 8 bits for each byte (E-E17)", found[8][1], 200.0, 0.02 * 200),
    ]
    table = pa.table(
        {
            "framing": list(found),
            "service_time": [v[0] for v in found.values()],
            "largest_rtt": [v[1] for v in found.values()],
        },
    )
    fig = sequence(
        {"Lite": found[10][2]},
        title="A bulk transfer over the testbed",
        subtitle=f"{testbed.SUBTITLE}, with 10 bits for each byte",
        available=240 * 1460 / 1500,
    )
    return Outcome(checks, {"line": table}, {"sequence": fig})


def _measure(framing: int) -> tuple[float, float, Transfer]:
    """The usual distance of acks and the largest sample (s), and the transfer."""
    run = testbed.transfer(testbed.line(framing=framing), {"Lite": testbed.lite()}, SECONDS)
    packets = testbed.rows(run, "segments", "Lite")
    timing = Timing.of(packets)
    return float(np.median(np.diff(timing.time))), float(np.nanmax(timing.rtt)), Transfer.of(packets)
