"""Where the paper of Mondal and Kuzmanovic contradicts itself, or leaves open what matters: the readings, and
which one holds here.
"""

READINGS = [
    (
        "B-A7, B-F3",
        "New connections are set so that the throughput at 50 Mbit/s is 10 to 15 Mbit/s: at 10 Mbit/s "
        "that is a load of 1.0 to 1.5. The figure at two capacities has an equal effective load, "
        "scaled to the capacity.",
        "12 Mbit/s of payload in all items but B-F3 and B-X4, which have 1.2 times either capacity; "
        "B-S6 and B-S10 have 10, 12 and 15.",
    ),
    (
        "B-A2, B-A8",
        "When the count of timeouts ends is not stated. Clients and servers are FreeBSD 6.1, where a "
        "sample of the round-trip time ends it; with timestamps, which FreeBSD offers, every new ack "
        "brings one. Without them a backed-off timeout stays until a segment that was sent once is "
        "acknowledged (Karn).",
        "Timestamps, and so a sample with every new ack, for what the paper ran on its testbed or may have "
        "run there. B-F11, B-F12a, B-X14 and most of B-S1 to B-S10 have no timestamps, and any new ack ends "
        "it; B-S1, B-S5, B-S6 and B-S10 have all three rules.",
    ),
    (
        "B-A3",
        "Whether SYNs follow TCP*(n) or FreeBSD's own schedule, five timeouts before the first "
        "doubling, is not stated. In FreeBSD a data segment is retransmitted twelve times, and a connection "
        "is given up when it is not open after 75 s.",
        "TCP*(n) for SYNs too, and no connection is given up, so that each flow has a response time; B-S6 "
        "has FreeBSD's schedule and its giving up.",
    ),
    (
        "B-A8",
        "The queue is two bandwidth-delay products; of the mean round-trip time (105 ms) or of the "
        "largest (200 ms) is not stated. RED's settings are not given.",
        "The mean, and thresholds at 1/6 and 1/2 of the queue; B-S6 and B-S10 have others.",
    ),
    (
        "B-A4, B-X3",
        "A violation of packet conservation is a timeout below the round-trip time, or any copy of "
        "what was not lost. Fast recovery makes such copies, too.",
        "Timeouts below the round-trip time. This was chosen after both counts had been seen: of spurious "
        "retransmissions by any cause, Trace-II has several per cent (notes of B-X3, and B-S6).",
    ),
    (
        "B-F6a",
        "The crowd's rate is not given, only its loss of about 45 %.",
        "10 Mbit/s, raised from 9 after a first run so that the loss is reached.",
    ),
]

WHERE = [
    (
        "every timeout exceeds its round-trip time",
        "no harm: goodput stays, and the slowest flows get faster",
        "B-F2a, B-X2; B-S5, right column of each panel",
    ),
    (
        "timestamps, so that every ack brings a sample",
        "no harm, even where a timeout begins below the round-trip time or the route grows longer than it",
        "B-S1; B-S5, third panel",
    ),
    (
        "Karn's rule without timestamps, and a timeout at or below the round-trip time",
        "goodput collapses: what was retransmitted gives no sample, the timer does not learn, and only a "
        "backoff that is kept until a sample saves it",
        "B-S1; B-S5, first panel",
    ),
    (
        "the same, with a backoff that any new ack resets",
        "goodput collapses with few flows whether there is backoff or not, with many by the removal",
        "B-S1; B-S5, second panel",
    ),
    (
        "a ceiling on the timeout below the round-trip time",
        "the same, with timestamps too",
        "B-S5, last panel",
    ),
    (
        "an overload that lasts for minutes",
        "the tail is shorter and goodput the same, but more is lost, and more flows get slower than faster",
        "full forms of B-X2, B-S3, B-F9a",
    ),
    (
        "some have moved and others not",
        "those who keep backoff wait longer, the last of them most",
        "B-F12a, B-S4",
    ),
]
"""Under what conditions removal does what, and which items show it."""

_TABLE = "\n".join(
    f"| {' | '.join(row)} |" for row in (("where", "what removal does", "shown by"), ("---",) * 3, *WHERE)
)

TOGETHER = f"""## When is it safe

The paper's argument rests on one condition: a copy is sent only when the copy before it has left the network (RTO > RTT). What that comes to:

{_TABLE}

So it is safe where timeouts exceed their round-trip times and senders soon notice when they no longer do, as with timestamps. What it buys there is a
shorter tail and a shorter recovery, not a faster usual transfer (B-S2, B-S3).

![Goodput without backoff and with it, where the timeout may be below the round-trip time (B-S5)](images/B-S5-map.png)

B-S1 to B-S6 and B-S10 put the questions that sceptics asked, and B-S9 puts the paper's own to Linux's TCP. Each answer is written by its item from
what it has just measured; the sections further down have figures and checks."""  # noqa: E501
