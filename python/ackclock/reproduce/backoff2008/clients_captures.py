"""What clients capture of simulated transfers, as a file of packets: the table `segments` has what they saw,
and when what they saw was sent.
"""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.reproduce.pcap import ACK, FIN, RST, SYN, begin, header, record
from ackclock.results import read_capture

FIRST_PORT = 10_000
MSS = 1460
NUMBERS = 1 << 16
SOONER = 1e-4
"""Seconds by which a small packet may be sooner than a SYN-ACK with its options; copies of a segment are
further apart.
"""


def silences(segments: pa.Table, flows: list[int]) -> list[list[int]]:
    """For each flow, the rounds of the timeouts that `ackclock capture` infers by gap and content from what
    its client saw.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clients.pcap"
        path.write_bytes(capture(segments, flows))
        connections = read_capture(path, samples=False).connections
    found = {
        int(c["client"].rpartition(":")[2]) - FIRST_PORT: c["directions"][1]["timeouts"] for c in connections
    }
    return [[t["round"] for t in found[n] if t["rule"] == "gap-and-content"] for n in range(len(flows))]


def capture(segments: pa.Table, flows: list[int]) -> bytes:
    """The packets that the clients of these flows sent and received as a pcap file, headers alone: one port
    for each, servers' packets numbered.
    """
    # In order of time already, for all connections together.
    order = np.argsort(segments["connection"].to_numpy(), kind="stable")
    rows = segments.take(order)
    connection = rows["connection"].to_numpy()
    each = []
    for n, flow in enumerate(flows):
        begins, servers, ends = np.searchsorted(connection, [2 * flow, 2 * flow + 1, 2 * flow + 2])
        client, server = (
            rows.slice(begins, servers - begins).to_pylist(),
            rows.slice(servers, ends - servers).to_pylist(),
        )
        each.append(packets(client, server, FIRST_PORT + n))
    return begin() + b"".join(record(*one) for one in heapq.merge(*each, key=lambda one: one[0]))


def packets(
    client: list[dict[str, Any]], server: list[dict[str, Any]], port: int
) -> Iterator[tuple[float, bytes, int]]:
    """Time, headers and payload of what a client sent and received."""
    sent = [row for row in server if row["sent"]]
    # The FIN goes with the last byte.
    ends = [row["seq"] + row["len"] for row in sent if row["kind"] == "new" and row["len"]][-1:]
    places = iter(numbered([row for row in client if not row["sent"]], sent))
    for i, row in enumerate(client):
        if row["sent"]:
            flags = {"syn": SYN, "reset": RST | ACK}.get(row["kind"], ACK)
            # New without payload is the FIN.
            flags |= FIN if row["kind"] == "new" and row["len"] == 0 else 0
            number = i
        else:
            number = next(places)
            flags = (
                SYN | ACK
                if sent[number]["kind"] == "syn"
                else ACK | (FIN if row["len"] and row["seq"] + row["len"] in ends else 0)
            )
        packet = header(
            row["sent"],
            flags,
            row["seq"],
            row["ack"],
            row["len"],
            MSS,
            port=port,
            number=number % NUMBERS,
            sack=True,
        )
        yield row["time"], packet, row["len"]


def numbered(came: list[dict[str, Any]], sent: list[dict[str, Any]]) -> list[int]:
    """For each packet that arrived, its index in the order of sending: the path keeps the order, and the
    SYN-ACK met no queue. Among copies of a segment the latest possible one is taken, from the last packet to
    the first, so that each is matched once.
    """
    least = min((c["time"] - s["time"] for c, s in zip(came[:1], sent[:1], strict=True)), default=0.0)
    places: list[int] = []
    k = len(sent)
    for row in reversed(came):
        k -= 1
        while not (
            sent[k]["seq"] == row["seq"]
            and sent[k]["len"] == row["len"]
            and sent[k]["time"] <= row["time"] - least + SOONER
        ):
            k -= 1
            assert k >= 0, "every packet that arrived was sent"
        places.append(k)
    return places[::-1]
