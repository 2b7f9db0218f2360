"""Where the paper of Mondal and Kuzmanovic contradicts itself, or leaves open what matters: the readings, and which one holds here."""

READINGS = [
    (
        "I-E7",
        "The exponents of (7) are flattened in print: `(2-p)w` may be a power or a product. Either way it is an upper bound, which at small windows "
        "is far above the share itself.",
        "The power, and where Q is needed the exact binomial share that (7) bounds; `random-timeouts-bound` has both readings.",
    ),
    (
        "I-E8, I-F3",
        "The largest window wmax of (8) is not stated. With twice the mean window the claim that random losses cost less than correlated ones holds "
        "only up to p = 1.6 % (an ack per packet) or 0.7 % (per two).",
        "wmax is an input; figures use the exact share averaged over windows up to twice the mean, with which the claim holds up to p = 0.3.",
    ),
    (
        "I-F3, I-F4, I-F7",
        "Round-trip time and packets per ack are not stated. Whether a smaller minimum RTO is worse than a backlogged flow hangs on both.",
        "0.1 s and an ack per packet; I-F7 checks the loss up to which the statement holds in four cases.",
    ),
    (
        "I-F4",
        'Gains of "two to three times", with no round-trip time given.',
        "They need random losses and about 10 ms: at 100 ms the largest gain is 1.2 with correlated losses and 1.5 with random ones.",
    ),
    (
        "I-A6, I-S1",
        "An application's dummies must be spaced, or TCP makes one packet of them; how far apart is not said. Dummies are lost too: (11) and (12) "
        "have losses of the data alone.",
        "1 ms apart. A lost dummy costs what its TCP makes of it: with NewReno a timeout, a window of one and a doubled RTO.",
    ),
]
