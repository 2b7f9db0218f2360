//! Random conversations: the same seed and number give the same one.

use ackclock_units::{Duration, Ecn, Rng};
use ackclock_wire::Flags;

use super::conversation::{
    Ack, Act, Block, Conversation, Offer, Op, Role, Segment, SocketOption, Stamp, Step,
};
use crate::constants as c;

pub(super) const SYN: u16 = Flags::SYN.0;
pub(super) const ACK: u16 = Flags::ACK.0;
pub(super) const FIN: u16 = Flags::FIN.0;
pub(super) const RST: u16 = Flags::RST.0;
pub(super) const PSH: u16 = Flags::PSH.0;
pub(super) const URG: u16 = Flags::URG.0;
pub(super) const ECE: u16 = Flags::ECE.0;
pub(super) const CWR: u16 = Flags::CWR.0;

/// What each conversation sets: defaults of Linux that a machine may have otherwise.
pub(super) const SETTINGS: &[(&str, &str)] = &[
    ("tcp_congestion_control", "cubic"),
    ("tcp_rmem", "4096 131072 6291456"),
    ("tcp_ecn", "2"),
    // Otherwise it limits acks of what is not acceptable to one in 500 ms, and no second one of a
    // conversation is seen.
    ("tcp_invalid_ratelimit", "0"),
    // Otherwise it delays acks from the first data on that it sends. With this it acknowledges the first 16
    // segments at once.
    ("tcp_pingpong_thresh", "255"),
];

/// Window of a peer that has room, bytes.
pub(super) const OPEN: u32 = 64_000;

/// Longer than a receiver delays an ack by itself.
const DELAYED_ACK: Duration = Duration::from_millis(60);

/// Far beyond any window, bytes.
const FAR: i64 = 50_000_000;

/// Conversation number `index` of the seed.
pub fn generate(seed: u64, index: u64) -> Conversation {
    Generator::new(Rng::stream(seed, "conversation", index), false).conversation()
}

/// What makes a conversation.
pub(super) struct Generator {
    pub(super) rng: Rng,
    /// How many of the steps are such as no sound peer takes.
    oddity: f64,
    /// Waits are long enough for a retransmission timer.
    slow: bool,
    pub(super) steps: Vec<Step>,
    /// The next step comes no earlier.
    pause: Duration,
    /// The peer's largest segment, bytes.
    pub(super) mss: u32,
    /// The peer speaks ECN.
    pub(super) ecn: bool,
    /// The peer reports what has arrived.
    sound: bool,
}

impl Generator {
    pub(super) fn new(rng: Rng, sound: bool) -> Self {
        Self {
            rng,
            oddity: 0.0,
            slow: false,
            steps: Vec::new(),
            pause: Duration::ZERO,
            mss: 1000,
            ecn: false,
            sound,
        }
    }

    pub(super) fn conversation(mut self) -> Conversation {
        self.oddity = if self.sound { 0.0 } else { self.pick(&[0.0, 0.0, 0.1, 0.3]) };
        self.slow = self.rng.chance(if self.sound { 0.3 } else { 0.15 });
        let mut settings = SETTINGS.to_vec();
        for (setting, chance) in [
            (("tcp_timestamps", "0"), 0.3),
            (("tcp_sack", "0"), 0.15),
            (("tcp_window_scaling", "0"), 0.08),
            (("tcp_ecn", "1"), 0.2),
            (("tcp_ecn", "0"), 0.1),
        ] {
            if self.rng.chance(chance) {
                settings.retain(|(name, _)| *name != setting.0);
                settings.push(setting);
            }
        }
        let role = if self.rng.chance(0.65) { Role::Server } else { Role::Client };
        let peer = Offer {
            mss: if self.rng.chance(0.05) {
                None
            } else {
                Some(self.pick(&[1000, 1000, 1000, 1460, 536, 300]))
            },
            sack: self.rng.chance(0.8),
            timestamps: self.rng.chance(0.5),
            window_scale: if self.rng.chance(0.8) { Some(self.pick(&[7, 7, 0, 10, 14])) } else { None },
            ecn: !self.sound && self.rng.chance(0.25),
        };
        self.mss = peer.mss.unwrap_or(536).into();
        self.ecn = peer.ecn;
        let mut options = Vec::new();
        for (option, chance) in [
            (SocketOption::NoDelay(true), 0.3),
            (SocketOption::MaxSegment(self.pick(&[500, 900, 1200])), 0.06),
            (SocketOption::Cork(true), 0.03),
            (SocketOption::NoLinger, 0.05),
        ] {
            let cuts = matches!(option, SocketOption::MaxSegment(_));
            if self.rng.chance(chance) && !(self.sound && cuts) {
                options.push(option);
            }
        }
        match role {
            Role::Server => self.passive_opening(),
            Role::Client => self.active_opening(),
        }
        let most = if self.sound { 24 } else { 14 };
        let wanted = self.steps.len() + 1 + self.rng.below(most) as usize;
        while self.steps.len() < wanted {
            if self.sound { self.sound_turn(wanted) } else { self.turn(wanted) }
        }
        let rest = Duration::from_millis(if self.slow { 700 } else { 60 });
        Conversation { settings, role, options, peer, steps: self.steps, sound: self.sound, rest }
    }

