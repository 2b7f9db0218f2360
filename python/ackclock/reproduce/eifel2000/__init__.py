"""The items of the Eifel timer 2000."""

from ackclock.reproduce.papers import Claim, Paper

PAPER = Paper(
    prefix="E",
    title="the Eifel timer 2000",
    citation='Ludwig & Sklower, "The Eifel Retransmission Timer" (2000)',
    order=3,
    register="register.txt",
    claims=(
        Claim(
            "The timer of 4.4BSD-Lite rises when the round-trip time falls, and collapses into it "
            "when many segments are in flight.",
            ("E-F3", "E-F4", "E-F13"),
        ),
        Claim(
            "A countdown that restarts with each ack adds the age of the oldest segment to the timeout.",
            ("E-F5", "E-F8", "E-F9"),
        ),
        Claim(
            "The Eifel timer does neither, and its timeout scales with the load.",
            ("E-F6", "E-F7", "E-F14"),
        ),
        Claim(
            "A timer that trains itself gets as low as it can: it creeps down until a timeout is spurious.",
            ("E-F10", "E-X13"),
        ),
        Claim(
            "How often round-trip times are sampled, and in which ticks, matters much to the Lite timer.",
            ("E-F11", "E-F12", "E-X1", "E-X2"),
        ),
    ),
)
