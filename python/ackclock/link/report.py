"""What is shown of a link: each second while it is there, and at its end."""

from __future__ import annotations

from typing import Any

from ackclock.quantities import count, percent, rate, seconds

CAUSES = {
    "queue_full": "full queue",
    "queue_early": "early, by the queue",
    "pushed_out": "pushed out of the queue",
    "shed": "by the queue's scheduler",
    "policed": "policed",
    "oversized": "too large",
    "wire": "lost on the wire",
}
"""Why packets are dropped."""


def title(second: dict[str, Any]) -> str:
    """The last second for the title of a terminal."""
    up, down = second["up"], second["down"]
    return (
        f"down {rate(down['throughput'])}, queue {delay(down)}, {dropped(down)} dropped | "
        f"up {rate(up['throughput'])}, queue {delay(up)}, {dropped(up)} dropped"
    )


def line(second: dict[str, Any]) -> str:
    """The last second as a line of at most 80 columns."""
    parts = [
        f"{name} {rate(d['throughput']):>11} {delay(d):>7} {dropped(d):>4} drops"
        for name, d in (("down", second["down"]), ("up", second["up"]))
    ]
    return f"{second['time']:4.0f} s  {'  '.join(parts)}"


def delay(second: dict[str, Any]) -> str:
    """The mean queueing delay."""
    return seconds(second["queueing_delay"] or 0.0)


def dropped(second: dict[str, Any]) -> int:
    """Packets dropped, whatever the cause."""
    return int(second["dropped_queue"]) + int(second["dropped_wire"])


def size(n: int) -> str:
    """A number of bytes."""
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n >= scale:
            return f"{n / scale:.3g} {unit}"
    return f"{n} B"


def wait(x: float | None) -> str:
    """A time in a queue, which is no more exact than the machine is punctual."""
    return seconds(x) if x is None or x >= 0.9995 else f"{1e3 * x:.1f} ms"


def summary(found: dict[str, Any]) -> list[str]:
    """The whole time, as lines of at most 80 columns."""
    directions = [(name, found[name]) for name in ("down", "up")]
    rows = [["", "packets", "bytes", "rate", "dropped", "queue delay", "95 %", "most"]]
    for name, d in directions:
        lost = sum(n or 0 for n in d["dropped"].values())
        waits = d["queueing_delay"]
        rows.append(
            [
                name,
                count(d["packets"]),
                size(d["bytes"]),
                rate(d["throughput"]),
                count(lost),
                *(wait(waits[key]) for key in ("mean", "p95", "max")),
            ]
        )
    if not any(d["packets"] for _, d in directions):
        return [f"No packet passed in {seconds(found['seconds'])}."]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [f"The link was there for {seconds(found['seconds'])}."]
    for row in rows:
        cells = [
            c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    for name, d in directions:
        causes = [
            f"{words} {count(d['dropped'][cause])} ({percent(d['dropped'][cause] / d['packets'])})"
            for cause, words in CAUSES.items()
            if d["dropped"][cause]
        ]
        if causes:
            lines.append(f"Dropped {name}: {', '.join(causes)}.")
    late = found["late"]
    lines.append(
        f"Packets were {seconds(late['mean'])} late on average and {seconds(late['max'])} at most, "
        f"{count(late['late'])} of {count(late['deliveries'])} more than 1 ms."
    )
    if found["undelivered"]:
        lines.append(f"{count(found['undelivered'])} packets could not be delivered by this machine.")
    if found["unsent"]:
        lines.append("The command ended before all that it had sent had arrived.")
    return lines
