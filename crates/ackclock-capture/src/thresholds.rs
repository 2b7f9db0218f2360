//! Every threshold that decides a cause or a verdict, with its source: an RFC, a measurement, or a choice
//! with its reason.
//!
//! Choices are validated by scores on captures of Linux with the kernel's own events as truth (the example
//! `kernel_captures` of `ackclock-drive`; docs/captures.md has the scores and the seeds that were inspected).
//! Limits on memory (`MOST_...`) are not here but beside what they limit.

use std::ops::Range;

use ackclock_units::Duration;

/// Declares a group of thresholds and the values in use.
macro_rules! thresholds {
    ($($(#[$about:meta])+ $group:ident { $($(#[$doc:meta])+ $field:ident: $type:ty = $value:expr,)+ })+) => {
        $($(#[$about])+
        #[derive(Debug)]
        pub(crate) struct $group {
            $($(#[$doc])+ pub $field: $type,)+
        }

        impl $group {
            const IN_USE: Self = Self { $($field: $value,)+ };
        })+
    };
}

/// All thresholds.
#[derive(Debug)]
pub(crate) struct Thresholds {
    pub segments: Segments,
    pub timer: Timer,
    pub reaction: Reaction,
    pub probe: Probe,
    pub order: Order,
    pub copies: Copies,
    pub acked: Acked,
    pub doubt: Doubt,
    pub backoff: Backoff,
    pub silence: Silence,
    pub clock: Clock,
    pub view: Views,
}

/// The values in use.
pub(crate) const THRESHOLDS: Thresholds = Thresholds {
    segments: Segments::IN_USE,
    timer: Timer::IN_USE,
    reaction: Reaction::IN_USE,
    probe: Probe::IN_USE,
    order: Order::IN_USE,
    copies: Copies::IN_USE,
    acked: Acked::IN_USE,
    doubt: Doubt::IN_USE,
    backoff: Backoff::IN_USE,
    silence: Silence::IN_USE,
    clock: Clock::IN_USE,
    view: Views::IN_USE,
};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

thresholds! {
    /// Sizes and counts of segments.
    Segments {
        /// Segment size in bytes if the capture has no handshake. Chosen, because no packet of a link of 1500
        /// bytes carries more (40 bytes of headers).
        usual_mss: u32 = 1460,
        /// Segment size if a SYN has no option for it (RFC 9293 §3.7.1).
        mss_without_option: u32 = 536,
        /// Duplicate acks that indicate a loss (RFC 5681 §3.2); as many segments' worth of SACKed bytes do
        /// too (RFC 6675 §4, IsLost).
        dup_thresh: u32 = 3,
        /// Linux backs off linearly, if so configured, while fewer segments than this are outstanding
        /// (`tcp_stream_is_thin`).
        thin: u32 = 4,
    }

    /// When a retransmission timer may have fired.
    Timer {
        /// The shortest timeout. Chosen, because it is below the smallest timeouts in use: two to three ticks
        /// of a kernel.
        shortest: Duration = ms(10),
        /// The shortest timeout, in round trips. Chosen, because no timeout is shorter than a round trip, and
        /// round-trip times vary.
        shortest_rtts: f64 = 0.9,
        /// The lower bound of a kernel's timeout, roughly. Linux has 200 ms at least (`TCP_RTO_MIN`);
        /// measured at the capture, with delays that vary, a little less.
        usual: Duration = ms(180),
        /// While SACKs arrive, a timer within this many round trips is RACK's: it runs for at most a quarter
        /// of a round trip after one (RFC 8985 §6.2), and kernels have ticks.
        rack_rtts: f64 = 1.3,
        /// While SACKs arrive, the part of Linux's timeout before which nothing counts as a timeout. Chosen,
        /// because its round-trip times are known only roughly.
        part_of_linux: f64 = 0.85,
        /// After its probe, Linux's timer runs from when the oldest segment was last sent; the part of it
        /// before which nothing counts as its expiry. Chosen, as `Backoff::earliest`.
        part_after_probe: f64 = 0.92,
        /// By how much Linux's timeout exceeds the smoothed round-trip time at least, less a tick or two: 200
        /// ms (`TCP_RTO_MIN`).
        linux_margin: Duration = ms(190),
        /// Round-trip time if none was measured. Chosen, because it is typical of wide-area paths.
        unknown_rtt: Duration = ms(100),
        /// A wait shorter than this part of the shortest certain timeout cannot be one: the timer was set
        /// before. Chosen, because waits vary by less.
        part_of_certain: f64 = 0.9,
    }

    /// How soon a sender reacts to an ack.
    Reaction {
        /// How long a busy machine takes to react. Chosen, because it is above the scheduling delays of a
        /// busy Linux machine.
        busy: Duration = ms(3),
        /// RACK waits a quarter of the round-trip time in addition (RFC 8985 §6.2).
        rack_part: u64 = 4,
        /// A sender reacts within half a round trip at the latest. Chosen, because later its next ack may be
        /// the one that counts.
        latest_part: u64 = 2,
        /// How long an idle sender takes to react. Chosen, because it is far above the time that a kernel
        /// takes for an ack.
        at_once: Duration = us(500),
        /// A paced sender waits for the departure time of its next segment: a part of the round-trip time.
        /// Chosen, because a window of ten segments and more is spread over one.
        paced_part: u64 = 16,
        /// A SYN-ACK follows a SYN within this many times the first such delay. Chosen, because delays vary.
        syn_ack_factor: f64 = 1.5,
        /// And by this much later. Chosen, because machines may be busy.
        syn_ack_margin: Duration = ms(20),
    }

    /// Probes: of a lost tail, of a closed window, of an idle peer.
    Probe {
        /// No tail loss probe is sent sooner: timers have ticks (of 4 ms at 250 Hz).
        soonest: Duration = ms(4),
        /// Smoothed round trips after which a probe may be due: 2 (RFC 8985 §7.2), less the amount by which
        /// the smoothed time measured here may exceed the sender's.
        rtts: f64 = 1.8,
        /// Seconds since 1970 between which a capture has no tail loss probe: from 1990, before which a clock
        /// was not set, to 30 June 2013, when Linux 3.10 was the first system with them.
        before: Range<f64> = 631_152_000.0..1_372_550_400.0,
        /// The delay that a sender allows for a single segment's ack (RFC 8985 §7.2, WCDelAckT).
        delayed_ack: Duration = ms(200),
        /// The shortest silence before a keepalive. Chosen, because their intervals are set in seconds (RFC
        /// 9293 §3.8.4 asks for two hours).
        keepalive: Duration = ms(500),
    }

    /// Which of two packets was sent first.
    Order {
        /// Identifications farther apart show no order. Chosen, because no path reorders by so many packets.
        ids: u16 = 4096,
        /// What fills a hole within half a round trip is late, not retransmitted: no ack can have reported
        /// it.
        late_part: u64 = 2,
        /// The same before any round-trip time is known. Chosen, because few paths are shorter.
        late: Duration = ms(3),
        /// Without timestamps and identifications, what repeats a segment within this part of the round-trip
        /// time is a copy that the network made. Chosen, because no ack can have triggered it.
        duplicate_part: f64 = 0.3,
        /// The same before any round-trip time is known. Chosen, because few paths are shorter.
        duplicate: Duration = ms(1),
        /// Nearer to the sender than this part of the way, no network lies between that could make copies.
        /// Chosen, because a first link is about that short.
        at_sender_part: u64 = 8,
    }

    /// Packets that come twice at once.
    Copies {
        /// A copy that its sender sends on purpose follows within this time. Chosen, because it is less than
        /// any timer: Linux's shortest wait for a probe is two ticks.
        on_purpose: Duration = ms(1),
        /// And within this part of the round-trip time, so that no ack can have triggered it.
        on_purpose_part: u64 = 2,
        /// By its sender's timestamps it follows within so many ticks. Chosen, because the capture's machine
        /// may have been busy.
        on_purpose_ticks: u64 = 2,
        /// A capture that holds packets twice has the second one within this time. Chosen, because a packet
        /// may wait between two devices of a machine.
        doubled: Duration = ms(20),
        /// The same while it is not known to hold them twice. Chosen, because acks in a burst look the same
        /// too.
        perhaps_doubled: Duration = us(200),
        /// This many segments in a row that come twice show that the capture holds packets twice. Chosen,
        /// because some senders do so on purpose, but not with their SYN.
        in_a_row: u32 = 3,
        /// If more than one packet in this many is a copy, the capture made them. Chosen, because a capture
        /// doubles most packets, a network only a few.
        capture_part: u64 = 5,
    }

    /// Which copy an ack is for, by its time.
    Acked {
        /// With fewer samples the path may be shorter by any amount than the shortest of them: the ack of the
        /// first may have been lost.
        few_samples: u64 = 3,
        /// With this many, the shortest is near that of the path. Chosen, because queues empty now and then.
        enough_samples: u64 = 8,
        /// Parts of the shortest round trip within which an ack is an earlier copy's, probably and beyond
        /// doubt, with few samples. Chosen, because the shortest of few may be far above the path's.
        sooner_with_few: (f64, f64) = (0.6, 0.3),
        /// The same with enough of them. Chosen, because packets differ in size.
        sooner: (f64, f64) = (0.9, 0.6),
        /// A copy's own ack takes this part of the shortest round trip at the least. Chosen, because packets
        /// differ in size.
        own_ack_part: f64 = 0.8,
        /// And this many smoothed ones at most, without unusual delay. Chosen, because round-trip times vary.
        own_ack_rtts: f64 = 1.25,
        /// Round trips may deviate by four times their deviation (RFC 6298 §2.3).
        deviations: u64 = 4,
        /// Clocks are off by up to this many ticks: one at either end.
        clock_ticks: u64 = 2,
        /// And by this much in addition. Chosen, because both machines may be busy.
        clock: Duration = ms(1),
        /// How long a receiver delays the ack of a single segment: Linux 40 ms (`TCP_DELACK_MIN`), and a tick
        /// or two.
        delayed_ack: Duration = ms(50),
        /// An ack that is this much later than after the shortest round trip was delayed by its receiver, if
        /// a segment follows it at once. Chosen, because it is below the shortest delay in use (40 ms).
        is_delayed: Duration = ms(25),
    }

    /// When a verdict on an expiry stays uncertain, or is changed.
    Doubt {
        /// The ack of a network's copy follows that of the original within this time. Chosen, because copies
        /// travel one behind the other.
        copy_behind: Duration = ms(2),
        /// What is sent in response to an ack is not acknowledged within half a round trip.
        soon_part: u64 = 2,
        /// Nor, with an unchanged window, within this part of one. Chosen, because packets differ in size.
        young_part: f64 = 0.8,
        /// An ack captured less than this many round trips between capture and sender before had not reached
        /// the sender when its timer fired. Chosen, because that way varies.
        under_way: f64 = 1.5,
        /// The reply to a SYN is in time from this part of the shortest round trip on.
        syn_part: u64 = 2,
        /// Up to this many of them. Chosen, because round trips vary.
        syn_rtts: f64 = 1.25,
        /// And this much more. Chosen, because machines may be busy.
        syn_margin: Duration = ms(5),
    }

    /// Whether a wait is twice the one before, or fits the one that is due.
    Backoff {
        /// A wait this many times the one before has doubled (RFC 6298 §5.5). Chosen, because ticks and busy
        /// machines change waits by less than a quarter.
        doubled: Range<f64> = 1.6..2.5,
        /// This many times: it has stayed the same.
        same: Range<f64> = 0.8..1.3,
        /// As `doubled`, of two waits of which the first may have been a probe's.
        doubled_after_probe: Range<f64> = 1.6..2.6,
        /// As `same`, of these.
        same_after_probe: Range<f64> = 0.8..1.35,
        /// A wait fits from this part of the one due on: a clock other than the sender's is a little off.
        /// Chosen.
        earliest: f64 = 0.92,
        /// Up to this many times it: ticks and a busy machine make it longer. Chosen.
        latest: f64 = 1.12,
        /// Plus this many ticks. Chosen, for the same reason.
        late_ticks: u64 = 3,
        /// The longest tick of a kernel's timer (100 Hz is no longer in use; 250 Hz is).
        tick: Duration = ms(4),
        /// A probe was on time from this part of its wait on. Chosen, because the wait is known less exactly
        /// for senders other than Linux.
        probe_earliest: f64 = 0.8,
        /// Up to this many times it. Chosen for the same reason.
        probe_latest: f64 = 1.35,
        /// A timeout no longer than this many of the probe's waits is about the same. Chosen, because waits
        /// vary by less.
        near_probe: f64 = 1.2,
    }

    /// Silences near the receiver. Those of B-U1 are public: `gaps::LEAST`, `ROUND_TRIPS` and `RATIO`.
    Silence {
        /// Linux's timers are late by an eighth (its timer wheel), and clocks a little off.
        probe_late: f64 = 1.15,
        /// Parts of the shortest and the longest wait between which a sum of waits lies. Chosen, because
        /// clocks are a little off.
        waits: (f64, f64) = (0.95, 1.05),
        /// A margin added to the longest. Chosen, because machines may be busy.
        margin: Duration = ms(20),
        /// What acks trigger comes after so many round trips: RACK waits a quarter of one for reordered packets
        /// (RFC 8985 §6.2 step 4).
        reordering_wait: f64 = 1.25,
        /// A silence shorter than this part of the previous one shows that the previous one included idle
        /// time.
        shorter: f64 = 0.8,
        /// Numbers of copies sent in one silence that show whether the first was a probe. Chosen, because
        /// with more of them the sums overlap.
        counted: Range<u32> = 2..5,
        /// Packets needed to decide whether their sender numbers those of other connections too. Chosen,
        /// because fewer may all have been lost.
        few_steps: u32 = 8,
        /// Average of the numbers skipped between two packets up to which they are losses, as a fraction.
        /// Measured: with hosts that number all packets together two to five are skipped, on a path that
        /// loses three in ten fewer than one.
        left_out: (u32, u32) = (3, 2),
        /// Numbers skipped in a row that losses explain. Chosen, because no window is larger by far.
        lost_in_a_row: u16 = 2000,
        /// Numbers skipped at once that count at most: the loss of a whole window is no sign of another
        /// connection.
        left_out_at_once: u32 = 8,
    }

    /// A peer's clock by its timestamps (RFC 7323).
    Clock {
        /// Time after which two timestamps determine the tick. Chosen, because that is the longest tick in
        /// use.
        long: Duration = ms(500),
        /// Two estimates of a tick this many times longer exclude the current one. Chosen, because no delay
        /// has that effect twice.
        much: u64 = 50,
    }

    /// Where a direction was captured.
    Views {
        /// Nearer to the receiver where less than this share of the round trip lies behind the capture.
        receiver_share: f64 = 0.5,
        /// The least probability with which independent losses explain several in a row: one in twenty.
        /// Chosen as the usual significance level.
        by_chance: f64 = 0.05,
        /// What was sent less than this part of a round trip before an ack cannot have elicited it. Chosen,
        /// because packets differ in size.
        own_ack_part: f64 = 0.6,
    }
}
