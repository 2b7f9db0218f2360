"""Captures of simulated transfers, written from the table `segments` as a capture at the data's sender would
show them, and analysed again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.reproduce import pcap as files
from ackclock.reproduce.pcap import ACK, FIN, RST, SYN, header
from ackclock.results import Capture, Run, read_capture

STACK, MSS = "newreno", 1460
CHOICES = {
    "captures": "made of simulated transfers, at the data's sender, headers alone: what was sent and what "
    "arrived, with sequence and acknowledgment numbers, without timestamps and SACK; NewReno "
    "sends",
}


def transfer(
    link: ac.Link, rtt: str, seconds: float, workload: object = None, room: str = "4MiB", **options: Any
) -> Run:
    """One connection of NewReno over one link, its packets traced; bulk unless `workload` says otherwise.
    `room`: the receiver's buffer.
    """
    stack = ac.Stack("newreno+no-sack+per-ack", mss=f"{MSS}B", rcv_buf=room)
    path = ac.Single(link, rtt=rtt)
    return ac.Scenario.of(
        path, workload or ac.Bulk(), {STACK: stack}, duration=f"{seconds:g}s", trace=["packets"], **options
    ).simulate()


def capture(run: Run) -> Capture:
    """The analysis of a capture at the sender of a traced run."""
    table = run.traces["segments"]
    rows = table.filter(pc.and_(pc.equal(table["run"], STACK), pc.equal(table["connection"], 0)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "simulated.pcap"
        path.write_bytes(pcap(rows, MSS))
        return read_capture(path)


def pcap(rows: pa.Table, mss: int) -> bytes:
    """The packets of one end as a pcap file with nanoseconds."""
    out = bytearray(files.begin())
    answered = False
    columns = (rows[name].to_pylist() for name in ("time", "sent", "kind", "seq", "len", "ack"))
    for time, sent, kind, seq, length, ack in zip(*columns, strict=True):
        flags = ACK
        if sent:
            flags = {"syn": SYN, "reset": RST | ACK}.get(kind, ACK)
            # New without payload is the FIN.
            flags |= FIN if kind == "new" and length == 0 else 0
        elif not answered:
            flags, answered = SYN | ACK, True
        out += files.record(time, header(sent, flags, seq, ack, length, mss), length)
    return bytes(out)


def sender(found: Capture) -> dict[str, Any]:
    """The direction that carries the data."""
    return found.connections[0]["directions"][0]


def samples(found: Capture) -> pa.Table:
    """Its samples: those of the direction that carries the data."""
    return found.samples.filter(pc.equal(found.samples["connection"], 0))
