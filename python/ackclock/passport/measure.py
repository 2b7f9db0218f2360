"""What is measured in a run, one number each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ackclock.passport.scene import TESTED
from ackclock.results import Run

Measure = Callable[[Run], float]
PAYLOAD = 1460 / 1500
"""The share of a full packet that is payload."""


def utilisation(run: Run) -> float:
    """The share of the time in which the bottleneck was sending."""
    return _bottleneck(run, "utilisation")


def queueing(run: Run) -> float:
    """The mean queueing delay at the bottleneck, in round trips without queues."""
    return _bottleneck(run, "queue_mean_delay") / run.flows["path_rtt"][0].as_py()


def queueing_delay(run: Run) -> float:
    """The mean queueing delay at the bottleneck (s)."""
    return _bottleneck(run, "queue_mean_delay")


def sojourn(run: Run) -> float:
    """The mean time (s) of a packet in the queue, where the scene measures it."""
    return _bottleneck(run, "sojourn_mean")


def carried(rate: float) -> Measure:
    """The bytes on the wire over those of a rate (bit/s), of a link whose rate varies about it."""

    def share(run: Run) -> float:
        return 8 * _bottleneck(run, "bytes") / (rate * _bottleneck(run, "observed"))

    return share


def drops(run: Run) -> float:
    """The share of the packets offered to the bottleneck that its queue, or a policer before it, dropped."""
    return _bottleneck(run, "dropped_queue") / max(_bottleneck(run, "packets_offered"), 1)


def share_of(stack: str, rate: float | None = None) -> Measure:
    """The goodput of the endless flows of a stack, over their equal share of the bottleneck's capacity. rate
    (bit/s): where a policer lets through less than the bottleneck's.
    """

    def share(run: Run) -> float:
        endless = run.flows.filter(
            pc.and_(pc.equal(run.flows["protocol"], "tcp"), pc.is_null(run.flows["size"]))
        )
        mine = _of(endless, "stack", stack, "goodput")
        fair = (rate or _bottleneck(run, "rate")) * PAYLOAD * len(mine) / endless.num_rows
        return float(mine.sum() / fair)

    return share


def goodput_of(stack: str, rate: float) -> Measure:
    """The goodput of the flows of a stack, over what is payload of a rate (bit/s)."""

    def share(run: Run) -> float:
        return float(_of(run.flows, "stack", stack, "goodput").sum()) / (rate * PAYLOAD)

    return share


def smallest_share(run: Run) -> float:
    """The goodput of the slowest flow under test, over the mean of them."""
    goodput = _of(run.flows, "stack", TESTED, "goodput")
    return float(goodput.min() / goodput.mean()) if goodput.sum() else 0.0


def jain(run: Run) -> float:
    """Jain's fairness index of the flows under test: 1 where all are as fast, 1/n where one has all."""
    goodput = _of(run.flows, "stack", TESTED, "goodput")
    squares = len(goodput) * float((goodput**2).sum())
    return float(goodput.sum()) ** 2 / squares if squares else 0.0


def response_of(group: str) -> Measure:
    """The mean time (s) of the short flows of a group, from opening to the last byte. One that did not finish
    counts with the time that it has had.
    """

    def response(run: Run) -> float:
        began = run.about["warmup"]
        flows = run.flows.filter(
            pc.and_(pc.equal(run.flows["group"], group), pc.greater_equal(run.flows["start"], began))
        )
        ends = flows["end"].to_numpy()
        last = np.nanmax(np.append(ends, flows["start"].to_numpy()))
        times = np.where(np.isnan(ends), last, ends) - flows["start"].to_numpy()
        return float(times.mean())

    return response


def lost_of(group: str) -> Measure:
    """The share of a stream's datagrams that were lost."""

    def lost(run: Run) -> float:
        sent = _of(run.flows, "group", group, "bytes_sent").sum()
        return max(0.0, 1 - float(_of(run.flows, "group", group, "bytes_delivered").sum() / sent))

    return lost


def sent(run: Run) -> float:
    """The segments with payload that the flows under test sent, retransmissions included."""
    return float(_of(run.flows, "stack", TESTED, "data_segments_sent").sum())


def sent_per_round_trip(run: Run) -> float:
    """The same for each round trip without queues."""
    observed = _bottleneck(run, "observed")
    return sent(run) * run.flows["path_rtt"][0].as_py() / observed


def _bottleneck(run: Run, column: str) -> float:
    found = run.links.filter(pc.equal(run.links["name"], "bottleneck"))
    return float(found[column][0].as_py())


def _of(flows: pa.Table, column: str, label: str, wanted: str) -> np.ndarray:
    """A column of the flows that have the label in another one; 0 where it is missing."""
    found = flows.filter(pc.equal(flows[column], label))[wanted]
    return np.nan_to_num(found.to_numpy().astype(float))
