"""Where the paper of Mondal and Kuzmanovic contradicts itself, or leaves open what matters: the readings, and
which one holds here.
"""

READINGS = [
    (
        "I-E7",
        "The exponents of (7) are flattened in print: `(2-p)w` may be a power or a product. Either way it "
        "is an upper bound, which at small windows is far above the share itself.",
        "The power, and where Q is needed the exact binomial share that (7) bounds; "
        "`random-timeouts-bound` has both readings.",
    ),
    (
        "I-E8, I-F3",
        "The largest window wmax of (8) is not stated. With twice the mean window the claim that random "
        "losses cost less than correlated ones holds only up to p = 1.6 % (an ack per packet) or 0.7 % "
        "(per two).",
        "wmax is an input; figures use the exact share averaged over windows up to twice the mean, with "
        "which the claim holds up to p = 0.3.",
    ),
    (
        "I-F3, I-F4, I-F7",
        "Round-trip time and packets per ack are not stated. Whether a smaller minimum RTO is worse than a "
        "backlogged flow depends on both.",
        "0.1 s and an ack per packet; I-F7 checks the loss up to which the statement holds in four cases.",
    ),
    (
        "I-F4",
        'Gains of "two to three times", with no round-trip time given.',
        "They need random losses and about 10 ms: at 100 ms the largest gain is 1.2 with correlated losses "
        "and 1.5 with random ones.",
    ),
    (
        "I-A6, I-S1",
        "An application's dummies must be spaced, or TCP makes one packet of them; how far apart is not "
        "stated. Dummies are lost too: (11) and (12) have losses of the data alone.",
        "1 ms apart. A lost dummy costs what its TCP makes of it: with NewReno a timeout, a window of one "
        "and a doubled RTO.",
    ),
    (
        "I-A1, I-U1",
        "The response time is that from sending a packet to its ack. A cumulative ack comes for a packet "
        "that arrived behind a lost one only once that is repaired; the packet's own, a duplicate or a "
        "selective one, comes at once. The equations know of no packet that waits for another.",
        "The cumulative ack decides, as the text has it. Beside it stands the packet's own ack, of a SACK "
        "sender, with which simulations agree with the equations up to a loss of 3.5 %, as in the paper "
        "(I-F5b).",
    ),
    (
        "I-A3, I-X7",
        "Marks in a bulk flow come from the same exponential process as telnet's packets: by the clock, "
        "then. But a mark that is made while the flow waits for its timer falls on the first packet that "
        "is sent afterwards, which is lost more dearly than others; the equations count packets.",
        "Marks by the clock decide, with which the gain is below 1 from a loss of 1 % on (I-F5b). Beside "
        "them stands every packet of the flow, with which the gain is that of the model.",
    ),
    (
        "I-F5b",
        "The round-trip time is constant while a backlogged flow fills the path.",
        "The receiver of that flow offers 14 packets, what the path holds without a queue; chosen after a "
        "first run with a larger window.",
    ),
    (
        "I-F8",
        "The loss against which latency is drawn: that of the link, of a flow without a strategy, or of "
        "the flows that are measured.",
        "That of the measured flows' data packets, copies included, as I-U2 bins it. It matters with "
        "drop-tail, where packets that leave together are lost together: two copies lose more than one "
        "packet does.",
    ),
    (
        "I-X1",
        "The loss of an interactive packet is always a timeout, where the gap between packets exceeds a "
        "third of the RTO. With exponential intervals of 1 s some gaps do not.",
        "Equal intervals in the check, telnet's beside them: there 8 % of the losses are found by "
        "duplicate acks.",
    ),
]
