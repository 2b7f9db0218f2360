//! Passive open without state: a world sends the SYN-ACK by itself, and creates the connection once that is
//! acknowledged (SYN cookies, RFC 4987 §3.6).

use ackclock_units::{Ecn, Instant, SeqNumber};
use ackclock_wire::{Flags, Options, Segment, Timestamps};

use super::{Connection, State};
use crate::Config;

impl Connection {
    /// The SYN-ACK that a passive open would send for `syn`, with initial sequence number `iss` and timestamp
    /// `clock`.
    pub fn syn_ack_for(config: &Config, syn: &Segment, iss: SeqNumber, clock: u32) -> Segment {
        let o = &syn.options;
        let options = Options {
            mss: Some(config.mss.min(65_535) as u16),
            window_scale: (config.window_scaling && o.window_scale.is_some()).then(|| window_shift(config)),
            sack_permitted: config.sack && o.sack_permitted,
            timestamps: o
                .timestamps
                .filter(|_| config.timestamps)
                .map(|ts| Timestamps { tsval: clock, tsecr: ts.tsval }),
            ..Options::default()
        };
        let window = config.first_rcv_buf().min(65_535) as u16;
        Segment {
            seq: iss,
            ack: syn.seq + 1,
            window,
            flags: Flags::SYN | Flags::ACK,
            options,
            ..Segment::default()
        }
    }

    /// Passive open of a connection whose SYN-ACK was sent already: from Closed to SynReceived, with what
    /// `syn` announces. Pass the acknowledgment to [`Connection::handle_segment`]. `clock` is the present
    /// value of its timestamp clock.
    pub fn listen_after_syn_ack(&mut self, now: Instant, syn: &Segment, clock: u32) {
        self.listen();
        if self.state != State::Listen {
            return;
        }
        // If the next segment does not acknowledge the SYN-ACK, that is sent again.
        self.segment_in_listen(now, syn, Ecn::NotEct);
        // The time at which the SYN-ACK was sent is not known, so it gives no round-trip sample.
        self.rare.make_mut().syn_repeated = true;
        if self.config.timestamps {
            self.rare.make_mut().timestamps.offset = 0;
            self.rare.make_mut().timestamps.offset = clock.wrapping_sub(self.timestamp_clock(now));
            self.rare.make_mut().timestamps.last_ack_sent = self.rcv_nxt;
        }
        self.last_sent_at = now;
    }
}

/// The window shift that we announce (RFC 7323 §2.2): the smallest with which the receive buffer fits into
/// the field.
pub(super) fn window_shift(config: &Config) -> u8 {
    (config.window_shift..14).find(|s| config.rcv_buf >> s <= 65_535).unwrap_or(14)
}
