from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ackclock.reproduce.item import Outcome, Setting, item, within
from ackclock.reproduce.mathis97 import modem
from ackclock.sweep import run_all


@item(
    "M-F13",
    kind="SIM",
    title="Modem user and research user behind one lossy link",
    choices={
        **modem.CHOICES,
        "picture": "missing in our copy of the paper",
        "round-trip times": "every ack of new data is timed (RFC 6298): paths are measured, not timers",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Builds the paths of both users and measures their least round-trip times."""
    timed = {"estimator": "rfc6298"}
    scenarios = [
        s.but({"duration": "60s", "trace": ["samples"]})
        for s in (
            modem.modem(0, stacks={"tcp": modem.modem_stack().but(**timed)}),
            modem.research(0.01, changes=timed),
        )
    ]
    home, laboratory = run_all(scenarios, workers=setting.workers)
    least = {}
    for name, run in ((modem.MODEM, home), (modem.RESEARCH, laboratory)):
        samples = run.traces["samples"]
        rtt = samples.filter(pc.and_(pc.equal(samples["connection"], 0), pc.is_valid(samples["rtt"])))
        # The handshake's sample carries no data.
        least[name] = 1e3 * float(rtt["rtt"].to_numpy()[1:].min())
    line = next(x for x in home.links.to_pylist() if x["name"] == "modem")
    checks = [
        within("least round-trip time (ms) of the modem user", least[modem.MODEM], modem.UNLOADED, 1),
        within("least round-trip time (ms) of the research user", least[modem.RESEARCH], modem.SHARED, 1),
        within("time of a packet and its ack on the modem line (ms)", modem.copying(), 288.889, 0.001),
        within("longest queue before the modem (packets)", line["queue_max_packets"], modem.QUEUE, 0),
    ]
    rows = [{"user": name, "rtt_min": value / 1e3} for name, value in least.items()]
    return Outcome(checks, {"users": pa.Table.from_pylist(rows)})
