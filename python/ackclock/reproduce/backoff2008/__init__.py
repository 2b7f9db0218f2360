"""The items of Mondal & Kuzmanovic 2008."""

from ackclock.reproduce.papers import Paper

PAPER = Paper(
    prefix="B",
    title="Mondal & Kuzmanovic 2008",
    citation='Mondal & Kuzmanovic, "Removing Exponential Backoff from TCP" (2008)',
    order=5,
    register="register.txt",
    remark="with [when it is safe](papers/backoff2008.md#when-is-it-safe) to remove backoff",
)
