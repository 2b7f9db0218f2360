"""Where Jacobson and Karels' paper contradicts itself, or leaves open what matters: both readings, and which
one holds here.
"""

READINGS = [
    (
        "J-E2, J-N3",
        "The text has the round-trip time grow as 1/(1 - rho); its numbers (a factor 16 at 75 % load, "
        "30 % for beta = 2) are those of 1/(1 - rho)^2.",
        "The square, which gives both numbers.",
    ),
    (
        "J-E4",
        "Printed: the standard deviation of the mean is g sdev(m). Independent samples have sqrt(g/(2 "
        "- g)) sdev(m), twice as much at g = 1/8.",
        "The derived one; `mean_sdev_paper` is the printed one.",
    ),
    (
        "J-E5",
        "Printed: mdev = 1.25 sdev for normal errors, and mdev at least sdev. It is the other way "
        "round: sdev = 1.25 mdev.",
        "The corrected direction; `sdev_of_mdev_paper` is the printed one.",
    ),
    (
        "J-E7, J-X2",
        "R + 2V in the paper of 1988, R + 4V in the revision of 1992.",
        "Weight 4; `weight` is a parameter of `jacobson88`.",
    ),
    (
        "J-A5, J-A6, J-X7",
        "The bias of 1.75 ticks that the paper counts on is that of a deviation with gain 1/8; the "
        "final timer's gain of 1/4 has 1.5.",
        "The final timer; `form = one-gain` is the other.",
    ),
    (
        "J-E9",
        "About w^2/3 packets to regain a window; the exact climb from w/2 takes 3 w^2/8.",
        "The paper's; `regain_packets_exact` is the other.",
    ),
    (
        "J-E16",
        "An increment of 576 bytes at 2400 bit/s adds 1.92 s by arithmetic; the paper says 2.4 s, 10 "
        "bits for a byte.",
        "8 bits; `bits` chooses.",
    ),
    (
        "J-E17",
        "The proof that a + 4v stays above the next round-trip time in slow start takes V for the last "
        "difference. The paper's filter falls behind after the first round, with weight 4 too.",
        "Both are checked; the timer filters.",
    ),
    (
        "J-E18, J-N9",
        "The deviation's decay time times 4 is 13.9 samples; the paper's twelve takes 3 for 3.48.",
        "Both are shown.",
    ),
    (
        "J-A12",
        "Idle restart compares with the round-trip time or with the timeout, and counts from the last "
        "send or the last receive (footnote 23).",
        "The timeout and the last send; `idle_after` and `idle_since` choose.",
    ),
    (
        "J-N6",
        "Windows of 8 to 12 packets at 1 % loss: an average window of 12.2 goes with 1 %, a peak of 12 "
        "with 1.85 %.",
        "The average; the simulation measures its own peak.",
    ),
    (
        "J-F3, J-F4, J-F8 to J-F11",
        "20 KBps and 25 KBps are both called the available bandwidth of a link of 230.4 kbit/s, which "
        "carries 26.7 KB/s of data in such packets.",
        "Each figure's own number.",
    ),
    (
        "J-F8",
        "Half of the data packets resent is 4000 of 8192; 11000 sent less 4000 are 7000 distinct ones, "
        "fewer than 8192.",
        "The plotted run was not complete; the checks count what was sent by 170 s.",
    ),
]
