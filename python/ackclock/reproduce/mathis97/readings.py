"""Where the paper of Mathis, Semke, Mahdavi and Ott contradicts itself, or leaves open what matters: the
readings, and which one holds here.
"""

READINGS = [
    (
        "M-U1, M-T4",
        "p is CA events per acknowledged packet, in simulations with random loss as well, or there the "
        "loss that the link was given.",
        "The link's loss, as measured: section 3.1 takes every loss for a signal. Fits over CA events "
        "are on the pages beside it.",
    ),
    (
        "M-U1, M-F8",
        "Downward adjustments are loss episodes, every cut of the window, or recoveries and timeouts.",
        "Loss episodes, each a CA event or a non-CA event, as the instruments have it; the other "
        "counts are in the tables of M-F8 and M-T4.",
    ),
    (
        "M-A1, M-X11",
        "Half of the window may be rounded down to whole segments, and the window held in the round "
        "trip of a repair: suspected of k < -1/2.",
        "Both, here and in table 4; each is a switch (`whole_segs_left`, `repair_segs`). Besides, only "
        "whole segments are in flight.",
    ),
    (
        "M-A8, M-F8",
        "Footnote 14 counts five packets for a fast retransmission, one lost and four acks; the third "
        "duplicate ack is the fourth packet's.",
        "Four, by the usual rule; FACK-RH needs three, since its first two duplicate acks release a segment.",
    ),
    (
        "M-A3",
        "Tahoe goes through slow-start without changing ssthresh, as the paper words it, or halves it "
        "first, as Tahoe did.",
        "It halves; `keep_ssthresh` is the wording.",
    ),
    (
        "M-A10, M-U1",
        "How a lost retransmission is found, and whether the window is cut again then, is not stated.",
        "Three segments sent later are SACKed while the hole is there; the segment is sent again and the "
        "window is not cut again, as appendix A words it.",
    ),
    (
        "M-T2, M-X1",
        "The link model's error for TCP1 is printed as 118 %, and recomputes as 116.6 %.",
        "116.6 %: the inputs are rounded, and this error is the largest.",
    ),
    (
        "M-E16, M-X6",
        "A window of 256 packets of 1500 bytes is printed as 6 Mbytes.",
        "384 kB.",
    ),
    (
        "M-E17, M-F14",
        "A loss of 4 % gives an average window of five packets with C = 1; with C = 1.2 it takes 5.8 %.",
        "0.03 to 0.08.",
    ),
    (
        "M-E15",
        "Whether the brackets round down cannot be read.",
        "They do; `whole_segs` of `fack` is the switch.",
    ),
    (
        "M-X7",
        "Each exclusion leaves a TCP slower than the model, but for short transfers, which may be faster.",
        "Five are held to 1.05 of the model, short transfers to be at least as fast: from slow-start "
        "without bound they are.",
    ),
    (
        "M-X13, M-F4",
        "Timeouts cost little without a queue: the floor of the timeout is not given.",
        "Two ticks of 100 ms, ns version 1's published defaults.",
    ),
]
