//! The declaration of the options: names, defaults, bounds and texts.

use ackclock_policy::Param;
use ackclock_units::Duration;

/// The default of `min_pmtu`: that of Linux's `ip_rt_min_pmtu`, a segment of 512 bytes.
pub const MIN_PMTU: u32 = 552;

const SECOND: Duration = Duration::from_secs(1);
const NONE: Duration = Duration::ZERO;
const WEEK: Duration = Duration::from_secs(604_800);

/// The options as parameters. Scenario files, `--help` and Python read this declaration.
pub const OPTIONS: &[Param] = &[
    Param::bytes("mss", 1460, 64..=65_495, "largest segment, payload bytes, options not counted"),
    Param::bytes("rcv_buf", 1 << 20, 1..=1 << 30, "receive buffer; with `rcv_autotune` the most it grows to"),
    Param::flag(
        "rcv_autotune",
        false,
        "the receive buffer grows with what the application reads in a round trip (dynamic right-sizing, Fisk \
         and Feng 2001; Linux's `tcp_moderate_rcvbuf`)",
    ),
    Param::bytes(
        "rcv_buf_initial",
        65_536,
        1..=1 << 30,
        "receive buffer at the start, with `rcv_autotune`; half of 128 KiB, the second number of Linux's \
         `tcp_rmem`, is for data",
    ),
    Param::bytes("snd_buf", 1 << 20, 1..=1 << 30, "send buffer; with `snd_autotune` the most it grows to"),
    Param::flag(
        "snd_autotune",
        false,
        "the send buffer is memory of packets, each of which takes 832 bytes beside its payload, and grows with the \
         congestion window to what two windows take, with BBR three (Linux's `tcp_sndbuf_expand`); an application \
         that waits for room is called when a third is free. Otherwise it is bytes, and of one size",
    ),
    Param::bytes(
        "snd_buf_initial",
        16_384,
        1..=1 << 30,
        "send buffer before the handshake has ended, with `snd_autotune`: the second number of Linux's `tcp_wmem`",
    ),
    Param::count(
        "snd_wake",
        16,
        1..=1024,
        "an application that waits for room in the send buffer is called when one part in so many is free, \
         without `snd_autotune`: 3 in Linux (`sk_stream_min_wspace`). A flow which the buffer limits sends in bursts of that part, and \
         may miss one of them in each round trip",
    ),
    Param::flag("window_scaling", true, "offer window scaling (RFC 7323)"),
    Param::count(
        "window_shift",
        0,
        0..=14,
        "smallest shift of the window scale that is offered (RFC 7323 2.2); larger where the receive buffer \
         needs it",
    ),
    Param::flag("timestamps", false, "offer timestamps (RFC 7323)"),
    Param::flag("sack", true, "offer selective acknowledgments (RFC 2018)"),
    Param::flag("ecn", false, "offer explicit congestion notification (RFC 3168)"),
    Param::choice(
        "ecn_feedback",
        "rfc3168",
        &["rfc3168", "dctcp", "accurate"],
        "how a receiver reports marks: ECE until the sender responds with CWR (RFC 3168), whether the last \
         packet was marked (DCTCP, RFC 8257), or counters (RFC 9768)",
    ),
    Param::count(
        "ecn_check_rounds",
        4,
        0..=100,
        "with counters of marks, and every packet of so many round trips at the beginning reported as marked: \
         send without ECN from then on, and ignore marks (RFC 9768 3.2.2.3: three or four); 0 to trust them",
    ),
    Param::flag("nagle", true, "hold small segments while data is unacknowledged (RFC 9293 3.7.4)"),
    Param::flag(
        "minshall",
        false,
        "hold them only while another small segment is unacknowledged (Minshall's change of `nagle`, Linux)",
    ),
    Param::flag(
        "eager_send",
        false,
        "what may leave is sent before the application is called and after each of its writes, as by a kernel, whose \
         applications are processes: an ack that is due does not wait for a reply, nor the last data for the FIN",
    ),
    Param::flag(
        "tso",
        false,
        "new data leaves in packets of several segments (TCP segmentation offload), as in Linux: half of the window at \
         most, the bytes of a millisecond at the rate of the window, and two segments at least; where the window has \
         room for less and the next ack is expected within a millisecond, it waits for room for a larger one",
    ),
    Param::duration(
        "timer_tick",
        Duration::ZERO,
        NONE..=Duration::from_secs(1),
        "tick of a timer wheel like Linux's (kernel/time/timer.c), on which the timers of a sender run, but not \
         that of pacing: one of less than 63 ticks fires up to a tick late, one of less than 504 ticks up to eight, and so on; \
         1ms, 4ms and 10ms for HZ of 1000, 250 and 100; 0s for exact timers",
    ),
    Param::flag(
        "pacing_credit",
        false,
        "a departure later than paced, for whatever reason, shortens the time until the next one, by up to half, as \
         Linux does; otherwise a quantum leaves at once after a pause, and the next after all of its time",
    ),
    Param::count(
        "syn_retries",
        6,
        0..=255,
        // B-A6
        "retransmissions of a SYN before the connection is given up",
    ),
    Param::duration(
        "time_wait",
        Duration::from_secs(60),
        NONE..=Duration::from_secs(240),
        "time in TIME-WAIT (2 MSL)",
    ),
    Param::duration(
        "user_timeout",
        NONE,
        NONE..=WEEK,
        "abort when data stays unacknowledged this long; 0s for never",
    ),
    Param::flag("rfc1337", false, "a reset does not end TIME-WAIT (RFC 1337 3)"),
    Param::flag(
        "probe_data",
        true,
        "a probe of a closed window carries the next byte (RFC 9293 3.8.6.1); without, it is an empty \
         segment below the window, as Linux sends it",
    ),
    Param::flag(
        "old_text_acks",
        false,
        "take the acknowledgment of a segment of old text that ends at the next byte expected, as Linux \
         does; RFC 9293 3.10.7.4 drops it",
    ),
    Param::flag(
        "count_segments",
        false,
        "congestion windows count segments, short ones as full-sized, as Linux does; otherwise bytes (RFC 5681 \
         3.1)",
    ),
    Param::flag(
        "early_duplicates",
        false,
        "without SACK, count duplicate acks that come sooner than a round trip after what was sent, as Linux \
         does; otherwise they are taken for bogus (RFC 5681 3.2)",
    ),
    Param::flag(
        "predict_headers",
        false,
        "remember the timestamps of expected headers before the acknowledgment number is looked at, take their \
         text where that is too old, do not look at it where their text repeats it, and remember timestamps of \
         other segments only where it is not old, as Linux does; otherwise timestamps of all acceptable ones (RFC \
         7323 4.3), and no such text (RFC 5961 5.2)",
    ),
    Param::flag(
        "repair_by_count",
        false,
        "retransmit only while fewer retransmissions are in the network than segments are lost, whichever \
         they are of, and none again that an undo has left in the network before the timer fires, as Linux \
         does; otherwise each that is lost (RFC 6675 4)",
    ),
    Param::flag(
        "repair_in_window",
        false,
        "retransmit nothing but the oldest segment beyond a window that the receiver has shrunk, as Linux does \
         (RFC 9293 3.8.6 allows either)",
    ),
    Param::flag(
        "uncapped_default",
        false,
        "the own limit of segments' size does not bound the default size where the peer announces none, as in \
         Linux; otherwise it does (RFC 9293 3.7.1)",
    ),
    Param::flag(
        "grow_after_undo",
        false,
        "the ack that undoes a timeout grows the restored window, as in Linux; otherwise it only restores it \
         (RFC 4015 3.4)",
    ),
    Param::flag(
        "echo_after_repair",
        false,
        "an ECN echo reduces the window again once a loss that has reduced it is repaired, and one after a timeout lets \
         it grow, as in Linux; otherwise the loss has reduced it for that window of data, and echoes let no window grow \
         (RFC 3168 6.1.2)",
    ),
    Param::flag(
        "restart_by_segments",
        false,
        "an ack that ends inside the oldest segment does not restart the retransmission timer, as in Linux; \
         otherwise each ack of new data does (RFC 6298 5.3)",
    ),
    Param::flag(
        "shared_marks",
        false,
        "SACKed neighbours of the same size count as retransmitted where one of them was, when a DSACK reports one \
         and an undo counts, as in Linux, which keeps them in one buffer; otherwise each by itself (RFC 3708 3)",
    ),
    Param::flag(
        "hold_cwr",
        false,
        "after an ECN echo the window does not grow until something is acknowledged that was sent after it, as \
         in Linux, where a recovery that begins meanwhile ends with it, and another one reduces the window again; \
         otherwise until all is that was sent before it (RFC 3168 6.1.2)",
    ),
    Param::flag(
        "hold_repair",
        false,
        "without SACK a repair lasts until something is acknowledged that was sent after its beginning, as in \
         Linux; otherwise until all is that was sent before it (RFC 6582 3.2)",
    ),
    Param::flag(
        "keep_flight",
        false,
        "a timeout leaves the window what is still in the network, by RACK, and a segment, as in Linux; otherwise one \
         segment (RFC 5681 3.1)",
    ),
    Param::flag(
        "fin_in_window",
        false,
        "a FIN waits for room in the receiver's window, with the segment that carries it, and a closed window is \
         probed for it, as in Linux; otherwise it leaves (RFC 9293 3.8.6 speaks of data)",
    ),
    Param::flag(
        "needs_ack",
        false,
        "drop segments without an acknowledgment in silence, as Linux does; otherwise acknowledge those outside the \
         window first (RFC 9293 3.10.7.4)",
    ),
    Param::flag(
        "acks_in_window",
        false,
        "acks and resets have no sequence number beyond a window that the receiver has shrunk, as in Linux; \
         otherwise SND.NXT (RFC 9293 3.10.7.4)",
    ),
    Param::flag(
        "cork_by_timeout",
        false,
        "with nothing outstanding a cork holds for the retransmission timeout where that is longer than 200ms, as \
         in Linux; otherwise for 200ms (RFC 9293 3.8.6.2.1: 0.1s to 1s)",
    ),
    Param::duration(
        "renege_wait",
        NONE,
        NONE..=SECOND,
        "time that a receiver has to take back that it has forgotten what it had SACKed, half the smoothed \
         round-trip time at least, as in Linux; 0s until the retransmission timer expires (RFC 2018 8)",
    ),
    Param::flag(
        "sack_samples",
        false,
        "take round-trip samples of segments that are SACKed, too, where an ack acknowledges none that was \
         sent once, and none of a segment that is acknowledged in part, as Linux does",
    ),
    Param::flag(
        "probe_in_flight",
        true,
        "count a tail loss probe that sends something again as in the network (RFC 6675 4); Linux does not",
    ),
    Param::flag(
        "window_by_news",
        false,
        "an ack sets the window only where it acknowledges more, has a higher sequence number, opens the \
         window further or closes it, and is no duplicate then, as in Linux; otherwise any that is not older \
         (RFC 9293 3.10.7.4)",
    ),
    Param::flag(
        "sack_fin",
        false,
        "report a FIN that arrives ahead of missing data in a SACK block of its own, as Linux does; RFC 2018 \
         3 reports data",
    ),
    Param::flag(
        "grow_after_repair",
        false,
        "the ack that ends a recovery grows the window, as in Linux; RFC 5681 3.2 step 6 only sets it",
    ),
    Param::flag(
        "cut_once",
        false,
        "the timer does not reduce the threshold again where a recovery or an ECN echo has in the same \
         window of data, as in Linux; RFC 5681 3.1 does",
    ),
    Param::flag(
        "forgive_syn",
        false,
        "one lost SYN leaves the initial window as it is, as in Linux, unless the peer has repeated its SYN as \
         well; RFC 5681 3.1 has one segment after it",
    ),
    Param::flag(
        "time_syn_ack",
        false,
        "the SYN-ACK of a simultaneous open gives the first round-trip time, as in Linux; RFC 6298 3 takes none, \
         since it repeats the SYN",
    ),
    Param::flag(
        "check_echo",
        false,
        "the ack that completes a handshake echoes a timestamp of the SYN-ACK, or is acknowledged and dropped, as \
         in Linux; RFC 7323 does not look at echoes there",
    ),
    Param::flag(
        "untimed_segments",
        false,
        "take segments without timestamps although they were negotiated, as Linux does; RFC 7323 3.2 drops \
         them",
    ),
    Param::duration("keepalive", NONE, NONE..=WEEK, "idle time before keepalive probes; 0s for none"),
    Param::duration(
        "keepalive_interval",
        Duration::from_secs(75),
        SECOND..=WEEK,
        "time between keepalive probes",
    ),
    Param::count(
        "keepalive_probes",
        9,
        1..=255,
        "unanswered keepalive probes before the connection is given up",
    ),
    // J-A12
    Param::flag("idle_restart", true, "restart from the restart window after idling for a timeout"),
    Param::choice(
        "idle_after",
        "rto",
        &["rto", "rtt"],
        // J-A12
        "length of an idle period: the timeout, or the smoothed round-trip time",
    ),
    Param::choice(
        "idle_since",
        "send",
        &["send", "receive"],
        // J-A12
        "when an idle period begins: with the last segment sent, or with the last one received",
    ),
    // E-A2
    Param::flag("karn_backoff", true, "keep a backed-off timeout until an unambiguous sample"),
    Param::duration(
        "thin_min_rto",
        NONE,
        NONE..=Duration::from_secs(3600),
        // I-A5
        "minimum of the timeout while at most `thin_window` of the window is outstanding; 0s for the \
         estimator's `min_rto` at all times",
    ),
    Param::ratio(
        "thin_window",
        0.25,
        0.0..=1.0,
        "fraction of the congestion window (or of the initial one, if larger) up to which a flow is thin \
         (`thin_min_rto`)",
    ),
    Param::flag(
        "karn_samples",
        true,
        // J-A8
        "take no round-trip sample of a retransmitted segment; if false, a timing once per round trip \
         continues through retransmissions",
    ),
    Param::choice(
        "rtt_sampling",
        "every-segment",
        &["every-segment", "once-per-rtt"],
        // E-A3
        "which segments are timed without timestamps",
    ),
    Param::flag(
        "bsd_window",
        false,
        "an ack announces all free space, or none where that is less than a segment and a quarter of the buffer, \
         as BSD does; otherwise the edge moves by a segment or half of the buffer at least (RFC 9293 \
         3.8.6.2.2)",
    ),
    Param::flag(
        "rst_in_window",
        false,
        "a reset anywhere in the window ends the connection (RFC 793 3.9); otherwise only one at the next byte \
         expected (RFC 5961 3.2)",
    ),
    Param::flag(
        "syn_in_window",
        false,
        "a SYN in the window resets the connection (RFC 793 3.9); otherwise it is acknowledged (RFC 5961 4.2)",
    ),
    Param::count("challenge_ack_limit", 100, 1..=1_000_000, "challenge ACKs per second at most (RFC 5961 7)"),
    Param::count(
        "skip_test",
        0,
        0..=1 << 32,
        "mean number of new segments between two that are sent a round trip late, to abort a connection \
         whose peer acknowledges them before they are sent (optimistic acks, Sherwood et al. 2005); 0 for \
         none",
    ),
];
