"""Captures of simulated transfers, written from the table `segments` as a capture at the data's sender would show them, and taken apart again."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.results import Capture, Run, read_capture

CLIENT, SERVER = ("10.0.0.1", 40_000), ("10.0.0.2", 5001)
SYN, FIN, RST, ACK = 2, 1, 4, 16
RAW_IP = 101
STACK, MSS = "newreno", 1460
CHOICES = {
    "captures": "made of simulated transfers, at the data's sender, headers alone: what was sent and what arrived, "
    "with sequence and acknowledgment numbers, "
    "without timestamps and SACK; NewReno sends",
}


def transfer(link: ac.Link, rtt: str, seconds: float, workload: object = None, room: str = "4MiB", **options: Any) -> Run:
    """One connection of NewReno over one link, its packets traced; bulk unless `workload` says otherwise. `room`: the receiver's buffer."""
    stack = ac.Stack("newreno+no-sack", mss=f"{MSS}B", rcv_buf=room)
    path = ac.Single(link, rtt=rtt)
    return ac.Scenario.of(path, workload or ac.Bulk(), {STACK: stack}, duration=f"{seconds:g}s", trace=["packets"], **options).simulate()


def capture(run: Run) -> Capture:
    """What a capture beside the sender of a traced run holds, taken apart."""
    table = run.traces["segments"]
    rows = table.filter(pc.and_(pc.equal(table["run"], STACK), pc.equal(table["connection"], 0)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "simulated.pcap"
        path.write_bytes(pcap(rows, MSS))
        return read_capture(path)


def pcap(rows: pa.Table, mss: int) -> bytes:
    """The packets of one end as a pcap file with nanoseconds."""
    out = bytearray(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, RAW_IP))
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
        packet = header(sent, flags, seq, ack, length, mss)
        nanos = round(time * 1e9)
        out += struct.pack("<IIII", nanos // 10**9, nanos % 10**9, len(packet), len(packet) + length) + packet
    return bytes(out)


def header(sent: bool, flags: int, seq: int, ack: int, length: int, mss: int) -> bytes:
    """IPv4 and TCP headers of one packet, checksums left out as a capture of offload shows them."""
    options = struct.pack(">BBH", 2, 4, mss) if flags & SYN else b""
    source, target = (CLIENT, SERVER) if sent else (SERVER, CLIENT)
    total = 40 + len(options) + length
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, total, 0, 0x4000, 64, 6, 0, *(bytes(map(int, a[0].split("."))) for a in (source, target)))
    offset = (5 + len(options) // 4) << 4
    return ip + struct.pack(">HHIIBBHHH", source[1], target[1], seq, ack if flags & ACK else 0, offset, flags, 65_535, 0, 0) + options


def sender(found: Capture) -> dict[str, Any]:
    """The direction that carries the data."""
    return found.connections[0]["directions"][0]


def samples(found: Capture) -> pa.Table:
    """Its samples: those of the direction that carries the data."""
    return found.samples.filter(pc.equal(found.samples["connection"], 0))
