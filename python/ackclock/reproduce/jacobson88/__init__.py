"""The items of Jacobson & Karels 1988."""

from ackclock.reproduce.papers import Claim, Paper

PAPER = Paper(
    prefix="J",
    title="Jacobson & Karels 1988",
    citation='Jacobson & Karels, "Congestion Avoidance and Control" (1988, revised 1992)',
    order=1,
    register="register.txt",
    claims=(
        Claim(
            "A sender that starts with a full window overruns the queue in front of a slower line and "
            "repeats much of what it sent; slow start avoids that.",
            ("J-F2", "J-F3", "J-F4"),
        ),
        Claim(
            "RFC 793's timer does not follow round-trip times that vary under load; a timer of their "
            "mean and mean deviation does.",
            ("J-F5", "J-F6"),
        ),
        Claim(
            "Without congestion avoidance, connections that share a line repeat a large part of what "
            "they send; with it they repeat little and use the line.",
            ("J-F8", "J-F9", "J-F10", "J-F11"),
        ),
        Claim(
            "Windows that grow by a constant and shrink by a factor adapt to the path within seconds; "
            "growth by a factor is wrong.",
            ("J-F12", "J-X4", "J-X5"),
        ),
        Claim(
            "Of all backoffs only an exponential one has a chance to be stable on any network.",
            ("J-X9",),
        ),
        Claim(
            "A gateway can see congestion early and signal it to those who use more than their share.",
            ("J-X15", "J-X16", "J-X21"),
        ),
    ),
)
