"""The items of Mathis, Semke, Mahdavi & Ott 1997."""

from ackclock.reproduce.papers import Paper

PAPER = Paper(
    prefix="M",
    title="Mathis, Semke, Mahdavi & Ott 1997",
    citation='Mathis, Semke, Mahdavi & Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance '
    'Algorithm" (1997)',
    order=2,
    register="register.txt",
)
