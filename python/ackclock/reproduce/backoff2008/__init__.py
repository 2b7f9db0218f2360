"""The items of Mondal & Kuzmanovic 2008."""

from ackclock.reproduce.papers import Claim, Paper

PAPER = Paper(
    prefix="B",
    title="Mondal & Kuzmanovic 2008",
    citation='Mondal & Kuzmanovic, "Removing Exponential Backoff from TCP" (2008)',
    order=5,
    register="register.txt",
    remark="with [when it is safe](papers/backoff2008.md#when-is-it-safe) to remove backoff",
    claims=(
        Claim(
            "In the paper's model of a link, no file takes longer without backoff.",
            ("B-T1",),
        ),
        Claim(
            "Without exponential backoff the slowest web transfers finish sooner, and goodput stays "
            "as it was.",
            ("B-F2a", "B-F2b", "B-F2c", "B-X1", "B-X2"),
        ),
        Claim(
            "This holds for Tahoe, Reno and SACK, over RED and drop-tail queues, and for faster links.",
            ("B-F3", "B-X4", "B-F5a", "B-F5b"),
        ),
        Claim(
            "It holds under bursts and sudden crowds too.",
            ("B-F4", "B-F6a", "B-F6b"),
        ),
        Claim(
            "It holds over several bottlenecks, where dropped packets waste what links before have carried.",
            ("B-F8", "B-F9a", "B-F9b", "B-F9c", "B-F10", "B-F11"),
        ),
        Claim(
            "It can be deployed a host at a time: those without backoff gain, and the others are not "
            "harmed much.",
            ("B-F12a", "B-F12b", "B-F12c", "B-X5", "B-X6"),
        ),
    ),
)
