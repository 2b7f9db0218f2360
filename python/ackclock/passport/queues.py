"""The criteria for active queues and policers. Sections are those of RFC 9743."""

from __future__ import annotations

from ackclock.passport.criterion import THIRD_MORE, UNDERUSES, Criterion, at_least, at_most
from ackclock.passport.measure import drops, goodput_of, queueing_delay, share_of, utilisation
from ackclock.passport.scene import (
    TESTED,
    Scene,
    bulk,
    codel,
    dualpi2,
    fq_codel,
    over,
    pie,
    policer,
    red,
)

FLACH = "Flach et al. 2016"
ACTIVE = {"RED": red(ecn=False), "CoDel": codel(ecn=False), "PIE": pie(), "FQ-CoDel": fq_codel()}
MARKING = {"RED": red(ecn=True), "CoDel": codel(ecn=True), "DualPI2 (L4S)": dualpi2()}
WITH_ECN = {"ecn": "true"}
COUNTS_MARKS = {"ecn_feedback": "accurate"}
"""Windows that count marks need accurate feedback (RFC 9768); others treat it as an echo."""
POLICED = 10e6
"""Tokens of the policers, bit/s."""


def _beside(other: str) -> tuple[Scene, ...]:
    """Two flows under test and two of a standard, through each of the queues."""
    flows = (bulk(TESTED, 2), bulk(other, 2))
    return tuple(over(name, *flows, queue=q, duration=40.0, warmup=10.0) for name, q in ACTIVE.items())


def _policed(*workloads) -> tuple[Scene, ...]:
    """A link of 100 Mbit/s behind a policer of a tenth, with buckets of half a bdp and of 5."""
    return tuple(
        over(
            f"burst of {burst[:-2]} kB",
            *workloads,
            rate="100Mbit/s",
            elements=policer(f"{POLICED:.0f}bit/s", burst),
            duration=30.0,
            warmup=10.0,
        )
        for burst in ("25kB", "250kB")
    )


_ALONE = tuple(over(name, bulk(TESTED, 2), queue=q, duration=30.0) for name, q in ACTIVE.items())

QUEUES = (
    Criterion(
        "aqm",
        "Link used with RED, CoDel, PIE, FQ-CoDel",
        "7.1",
        "Two flows through an active queue, which drops: how much of the time the bottleneck sends.",
        _ALONE,
        utilisation,
        "share",
        at_least(0.9),
        UNDERUSES,
        harms=False,
    ),
    Criterion(
        "aqm-delay",
        "Queue kept in RED, CoDel, PIE",
        "7.1",
        "The same through those that all flows share: the mean queueing delay.",
        tuple(scene for scene in _ALONE if scene.where != "FQ-CoDel"),
        queueing_delay,
        "time",
        at_most(1 / THIRD_MORE, enough=0.015),
        "It keeps a longer queue than the standards do, whatever the queue does about it.",
        harms=True,
        source="RFC 8033 4.2",
    ),
    Criterion(
        "fq-delay",
        "Queue kept in FQ-CoDel",
        "7.1",
        "The same through FQ-CoDel, where each flow waits for its own packets alone.",
        tuple(scene for scene in _ALONE if scene.where == "FQ-CoDel"),
        queueing_delay,
        "time",
        at_most(1 / THIRD_MORE, enough=0.015),
        "It keeps a longer queue of its own than the standards do.",
        harms=False,
        source="RFC 8290",
    ),
    Criterion(
        "aqm-reno",
        "What Reno keeps in RED, CoDel, PIE, FQ",
        "7.1",
        "Two flows under test and two of Reno through each of these queues: Reno's goodput over its equal "
        "share.",
        _beside("reno"),
        share_of("reno"),
        "share",
        at_least(THIRD_MORE),
        "Through an active queue it takes more from Reno than CUBIC does.",
        harms=True,
    ),
    Criterion(
        "aqm-cubic",
        "What CUBIC keeps in RED, CoDel, PIE, FQ",
        "7.1",
        "The same with flows of CUBIC.",
        _beside("cubic"),
        share_of("cubic"),
        "share",
        at_least(THIRD_MORE),
        "Through an active queue it takes more from CUBIC than the standards do.",
        harms=True,
    ),
    Criterion(
        "ecn",
        "What Reno keeps where queues mark (ECN)",
        "7.1",
        "Two flows under test and two of Reno, all with ECN, through a queue that marks; DualPI2 has one of "
        "its own for flows that send ECT(1): Reno's goodput over its equal share.",
        tuple(
            over(
                name,
                bulk(TESTED, 2),
                bulk("reno", 2),
                queue=queue,
                duration=40.0,
                warmup=10.0,
                options=WITH_ECN,
                tested=COUNTS_MARKS,
            )
            for name, queue in MARKING.items()
        ),
        share_of("reno"),
        "share",
        at_least(THIRD_MORE),
        "Where both get marks, it takes more from Reno than the standards do.",
        harms=True,
        source="RFC 3168 5, RFC 9332",
    ),
    Criterion(
        "policer",
        "Rate got through a policer",
        "7.2",
        "One flow over 100 Mbit/s behind a policer of 10 Mbit/s, with a burst of 25 or 250 kB: its goodput "
        "over what the policer lets through.",
        _policed(bulk()),
        goodput_of(TESTED, POLICED),
        "share",
        at_least(0.85),
        "It gets less through a policer than the standards do.",
        harms=False,
        source=FLACH,
    ),
    Criterion(
        "policer-loss",
        "Loss at a policer",
        "7.2",
        "The same: the share of its packets that the policer drops.",
        _policed(bulk()),
        drops,
        "share",
        at_most(1 / THIRD_MORE, enough=0.01),
        "It sends more than a policer lets through than the standards do.",
        harms=True,
        source=FLACH,
    ),
    Criterion(
        "policer-reno",
        "What Reno keeps behind one policer",
        "7.2",
        "A flow under test and one of Reno behind that policer: Reno's goodput over its equal share.",
        _policed(bulk(), bulk("reno")),
        share_of("reno", POLICED),
        "share",
        at_least(THIRD_MORE),
        "Behind a policer it takes more from Reno than CUBIC does.",
        harms=True,
        source=FLACH,
    ),
    Criterion(
        "shallow-buffer",
        "Loss at a buffer of 8 packets",
        "7.2",
        "Two flows over a queue of 8 packets, an eighth of a bdp: the share of packets that it drops. What a "
        "network circuit breaker would do about it (RFC 8084) is not simulated.",
        (over("8 packets", bulk(TESTED, 2), buffer="8packets", duration=30.0),),
        drops,
        "share",
        at_most(1 / THIRD_MORE, enough=0.01),
        "It causes more loss at a shallow buffer than the standards do.",
        harms=True,
    ),
)