    pub(super) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.rng.below(all.len() as u64) as usize]
    }

    pub(super) fn odd(&mut self) -> bool {
        let p = self.oddity;
        self.rng.chance(p)
    }

    fn add(&mut self, act: Act) {
        let ms = match self.rng.below(20) {
            0 if self.slow => self.pick(&[250, 450, 900]),
            1 if self.slow => 250,
            0 => 50,
            1 | 2 => 20,
            3..=6 => 10,
            _ => 4,
        };
        // Later waits are longer: what is equal to an earlier round trip in virtual time is longer or shorter
        // by chance on a real host.
        let ms = ms + self.steps.len().min(10) as u64;
        let after = Duration::from_millis(ms).max(std::mem::take(&mut self.pause));
        // With a sound peer round trips are compared with each other (RFC 8985 §6.2): none equals another one.
        let odd = if self.sound { 150 * self.steps.len() as u64 } else { 0 };
        let after = after + Duration::from_micros(odd);
        self.steps.push(Step { after, act });
    }

    pub(super) fn call(&mut self, op: Op) {
        self.add(Act::Call(op));
    }

    pub(super) fn inject(&mut self, segment: Segment) {
        let ends = segment.flags & FIN != 0;
        self.add(Act::Inject(segment));
        if ends {
            // Linux delays the ack of a FIN: what follows at once would not show more than that.
            self.pause = DELAYED_ACK;
        }
    }

    pub(super) fn plain(&self, flags: u16) -> Segment {
        Segment {
            flags,
            offset: 0,
            len: 0,
            ack: Ack::All,
            window: OPEN,
            urgent: None,
            sack: Vec::new(),
            stamp: Stamp::Fresh,
            ecn: Ecn::NotEct,
        }
    }

    pub(super) fn len(&mut self) -> u32 {
        let mss = self.mss;
        self.pick(&[1, 100, 500, mss, mss, mss, 2 * mss - 1, 1460]).min(1460)
    }

    pub(super) fn write(&mut self) {
        let mss = self.mss;
        let len =
            self.pick(&[1, 100, mss - 1, mss, mss, mss + 1, 2 * mss, 3 * mss, 5 * mss, 10 * mss, 15 * mss]);
        let more = self.rng.chance(0.06);
        self.call(Op::Write(len, more));
    }

    /// One or more steps that belong together.
    fn turn(&mut self, wanted: usize) {
        if self.odd() {
            return self.stray();
        }
        let late = self.steps.len() + 3 >= wanted;
        match self.rng.below(100) {
            0..=17 => self.write(),
            18..=32 => self.acknowledge(),
            33..=47 => self.data(),
            48..=54 => {
                let len = self.pick(&[1, 100, 1000, 5000, 100_000]);
                self.call(Op::Read(len));
            }
            55..=69 => self.loss(),
            70..=76 => self.window(),
            77..=80 => {
                let option = self.pick(&[
                    SocketOption::NoDelay(true),
                    SocketOption::NoDelay(false),
                    SocketOption::Cork(true),
                    SocketOption::Cork(false),
                    SocketOption::QuickAck(true),
                    SocketOption::NoLinger,
                ]);
                self.call(Op::Set(option));
            }
            81..=84 => self.call(Op::Error),
            85..=88 if self.ecn => self.marks(),
            _ if late => self.ending(),
            _ => self.data(),
        }
    }

    fn acknowledge(&mut self) {
        let n = self.pick(&[1, 2, 3, 5]);
        let ack =
            self.pick(&[Ack::All, Ack::All, Ack::Segments(n), Ack::Same, Ack::Offset(1), Ack::Offset(700)]);
        self.inject(Segment { ack, ..self.plain(ACK) });
    }

    fn data(&mut self) {
        let len = self.len();
        let (n, mss) = (i64::from(len), i64::from(self.mss));
        let offset = match self.rng.below(20) {
            0..=11 => 0,
            12..=14 => self.pick(&[1, 1000, 2000, 5000]),
            15 | 16 => self.pick(&[-n, -n - 1, -mss]),
            17 | 18 => self.pick(&[-1, -n / 2, -n + 1]),
            _ => 0,
        };
        let ack = self.pick(&[Ack::All, Ack::All, Ack::All, Ack::Same, Ack::Segments(1)]);
        let flags = self.pick(&[ACK, ACK | PSH]);
        self.inject(Segment { flags, offset, len, ack, ..self.plain(ACK) });
    }

    /// Segments are lost, and what arrives behind them is reported.
    fn loss(&mut self) {
        let n = self.pick(&[2_u32, 3, 4, 5, 6, 8, 10]);
        if self.rng.chance(0.7) {
            self.call(Op::Write(n * self.mss, false));
        }
        let sacks = self.rng.chance(0.9);
        let first = self.pick(&[0, 1, 1, 1, 2, 3]);
        let ack = if self.rng.chance(0.3) { Ack::Segments(1) } else { Ack::Same };
        for last in first..first + self.pick(&[1, 2, 3, 3, 4, 5]) {
            let sack = if sacks { vec![Block::Segments(first, last)] } else { Vec::new() };
            self.inject(Segment { ack, sack, ..self.plain(ACK) });
        }
        match self.rng.below(6) {
            0 | 1 => self.inject(self.plain(ACK)),
            2 => self.inject(Segment { ack: Ack::Segments(1), ..self.plain(ACK) }),
            3 => self.inject(Segment { sack: vec![Block::Bytes(-1000, 0)], ..self.plain(ACK) }),
            4 => self.inject(Segment {
                ack: Ack::Segments(2),
                sack: vec![Block::Segments(3, 3)],
                ..self.plain(ACK)
            }),
            _ => {}
        }
    }

    fn window(&mut self) {
        let window = self.pick(&[0, 0, 1, 500, 1000, 1500, 5000, 10_000, OPEN]);
        let ack = self.pick(&[Ack::All, Ack::All, Ack::Same, Ack::Segments(1)]);
        self.inject(Segment { window, ack, ..self.plain(ACK) });
        if self.rng.chance(0.4) {
            self.inject(Segment { ack: Ack::Same, ..self.plain(ACK) });
        }
    }

    fn marks(&mut self) {
        let len = self.pick(&[0, 500, 1000]);
        let flags = self.pick(&[ACK, ACK | ECE, ACK | CWR, ACK | ECE | CWR]);
        let ecn = if len > 0 { self.pick(&[Ecn::Ect0, Ecn::Ce, Ecn::Ect1]) } else { Ecn::NotEct };
        self.inject(Segment { flags, len, ecn, ..self.plain(ACK) });
    }

    fn ending(&mut self) {
        match self.rng.below(10) {
            0..=2 => self.call(Op::Close),
            3 => self.call(Op::Shutdown(c::SHUT_WR)),
            4 => {
                let how = self.pick(&[c::SHUT_RD, c::SHUT_RDWR]);
                self.call(Op::Shutdown(how));
            }
            5 | 6 => {
                let len = self.pick(&[0, 0, 300]);
                self.inject(Segment { len, ..self.plain(FIN | ACK) });
            }
            7 => self.inject(Segment { ack: Ack::Same, ..self.plain(FIN | ACK) }),
            _ => self.inject(self.plain(RST)),
        }
    }

    /// A segment that no sound peer sends, or one that comes at an odd time.
    pub(super) fn stray(&mut self) {
        let len = self.len();
        let n = i64::from(len);
        let plain = self.plain(ACK);
        let offset = self.pick(&[-1, 1, 1000, 60_000, FAR, -FAR]);
        let segment = match self.rng.below(16) {
            0 => Segment { flags: RST, offset, ..plain },
            1 => Segment { flags: RST | ACK, offset: self.pick(&[0, 1, FAR]), ..plain },
            2 => Segment { flags: SYN, offset: self.pick(&[0, -1, 5, FAR]), ..plain },
            3 => Segment { flags: SYN | ACK, offset: self.pick(&[0, -1]), ..plain },
            4 => Segment {
                ack: Ack::Beyond(self.pick(&[1, 1000, 100_000])),
                len: self.pick(&[0, 100]),
                ..plain
            },
            5 => Segment {
                ack: Ack::Offset(self.pick(&[-1, -1000, -100_000, -5_000_000])),
                len: self.pick(&[0, 100]),
                ..plain
            },
            6 => Segment {
                flags: self.pick(&[0, PSH, FIN, URG, PSH | FIN | URG]),
                len: self.pick(&[0, 100]),
                ..plain
            },
            7 => Segment { flags: ACK | URG, urgent: Some(self.pick(&[0, 1, 50, 2000])), len: 100, ..plain },
            8 => Segment { offset, len, ..plain },
            9 => Segment { offset, len: 0, ..plain },
            10 => Segment {
                stamp: self.pick(&[Stamp::Old(5), Stamp::Old(5_000), Stamp::NoEcho, Stamp::Missing]),
                len: self.pick(&[0, 100]),
                ..plain
            },
            11 => {
                let block = self.pick(&[
                    Block::Bytes(-1000, 0),
                    Block::Bytes(0, 1000),
                    Block::Bytes(5000, 4000),
                    Block::Bytes(1, 50_000_000),
                    Block::Bytes(-100_000, 1000),
                    Block::Segments(0, 1),
                ]);
                Segment { ack: Ack::Same, sack: vec![block], ..plain }
            }
            12 => Segment { flags: FIN | ACK, offset: self.pick(&[1, 1000, -1, -n]), ..plain },
            13 => Segment { flags: FIN | ACK | self.pick(&[RST, SYN, URG]), ..plain },
            14 => {
                Segment { flags: ACK | self.pick(&[ECE, CWR, ECE | CWR]), len: self.pick(&[0, 100]), ..plain }
            }
            _ => Segment { window: 0, ack: Ack::Offset(-1), offset: self.pick(&[0, -1]), ..plain },
        };
        self.inject(segment);
    }
}
