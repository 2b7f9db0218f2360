"""Where Ludwig and Sklower's paper contradicts itself, or leaves open what matters: both readings, and which
one holds here.
"""

READINGS = [
    (
        "E-E8",
        "The equation shrinks the deviation by GAIN^2, the prose by GAIN times 1/FLIGHT; they agree at "
        "sampling rate 1 alone.",
        "The equation; `shock = gain-over-flight` is the prose.",
    ),
    (
        "E-A10, E-F1",
        "A cycle starts at half of the largest load and one segment (the first flight has SSTHRESH + 1 "
        "segments), or at half: then the largest round-trip time is exactly twice the smallest.",
        "One segment more, on which the reference rows rest; `--from-half` starts at half.",
    ),
    (
        "E-A6, E-E6",
        "FLIGHT needs SSTHRESH, of which there is none before the first congestion, and CWND, which "
        "may never fill.",
        "CWND/2 + 1 then, and what is in flight in place of a window that does not fill.",
    ),
    (
        "E-A7",
        "The first AGG, and whether a spurious timeout raises it before the sample of the same row "
        "lowers it.",
        "1, and the rise first; `initial_agg` is a parameter.",
    ),
    (
        "E-A2",
        "Karn's backoff doubles up to 240 s (twice the maximum segment lifetime); Mondal and "
        "Kuzmanovic's TCP stops at 64 times the timeout (B-A2).",
        "Whichever is less; `max_doublings` and `max_timeout` of `exponential` choose.",
    ),
    (
        "E-E12, E-E18",
        "The reference rows are in exact arithmetic; the figures have ticks of 1 ms or 500 ms, which "
        "inflate timeouts.",
        "Checks in exact arithmetic unless an item says otherwise; `tick` and `rounded` are parameters.",
    ),
    (
        "E-E13",
        "What the countdown does when the age has passed the timeout is not stated.",
        "It fires at once.",
    ),
    (
        "E-E17, E-F2",
        "240 bytes/s on a line of 2.4 kbit/s are 10 bits for a byte; 8 would make it 300.",
        "10, which gives the paper's 250 s for 40 packets.",
    ),
    (
        "E-A3",
        "Whether the sampling rate is known or measured.",
        "Measured from the acks of the last round trip: 1, or 1/2 with delayed acks; 1/load where one "
        "segment is timed at a time.",
    ),
    (
        "E-A1, E-F8",
        "About 30 % more throughput by the precise countdown depends on tick arithmetic and on what a "
        "buffer of one packet holds, neither given.",
        "Declared with the item, and swept.",
    ),
]
