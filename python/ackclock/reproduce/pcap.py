"""Writes pcap files of headers, in which items record what simulated hosts saw."""

from __future__ import annotations

import struct

CLIENT, SERVER = ("10.0.0.1", 40_000), ("10.0.0.2", 5001)
SYN, FIN, RST, ACK = 2, 1, 4, 16
RAW_IP = 101


def begin() -> bytes:
    """The header of a file with nanoseconds."""
    return struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, RAW_IP)


def record(time: float, packet: bytes, length: int) -> bytes:
    """The record of a packet: its headers, and the length of its payload, which is left out."""
    nanos = round(time * 1e9)
    return struct.pack("<IIII", nanos // 10**9, nanos % 10**9, len(packet), len(packet) + length) + packet


def header(
    sent: bool,
    flags: int,
    seq: int,
    ack: int,
    length: int,
    mss: int,
    *,
    port: int = CLIENT[1],
    number: int = 0,
    sack: bool = False,
) -> bytes:
    """IPv4 and TCP headers of one packet, checksums left out as a capture of offload shows them. sent: by the
    client.

    port: the client's. number: the packet's identification. sack: whether SYNs permit it.
    """
    options = (
        (struct.pack(">BBH", 2, 4, mss) + (b"\x01\x01\x04\x02" if sack else b"")) if flags & SYN else b""
    )
    client = (CLIENT[0], port)
    source, target = (client, SERVER) if sent else (SERVER, client)
    total = 40 + len(options) + length
    ip = struct.pack(
        ">BBHHHBBH4s4s",
        0x45,
        0,
        total,
        number,
        0x4000,
        64,
        6,
        0,
        *(bytes(map(int, a[0].split("."))) for a in (source, target)),
    )
    offset = (5 + len(options) // 4) << 4
    return (
        ip
        + struct.pack(
            ">HHIIBBHHH", source[1], target[1], seq, ack if flags & ACK else 0, offset, flags, 65_535, 0, 0
        )
        + options
    )
