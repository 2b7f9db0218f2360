"""The items of Mondal & Kuzmanovic 2007."""

from ackclock.reproduce.papers import Paper

PAPER = Paper(
    prefix="I",
    title="Mondal & Kuzmanovic 2007",
    citation='Mondal & Kuzmanovic, "When TCP Friendliness Becomes Harmful" (2007)',
    order=4,
    register="register.txt",
)
