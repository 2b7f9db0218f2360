"""Where the paper of Mondal and Kuzmanovic contradicts itself, or leaves open what matters: the readings, and which one holds here."""

READINGS = [
    (
        "B-A7, B-F3",
        "New connections are set so that the throughput at 50 Mbit/s is 10 to 15 Mbit/s: at 10 Mbit/s that is a load of 1.0 to 1.5. The figure at "
        "two capacities has an equal effective load, scaled to the capacity.",
        "12 Mbit/s of payload in all items but B-F3 and B-X4, which have 1.2 times either capacity; B-S6 has 10, 12 and 15.",
    ),
    (
        "B-A2, B-A8",
        "When the count of timeouts ends is not said. Clients and servers are FreeBSD 6.1, where a sample of the round-trip time ends it; with "
        "timestamps, which FreeBSD offers, every new ack brings one. Without them a backed-off timeout stays until a segment that was sent once is "
        "acknowledged (Karn).",
        "A new ack ends it, and timestamps are not offered; B-S1, B-S5 and B-S6 have all three rules.",
    ),
    (
        "B-A3",
        "Whether SYNs follow TCP*(n) or FreeBSD's own schedule, five timeouts before the first doubling, is not said. In FreeBSD a data segment is "
        "sent again twelve times, and a connection is given up when it is not open after 75 s.",
        "TCP*(n) for SYNs too, and nobody gives up, so that each flow has a response time; B-S6 has FreeBSD's schedule and its giving up.",
    ),
    (
        "B-A8",
        "The queue is two bandwidth-delay products; of the mean round-trip time (105 ms) or of the largest (200 ms) is not said. RED's settings are "
        "not given.",
        "The mean, and thresholds at 1/6 and 1/2 of the queue; B-S6 has others.",
    ),
    (
        "B-A4, B-X3",
        "A violation of packet conservation is a timeout below the round-trip time, or any copy of what was not lost. Fast recovery makes such "
        "copies, too.",
        "Timeouts below the round-trip time. This was chosen after both counts had been seen: of copies by any cause, Trace-II has several per cent "
        "(notes of B-X3, and B-S6).",
    ),
    (
        "B-F6a",
        "The crowd's rate is not given, only its loss of about 45 %.",
        "10 Mbit/s, raised from 9 after a first run so that the loss is reached.",
    ),
]

TOGETHER = """## When is it safe

The paper's argument rests on one condition: a copy is sent only when the copy before it has left the network (RTO > RTT). In short:

- It is safe where every sender's timeout exceeds its round-trip time, and where senders soon notice when it no longer does. Timestamps see to that,
  with backoff or without it (B-S1, B-S5).
- It is not safe where a timer cannot learn. By Karn's rule a segment that was sent again gives no sample: a timer below the round-trip time stays
  there, and only a backoff that is kept until a sample ends it. Nor is it safe under a ceiling below the round-trip time (B-S5).
- Where it is safe, what it buys is a shorter tail and a shorter recovery, not a faster usual transfer (B-S2, B-S3), and those who move last pay
  for it (B-S4).

B-S1 to B-S6 put the questions that sceptics asked, and B-S9 puts the paper's own to Linux's TCP. Each answer is written by its item from what it has
just measured; the sections further down have figures and checks."""
