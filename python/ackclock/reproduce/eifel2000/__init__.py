"""The items of the Eifel timer 2000."""

from ackclock.reproduce.papers import Paper

PAPER = Paper(
    prefix="E",
    title="the Eifel timer 2000",
    citation='Ludwig & Sklower, "The Eifel Retransmission Timer" (2000)',
    order=3,
    register="register.txt",
)
