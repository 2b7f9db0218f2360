//! The options of a connection.

mod declared;

use ackclock_policy::Params;
use ackclock_units::{Bytes, Duration};

pub use self::declared::{MIN_PMTU, OPTIONS};

/// Which segments are timed when timestamps are not in use (E-A3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RttSampling {
    /// Every acknowledged segment that was sent once.
    EverySegment,
    /// One segment at a time: a new timing starts when the previous one has ended.
    OncePerRtt,
}

/// What an idle period is compared with (J-A12, footnote 23).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdleAfter {
    /// The timeout in force (RFC 5681 §4.1).
    Rto,
    /// The smoothed round-trip time; the timeout before the first sample.
    Rtt,
}

/// When an idle period begins (J-A12, footnote 23).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdleSince {
    /// With the last segment sent.
    Send,
    /// With the last segment received.
    Receive,
}

/// What a receiver reports of marks to the sender, with ECN in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnFeedback {
    /// That there was one, until the sender confirms with CWR (RFC 3168 §6.1.3).
    Rfc3168,
    /// Whether the last packet was marked (RFC 8257 §3.2).
    Dctcp,
    /// How many there were (RFC 9768), if the peer supports it.
    Accurate,
}

/// The options of a connection, apart from its policies.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Largest segment we accept and announce, bytes of payload without options.
    pub mss: u32,
    /// Largest segment to send to a peer that announces none: 536 bytes over IPv4, 1220 over IPv6 (RFC 9293
    /// §3.7.1). A world sets it.
    pub default_mss: u32,
    /// Smallest packet size that an ICMP error can cause, bytes. A world sets it. 552 is Linux's `min_pmtu`;
    /// RFC 1191 §3 allows 68.
    pub min_pmtu: u32,
    /// Receive buffer; with `rcv_autotune` the most it grows to.
    pub rcv_buf: Bytes,
    /// Let the receive buffer grow with what the application reads in a round trip (dynamic right-sizing, Fisk
    /// and Feng 2001), as Linux does.
    pub rcv_autotune: bool,
    /// With `rcv_autotune`, the receive buffer at the start.
    pub rcv_buf_initial: Bytes,
    /// Send buffer; with `snd_autotune` the most it grows to.
    pub snd_buf: Bytes,
    /// The send buffer is memory of packets, which grows with the congestion window, as in Linux
    /// ([`crate::send_memory`]).
    pub snd_autotune: bool,
    /// With `snd_autotune`, the send buffer before the handshake has ended.
    pub snd_buf_initial: Bytes,
    /// An application that waits for room in the send buffer is called when one part in so many is free.
    pub snd_wake: u32,
    /// Offer and accept window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Smallest shift of the window scale that is offered (RFC 7323 §2.2); larger where the receive buffer
    /// needs it.
    pub window_shift: u8,
    /// Offer and accept timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Offer and accept SACK (RFC 2018).
    pub sack: bool,
    /// Offer and accept ECN (RFC 3168).
    pub ecn: bool,
    /// How the receiver reports marks.
    pub ecn_feedback: EcnFeedback,
    /// With counters of marks: after so many round trips at the beginning in which every packet was reported
    /// as marked, send packets that are not ECN-capable, and ignore marks (RFC 9768 §3.2.2.3). Zero: never.
    pub ecn_check_rounds: u8,
    /// Nagle's algorithm (RFC 9293 §3.7.4).
    pub nagle: bool,
    /// With Nagle's algorithm, only an unacknowledged small segment holds the next one back (Minshall).
    pub minshall: bool,
    /// What may leave is sent before the application is called, and after each of its writes. The simulator does
    /// so; where applications are processes, it follows by itself.
    pub eager_send: bool,
    /// New data leaves in packets of several segments, and waits for room for a larger one, as in Linux
    /// ([`crate::offload`]).
    pub tso: bool,
    /// Tick of the timer wheel on which the timers of a sender run, but not that of pacing; zero for exact timers.
    /// A receiver's are exact: Linux's compressed acks wait for a timer of high resolution.
    pub timer_tick: Duration,
    /// A departure later than paced shortens the time until the next one, by up to half: what Linux does
    /// (`tcp_update_skb_after_send`).
    pub pacing_credit: bool,
    /// Retransmissions of a SYN or SYN-ACK before giving up.
    pub syn_retries: u32,
    /// Time in TIME-WAIT, 2 MSL (RFC 9293 §3.4.2).
    pub time_wait: Duration,
    /// User timeout (RFC 9293 §3.8.3, RFC 5482): abort when data stays unacknowledged for longer; zero for
    /// none.
    pub user_timeout: Duration,
    /// A reset does not end TIME-WAIT (RFC 1337 §3).
    pub rfc1337: bool,
    /// A probe of a closed window carries the next byte (RFC 9293 §3.8.6.1). Without, it is an empty segment
    /// below the window, which the receiver acknowledges as well: what Linux sends.
    pub probe_data: bool,
    /// Take the acknowledgment of a segment whose text ends at the next byte expected, although it holds
    /// nothing new (RFC 9293 §3.10.7.4 drops it): what Linux does (`tcp_sequence`).
    pub old_text_acks: bool,
    /// Congestion windows count segments: each outstanding one, however short, takes a full-sized segment of
    /// the window, and adds one where it is delivered. RFC 5681 §3.1 counts bytes.
    pub count_segments: bool,
    /// Without SACK, count duplicate acks that come sooner than a round trip after what they would show to be
    /// delivered. RFC 5681 §3.2, in its note on bogus duplicate acks, has a sender not trust them.
    pub early_duplicates: bool,
    /// Remember the timestamps of what header prediction expects before the acknowledgment number is looked
    /// at, and of other segments only where that is not old, and do not look at the acknowledgment of expected text
    /// that repeats it: what Linux does (`tcp_rcv_established`).
    pub predict_headers: bool,
    /// Retransmit only while fewer retransmissions are in the network than segments are lost, whichever they
    /// are of, and none again that an undo has left in the network before the timer fires: what Linux does
    /// (`tcp_xmit_retransmit_queue`, `tcp_mark_skb_lost`).
    pub repair_by_count: bool,
    /// Retransmit nothing beyond a window that the receiver has shrunk, except for the oldest segment (RFC 9293
    /// §3.8.6 allows either).
    pub repair_in_window: bool,
    /// The own limit of segments' size bounds what the peer announces, and not the default where it announces
    /// nothing: what Linux does (`tcp_parse_options`).
    pub uncapped_default: bool,
    /// The ack that undoes a timeout grows the restored window as well. RFC 5682 §3.1 and RFC 4015 §3.4 only
    /// restore it.
    pub grow_after_undo: bool,
    /// An ECN echo after a reduction for a loss reduces the window again once that is repaired, and one on an ack after
    /// a timeout lets it grow, neither of which RFC 3168 §6.1.2 has: what Linux does (`tcp_try_to_open`,
    /// `tcp_may_raise_cwnd`).
    pub echo_after_repair: bool,
    /// An ack that ends inside the oldest segment does not restart the retransmission timer (RFC 6298 §5.3 does): what
    /// Linux does (`tcp_clean_rtx_queue`).
    pub restart_by_segments: bool,
    /// SACKed neighbours of the same size count as retransmitted where one of them was, which RFC 3708 §3 does not have:
    /// what Linux does (`tcp_shift_skb_data`).
    pub shared_marks: bool,
    /// After an ECN echo the window does not grow until something is acknowledged that was sent after it
    /// (RFC 3168 §6.1.2: until all is that was sent before it).
    pub hold_cwr: bool,
    /// Without SACK a repair lasts until something is acknowledged that was sent after its beginning (RFC 6582
    /// §3.2: until all is that was sent before it).
    pub hold_repair: bool,
    /// A timeout leaves the window what is in the network and a segment: what Linux does (`tcp_enter_loss`). RFC 5681
    /// §3.1 leaves a segment.
    pub keep_flight: bool,
    /// A FIN waits for room in the receiver's window, and so does the segment that carries it; a closed window is
    /// probed for it: what Linux does (`tcp_snd_wnd_test`). RFC 9293 §3.8.6 speaks of data.
    pub fin_in_window: bool,
    /// Segments without an acknowledgment are dropped in silence: what Linux does (`tcp_rcv_state_process`). RFC 9293
    /// §3.10.7.4 acknowledges those outside the window first.
    pub needs_ack: bool,
    /// Acks and resets have no sequence number beyond a window that the receiver has shrunk: what Linux does
    /// (`tcp_acceptable_seq`). RFC 9293 §3.10.7.4 has SND.NXT.
    pub acks_in_window: bool,
    /// A cork holds for the retransmission timeout where that is longer than 200 ms: what Linux does
    /// (`tcp_check_probe_timer`).
    pub cork_by_timeout: bool,
    /// How long the receiver has to take back that it has forgotten what it had SACKed, after an ack that
    /// shows it; half the smoothed round-trip time where that is longer. Zero: until the retransmission timer
    /// expires (RFC 2018 §8).
    pub renege_wait: Duration,
    /// Time segments that are SACKed as well, where an ack acknowledges nothing that was sent once, and none that is
    /// acknowledged in part (`tcp_clean_rtx_queue`).
    pub sack_samples: bool,
    /// A tail loss probe that sends something again counts as in the network (`pipe` of RFC 6675 §4).
    pub probe_in_flight: bool,
    /// An ack sets the window only where it acknowledges more, has a higher sequence number, opens the window
    /// further or closes it, and is no duplicate then. RFC 9293 §3.10.7.4 takes any that is not older, and
    /// RFC 5681 §2 asks whether the window is another.
    pub window_by_news: bool,
    /// Report a FIN that arrives ahead of missing data in a SACK block of its own (RFC 2018 §3 reports data).
    pub sack_fin: bool,
    /// The ack that ends a recovery grows the window (RFC 5681 §3.2 step 6 only sets it).
    pub grow_after_repair: bool,
    /// An expiry of the timer does not reduce the threshold again where a recovery or an echo has in the same
    /// window of data (RFC 5681 §3.1 eq. 4 does).
    pub cut_once: bool,
    /// One lost SYN leaves the initial window as it is; two make it one segment (RFC 5681 §3.1 has one
    /// segment after one).
    pub forgive_syn: bool,
    /// The SYN-ACK of a simultaneous open gives the first round-trip time (RFC 6298 §3 takes none from it, since it
    /// repeats the SYN).
    pub time_syn_ack: bool,
    /// The ack that completes a handshake echoes a timestamp of our SYN-ACK, or is acknowledged and dropped (RFC
    /// 7323 does not look at echoes there).
    pub check_echo: bool,
    /// Take segments without timestamps although they were negotiated (RFC 7323 §3.2 drops them).
    pub untimed_segments: bool,
    /// Idle time before keepalive probes (RFC 9293 §3.8.4); zero for none.
    pub keepalive: Duration,
    /// Interval between keepalive probes.
    pub keepalive_interval: Duration,
    /// Unanswered keepalive probes before giving up.
    pub keepalive_probes: u32,
    /// Restart from the restart window after idling for a timeout (J-A12, RFC 5681 §4.1).
    pub idle_restart: bool,
    /// What the idle period is compared with.
    pub idle_after: IdleAfter,
    /// When the idle period began.
    pub idle_since: IdleSince,
    /// Keep a backed-off timeout until an unambiguous sample arrives (Karn, E-A2); otherwise until the next
    /// new acknowledgment.
    pub karn_backoff: bool,
    /// Minimum of the timeout while at most `thin_window` of the congestion window is outstanding (I-A5);
    /// zero for the estimator's own minimum.
    pub thin_min_rto: Duration,
    /// Fraction of the window up to which a flow is thin, with `thin_min_rto`.
    pub thin_window: f64,
    /// Take no sample of a segment that was sent twice (Karn, E-A2). Without it, and with `OncePerRtt`, a
    /// running timing continues through retransmissions.
    pub karn_samples: bool,
    /// Which segments are timed without timestamps.
    pub rtt_sampling: RttSampling,
    /// Each ack announces all free space, or none of it where that is less than a segment and a quarter of the
    /// buffer. RFC 9293 §3.8.6.2.2 moves the edge by a segment or half of the buffer at least; BSD has the other
    /// rule (`tcp_output` of 4.4BSD).
    pub bsd_window: bool,
    /// A reset anywhere in the window ends the connection (RFC 9293 §3.5.3). RFC 5961 §3.2 takes the one at the
    /// next byte expected.
    pub rst_in_window: bool,
    /// A SYN in the window resets the connection, as RFC 793 §3.9 had it. RFC 5961 §4.2 acknowledges it.
    pub syn_in_window: bool,
    /// Challenge ACKs per second at most (RFC 5961 §7).
    pub challenge_ack_limit: u32,
    /// Mean number of new segments between two tests whether the peer acknowledges data that it has not
    /// received; 0 for none.
    pub skip_test: u64,
}

