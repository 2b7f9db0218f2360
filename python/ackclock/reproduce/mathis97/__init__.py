"""The items of Mathis, Semke, Mahdavi & Ott 1997."""

from ackclock.reproduce.papers import Claim, Paper

PAPER = Paper(
    prefix="M",
    title="Mathis, Semke, Mahdavi & Ott 1997",
    citation='Mathis, Semke, Mahdavi & Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance '
    'Algorithm" (1997)',
    order=2,
    register="register.txt",
    claims=(
        Claim(
            "TCP's congestion avoidance gets the bandwidth MSS/RTT * C/sqrt(p) where losses are "
            "random and few, and no timeout interferes.",
            ("M-F3", "M-F4", "M-F1", "M-T1a", "M-T1b", "M-T1c", "M-T1d"),
        ),
        Claim(
            "One constant C and an exponent of nearly -1/2 fit each of ten TCPs.",
            (
                "M-T4a",
                "M-T4b",
                "M-T4c",
                "M-T4d",
                "M-T4e",
                "M-T4f",
                "M-T4g",
                "M-T4h",
                "M-T4i",
                "M-T4j",
                "M-X11",
            ),
        ),
        Claim(
            "Behind a drop-tail queue the phase of the packets decides who loses; queues that drop at "
            "random give each connection what the model says.",
            ("M-T2", "M-T3", "M-F7", "M-X2", "M-X8"),
        ),
        Claim(
            "A real TCP, and the instrument TReno, over real paths agree with the model.",
            ("M-F9", "M-F10", "M-F11"),
        ),
        Claim(
            "Elsewhere the model is an upper bound: timeouts, receivers' windows and idle "
            "applications only take from it.",
            ("M-X7", "M-X16"),
        ),
        Claim(
            "Behind one lossy link, a loss that a user of small segments does not notice stops one of "
            "large windows.",
            ("M-F13", "M-F14", "M-F15"),
        ),
    ),
)
