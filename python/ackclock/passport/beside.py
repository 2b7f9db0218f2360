"""The criteria for flows beside others. Sections are those of RFC 9743."""

from __future__ import annotations

from ackclock.passport.criterion import THIRD_MORE, Criterion, at_least, at_most
from ackclock.passport.measure import lost_of, queueing_delay, response_of, share_of
from ackclock.passport.scene import TESTED, Scene, bulk, over, short, stream, unphased, words


def _beside(other: str) -> tuple[Scene, ...]:
    """Flows under test and as many of a standard, over buffers from shallow to deep."""
    pairs = [(1, b) for b in ("0.5bdp", "1bdp", "2bdp", "8bdp")] + [(4, "2bdp")]
    return tuple(
        over(
            f"{flows} and {flows}, {words(buffer)}",
            bulk(TESTED, flows),
            bulk(other, flows),
            buffer=buffer,
            elements=unphased(),
            duration=40.0,
            warmup=10.0,
        )
        for flows, buffer in pairs
    )


BESIDE = (
    Criterion(
        "beside-reno",
        "What Reno keeps of its fair share",
        "5.2.1",
        "As many flows of Reno as of the window under test, over drop-tail queues of 0.5 to 8 bdp: Reno's "
        "goodput over its equal share of the link.",
        _beside("reno"),
        share_of("reno"),
        "share",
        at_least(THIRD_MORE),
        "It takes more from Reno than CUBIC does.",
        harms=True,
        source="Ware et al. 2019",
    ),
    Criterion(
        "beside-cubic",
        "What CUBIC keeps of its fair share",
        "5.2.1",
        "The same with flows of CUBIC.",
        _beside("cubic"),
        share_of("cubic"),
        "share",
        at_least(THIRD_MORE),
        "It takes more from CUBIC than the standards do.",
        harms=True,
        source="Ware et al. 2019",
    ),
    Criterion(
        "own-share",
        "What it keeps itself beside CUBIC",
        "5.2.1",
        "In the same scenes: the goodput of the window under test, over its equal share.",
        _beside("cubic"),
        share_of(TESTED),
        "share",
        at_least(0.5),
        "Beside CUBIC it gets less than half of what the standards get.",
        harms=False,
    ),
    Criterion(
        "stream-loss",
        "Loss of a 1 Mbit/s stream",
        "5.2.2",
        "Datagrams at a constant rate beside two flows, over a drop-tail queue of 0.5 or 2 bdp: the share of "
        "them that is lost.",
        tuple(
            over(
                words(b),
                bulk(TESTED, 2),
                stream("1Mbit/s", stop="39s"),
                buffer=b,
                duration=40.0,
                warmup=0.0,
                steady=False,
            )
            for b in ("0.5bdp", "2bdp")
        ),
        lost_of("stream"),
        "share",
        at_most(1 / THIRD_MORE, enough=0.005),
        "Real-time traffic loses more beside it than beside the standards.",
        harms=True,
    ),
    Criterion(
        "stream-delay",
        "Delay that a stream gets beside it",
        "5.2.2",
        "The same over a drop-tail queue of 4 bdp: the mean queueing delay.",
        (over("4 bdp", bulk(TESTED, 2), stream("1Mbit/s"), buffer="4bdp", duration=40.0),),
        queueing_delay,
        "time",
        at_most(1.15),
        "Real-time traffic waits longer beside it than beside the standards.",
        harms=True,
    ),
    Criterion(
        "others-short-flows",
        "Time of CUBIC's short flows beside it",
        "5.2.3",
        "Flows of 30 kB of CUBIC beside a long one under test: their mean time.",
        tuple(
            over(words(b), bulk(), short("cubic", 0.1), buffer=b, duration=30.0, drain=5.0)
            for b in ("1bdp", "4bdp")
        ),
        response_of("short"),
        "time",
        at_most(1 / THIRD_MORE),
        "Short flows of others take longer beside it than beside the standards.",
        harms=True,
    ),
    Criterion(
        "others-long-flow",
        "What Reno keeps beside its short flows",
        "5.2.3",
        "Flows of 100 kB under test, which offer half of the link, beside a long flow of Reno: the goodput "
        "of that flow over the link's capacity.",
        (over("2 bdp", bulk("reno"), short(TESTED, 0.5, "100kB"), duration=40.0),),
        share_of("reno"),
        "share",
        at_least(THIRD_MORE),
        "Its short flows take more from a long one than those of the standards.",
        harms=True,
    ),
)
