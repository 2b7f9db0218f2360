//! What one host's TCP does otherwise than another's where the standards leave it open: how options are
//! laid out, and which stack scripts run by themselves.

use ackclock_wire::{FastOpen, Flags, MAX_OPTIONS_LEN, Segment, emit_options};

use crate::ast::TcpOption;
use crate::layout;

/// A host's manners.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    /// Linux 6.18.
    #[default]
    Linux,
    /// FreeBSD 14.
    FreeBsd,
    /// As the engine is by itself.
    Plain,
}

/// All of them, by their names.
pub const DIALECTS: &[(&str, Dialect)] =
    &[("linux", Dialect::Linux), ("freebsd", Dialect::FreeBsd), ("plain", Dialect::Plain)];

impl Dialect {
    /// Words that are defined for scripts of this dialect, each standing for itself: the names that
    /// packetdrill gives to the systems, for `#ifdef`.
    pub fn defines(self) -> Vec<(String, String)> {
        let name = match self {
            Self::Linux => "Linux",
            Self::FreeBsd => "FreeBSD",
            Self::Plain => return Vec::new(),
        };
        vec![(name.to_owned(), name.to_owned())]
    }

    /// The stack that scripts of this dialect run unless they say otherwise.
    pub(crate) fn stack(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::FreeBsd => "cubic+timestamps+min-rto(30ms)+init-rto(1s)",
            Self::Plain => "sack",
        }
    }

    /// Options of that stack that are the host's own: Linux probes a closed window with an empty segment
    /// (`tcp_xmit_probe_skb`), gives tail loss probes two of its ticks (`tcp_schedule_loss_probe`), counts
    /// windows in segments (`tcp_packets_in_flight`) and each duplicate ack (`tcp_add_reno_sack`), holds a
    /// reduction by an ECN echo, and a repair without SACK, until something above it is acknowledged
    /// (`tcp_fastretrans_alert`), retransmits nothing beyond a shrunk window (`__tcp_retransmit_skb`), sends no FIN
    /// beyond it (`tcp_snd_wnd_test`), and corks for as long as a retransmission timeout (`tcp_check_probe_timer`). Scripts set buffers themselves, or have
    /// the engine's, and their timers are exact. What a policy of the stack does not have is left out.
    pub(crate) fn options_of_stack(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Linux => &[
                ("probe_data", "false"),
                ("recovery.pto_margin", "2ms"),
                ("count_segments", "true"),
                ("early_duplicates", "true"),
                ("hold_cwr", "true"),
                ("hold_repair", "true"),
                ("repair_in_window", "true"),
                ("timer_tick", "0s"),
                ("snd_buf", "1MiB"),
                ("rcv_buf", "1MiB"),
                ("rcv_autotune", "false"),
                ("cork_by_timeout", "true"),
                ("fin_in_window", "true"),
            ],
            // FreeBSD cuts old text off a segment, and takes the acknowledgment (`tcp_do_segment`).
            Self::FreeBsd => &[("bsd_window", "true"), ("rfc1337", "true"), ("old_text_acks", "true")],
            Self::Plain => &[],
        }
    }

    /// The policy that the host's name for a congestion control stands for: Linux's `bbr` is BBR's first
    /// version.
    pub(crate) fn window(self, name: &str) -> &str {
        if self == Self::Linux && name == "bbr" { "bbr1" } else { name }
    }

    /// What the host does against a standard, and its stack therefore does not: Linux takes the
    /// acknowledgment of old text that ends at the next byte expected (`tcp_sequence`), segments without the
    /// timestamps that were negotiated, and no window that is smaller and comes without news
    /// (`tcp_may_update_window`); its timer does not reduce a threshold that was reduced in the same window
    /// (`tcp_enter_loss`), and one lost SYN not the initial window (`tcp_init_transfer`); it times the SYN-ACK of a
    /// simultaneous open, and completes a handshake only by an echo of its SYN-ACK (`tcp_check_req`); it remembers the
    /// timestamps of what it predicts first, and of no other old ack (`tcp_rcv_established`), and it
    /// retransmits no more segments than are lost, whichever they are (`tcp_xmit_retransmit_queue`), takes
    /// `TCP_MAXSEG` for a limit only of what the peer announces (`tcp_parse_options`), the ack that undoes
    /// a timeout for one that grows the window (`tcp_cong_control`), and an echo on an ack that ends a repair for a reason
    /// to reduce again (`tcp_try_to_open`). A timeout leaves the window what RACK takes
    /// to be in the network (`tcp_enter_loss`), acks have no sequence number beyond a shrunk window
    /// (`tcp_acceptable_seq`), and segments without an acknowledgment are dropped in silence
    /// (`tcp_rcv_established`). The search for
    /// differences sets it, so that what follows from it hides nothing else.
    pub(crate) fn departures(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Linux => {
                const ALL: &[(&str, &str)] = &[
                    ("old_text_acks", "true"),
                    ("untimed_segments", "true"),
                    ("window_by_news", "true"),
                    ("cut_once", "true"),
                    ("forgive_syn", "true"),
                    ("time_syn_ack", "true"),
                    ("check_echo", "true"),
                    ("predict_headers", "true"),
                    ("repair_by_count", "true"),
                    ("uncapped_default", "true"),
                    ("grow_after_undo", "true"),
                    ("echo_after_repair", "true"),
                    ("restart_by_segments", "true"),
                    ("shared_marks", "true"),
                    ("keep_flight", "true"),
                    ("acks_in_window", "true"),
                    ("needs_ack", "true"),
                ];
                ALL
            }
            Self::FreeBsd | Self::Plain => &[],
        }
    }

    /// What goes with a policy that was chosen by name: in Linux every congestion control grows only where it
    /// is in use and reduces all of it, CUBIC has HyStart, and RACK has a reading of its own.
    pub(crate) fn goes_with(self, kind: &str, name: &str) -> &'static [(&'static str, &'static str)] {
        const CUBIC: &[(&str, &str)] = &[
            ("window.in_use", "flight"),
            ("window.reduce_from", "window"),
            ("window.arithmetic", "linux"),
            ("slow_start", "hystart"),
        ];
        const OTHER: &[(&str, &str)] =
            &[("window.in_use", "flight"), ("window.reduce_from", "window"), ("slow_start", "delivered")];
        const RACK: &[(&str, &str)] = &[
            ("recovery.linux", "true"),
            ("recovery.sample_before_probe", "false"),
            ("recovery.bounded_duplicates", "true"),
        ];
        match (self, kind, name) {
            (Self::Linux, "window", "cubic") => CUBIC,
            (Self::Linux, "window", _) => OTHER,
            (Self::Linux, "recovery", "rack") => RACK,
            _ => &[],
        }
    }

    /// True where the text of a SYN that Fast Open does not accept is dropped: by a listener (`tcp_conn_request`
    /// of Linux, `syncache_add` of FreeBSD), and by Linux in a simultaneous open as well
    /// (`tcp_rcv_synsent_state_process`). RFC 9293 §3.10.7.2 and §3.10.7.3 would keep it.
    pub(crate) fn drops_text_of_syns(self, of_listener: bool) -> bool {
        match self {
            Self::Linux => true,
            Self::FreeBsd => of_listener,
            Self::Plain => false,
        }
    }

    /// The options of a segment in the order in which the host writes them, with that of Fast Open at the
    /// end.
    pub(crate) fn options(self, segment: &Segment, fast_open: Option<FastOpen>) -> Vec<TcpOption> {
        let mut bytes = [0; MAX_OPTIONS_LEN];
        // What the engine makes fits: it counts the length of options when it cuts payload.
        let used = emit_options(&segment.options, &mut bytes).unwrap_or(0);
        let mut bytes = bytes[..used].to_vec();
        if let Some(option) = fast_open {
            option.append(&mut bytes);
        }
        let mut list = layout::read(&bytes);
        if self == Self::FreeBsd && segment.flags.has(Flags::SYN) {
            // MSS, scale, SACK, timestamps, and zeros at the end (`tcp_addoptions`).
            list.retain(|o| !matches!(o, TcpOption::Nop | TcpOption::Eol));
            list.sort_by_key(|o| match o {
                TcpOption::Mss(_) => 0,
                TcpOption::WindowScale(_) => 1,
                TcpOption::SackPermitted => 2,
                _ => 3,
            });
            if let Some(scale) = list.iter().position(|o| matches!(o, TcpOption::WindowScale(_))) {
                list.insert(scale, TcpOption::Nop);
            }
            if let Some(at) = list.iter().position(|o| matches!(o, TcpOption::Timestamps { .. })) {
                // Their values lie at whole words.
                let before: usize = list[..at].iter().map(layout::len).sum();
                let nops = (6 - before % 4) % 4;
                list.splice(at..at, std::iter::repeat_n(TcpOption::Nop, nops));
            }
            let len: usize = list.iter().map(layout::len).sum();
            list.extend(std::iter::repeat_n(TcpOption::Eol, (4 - len % 4) % 4));
        }
        list
    }
}