impl Config {
    /// Reads the options of a resolved stack, which must be those of [`OPTIONS`].
    pub fn from_params(p: &Params) -> Self {
        Self {
            mss: p.bytes("mss") as u32,
            default_mss: 536,
            min_pmtu: MIN_PMTU,
            rcv_buf: p.bytes("rcv_buf"),
            rcv_autotune: p.flag("rcv_autotune"),
            rcv_buf_initial: p.bytes("rcv_buf_initial"),
            snd_buf: p.bytes("snd_buf"),
            snd_autotune: p.flag("snd_autotune"),
            snd_buf_initial: p.bytes("snd_buf_initial"),
            snd_wake: p.count("snd_wake") as u32,
            window_scaling: p.flag("window_scaling"),
            window_shift: p.count("window_shift") as u8,
            timestamps: p.flag("timestamps"),
            sack: p.flag("sack"),
            ecn: p.flag("ecn"),
            ecn_feedback: match p.choice("ecn_feedback") {
                "dctcp" => EcnFeedback::Dctcp,
                "accurate" => EcnFeedback::Accurate,
                _ => EcnFeedback::Rfc3168,
            },
            ecn_check_rounds: p.count("ecn_check_rounds") as u8,
            nagle: p.flag("nagle"),
            minshall: p.flag("minshall"),
            eager_send: p.flag("eager_send"),
            tso: p.flag("tso"),
            timer_tick: p.duration("timer_tick"),
            pacing_credit: p.flag("pacing_credit"),
            syn_retries: p.count("syn_retries") as u32,
            time_wait: p.duration("time_wait"),
            user_timeout: p.duration("user_timeout"),
            rfc1337: p.flag("rfc1337"),
            probe_data: p.flag("probe_data"),
            old_text_acks: p.flag("old_text_acks"),
            count_segments: p.flag("count_segments"),
            early_duplicates: p.flag("early_duplicates"),
            predict_headers: p.flag("predict_headers"),
            repair_by_count: p.flag("repair_by_count"),
            repair_in_window: p.flag("repair_in_window"),
            uncapped_default: p.flag("uncapped_default"),
            grow_after_undo: p.flag("grow_after_undo"),
            echo_after_repair: p.flag("echo_after_repair"),
            restart_by_segments: p.flag("restart_by_segments"),
            shared_marks: p.flag("shared_marks"),
            hold_cwr: p.flag("hold_cwr"),
            hold_repair: p.flag("hold_repair"),
            keep_flight: p.flag("keep_flight"),
            fin_in_window: p.flag("fin_in_window"),
            needs_ack: p.flag("needs_ack"),
            acks_in_window: p.flag("acks_in_window"),
            cork_by_timeout: p.flag("cork_by_timeout"),
            renege_wait: p.duration("renege_wait"),
            sack_samples: p.flag("sack_samples"),
            probe_in_flight: p.flag("probe_in_flight"),
            window_by_news: p.flag("window_by_news"),
            sack_fin: p.flag("sack_fin"),
            grow_after_repair: p.flag("grow_after_repair"),
            cut_once: p.flag("cut_once"),
            forgive_syn: p.flag("forgive_syn"),
            time_syn_ack: p.flag("time_syn_ack"),
            check_echo: p.flag("check_echo"),
            untimed_segments: p.flag("untimed_segments"),
            keepalive: p.duration("keepalive"),
            keepalive_interval: p.duration("keepalive_interval"),
            keepalive_probes: p.count("keepalive_probes") as u32,
            idle_restart: p.flag("idle_restart"),
            idle_after: if p.choice("idle_after") == "rtt" { IdleAfter::Rtt } else { IdleAfter::Rto },
            idle_since: if p.choice("idle_since") == "receive" {
                IdleSince::Receive
            } else {
                IdleSince::Send
            },
            karn_backoff: p.flag("karn_backoff"),
            thin_min_rto: p.duration("thin_min_rto"),
            thin_window: p.ratio("thin_window"),
            karn_samples: p.flag("karn_samples"),
            rtt_sampling: if p.choice("rtt_sampling") == "once-per-rtt" {
                RttSampling::OncePerRtt
            } else {
                RttSampling::EverySegment
            },
            bsd_window: p.flag("bsd_window"),
            rst_in_window: p.flag("rst_in_window"),
            syn_in_window: p.flag("syn_in_window"),
            challenge_ack_limit: p.count("challenge_ack_limit") as u32,
            skip_test: p.count("skip_test"),
        }
    }
}

impl Config {
    /// The receive buffer of a new connection, bytes.
    pub fn first_rcv_buf(&self) -> Bytes {
        if self.rcv_autotune { self.rcv_buf_initial.min(self.rcv_buf) } else { self.rcv_buf }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::from_params(&Params::defaults(OPTIONS))
    }
}
