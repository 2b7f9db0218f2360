"""The items of Mondal & Kuzmanovic 2007."""

from ackclock.reproduce.papers import Claim, Paper

PAPER = Paper(
    prefix="I",
    title="Mondal & Kuzmanovic 2007",
    citation='Mondal & Kuzmanovic, "When TCP Friendliness Becomes Harmful" (2007)',
    order=4,
    register="register.txt",
    claims=(
        Claim(
            "An interactive flow waits for its timer at each loss, and so is slower than a flow that "
            "always has data to send.",
            ("I-X1", "I-X2", "I-F5a", "I-F5b"),
        ),
        Claim(
            "Such an application therefore gains if it fills its window with padding, and more if it "
            "sends copies.",
            ("I-F8a", "I-F8b", "I-X5"),
        ),
        Claim(
            "For the others one more flow that always sends hardly matters.",
            ("I-F6",),
        ),
        Claim(
            "If all do so, a link sustains far fewer flows.",
            ("I-F9a", "I-F9b"),
        ),
        Claim(
            "Smart Framing, smaller segments that keep four in flight, avoids timeouts, but is slower over "
            "drop-tail queues and hardly faster over RED, and so is no way out.",
            ("I-F11", "I-F12a", "I-F12b"),
        ),
        Claim(
            "A smaller minimum timeout would take the reason away.",
            ("I-X4",),
        ),
    ),
)
