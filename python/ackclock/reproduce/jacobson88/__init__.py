"""The items of Jacobson & Karels 1988."""

from ackclock.reproduce.papers import Paper

PAPER = Paper(
    prefix="J",
    title="Jacobson & Karels 1988",
    citation='Jacobson & Karels, "Congestion Avoidance and Control" (1988, revised 1992)',
    order=1,
    register="register.txt",
)
