use ackclock_engine::Transmit;
use ackclock_units::{Ecn, SeqNumber, SeqRange};
use ackclock_wire::{AccEcn, Flags, Options, Segment, Timestamps};

/// Initial sequence number of the connection under test.
pub const OURS: u32 = 1_000;
/// Initial sequence number of the scripted peer.
pub const THEIRS: u32 = 50_000;

/// A segment to inject or to expect. Sequence numbers are relative to the initial ones: 0 is the SYN, 1 the
/// first byte.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Seg {
    flags: Flags,
    seq: Option<u32>,
    ack: Option<u32>,
    len: Option<u32>,
    window: Option<u16>,
    urgent: Option<u16>,
    mss: Option<u16>,
    scale: Option<Option<u8>>,
    sack_permitted: Option<bool>,
    timestamps: Option<(Option<u32>, Option<u32>)>,
    no_timestamps: bool,
    sack: Option<[(u32, u32); 4]>,
    sack_len: usize,
    ecn: Option<Ecn>,
    accecn: Option<Option<AccEcn>>,
}

/// A segment with these flags, written as tcpdump writes them: `S` SYN, `F` FIN, `R` RST, `P` PSH, `.` ACK,
/// `U` URG, `E` ECE, `W` CWR; `A` is AE.
pub fn seg(flags: &str) -> Seg {
    let mut all = Flags::default();
    for letter in flags.chars() {
        all |= match letter {
            'S' => Flags::SYN,
            'F' => Flags::FIN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            'U' => Flags::URG,
            'E' => Flags::ECE,
            'W' => Flags::CWR,
            'A' => Flags::AE,
            other => panic!("`{other}` is not a flag: S F R P . U E W A"),
        };
    }
    Seg { flags: all, ..Seg::default() }
}

impl Seg {
    /// First sequence number.
    pub const fn seq(mut self, n: u32) -> Self {
        self.seq = Some(n);
        self
    }

    /// Acknowledgment number.
    pub const fn ack(mut self, n: u32) -> Self {
        self.ack = Some(n);
        self
    }

    /// Payload, bytes.
    pub const fn len(mut self, n: u32) -> Self {
        self.len = Some(n);
        self
    }

    /// Window field, unscaled.
    pub const fn window(mut self, n: u16) -> Self {
        self.window = Some(n);
        self
    }

    /// Maximum segment size.
    pub const fn mss(mut self, n: u16) -> Self {
        self.mss = Some(n);
        self
    }

    /// Window scale.
    pub const fn scale(mut self, shift: u8) -> Self {
        self.scale = Some(Some(shift));
        self
    }

    /// Without window scale.
    pub const fn no_scale(mut self) -> Self {
        self.scale = Some(None);
        self
    }

    /// SACK permitted.
    pub const fn sack_permitted(mut self, yes: bool) -> Self {
        self.sack_permitted = Some(yes);
        self
    }

    /// Timestamps.
    pub const fn timestamps(mut self, tsval: u32, tsecr: u32) -> Self {
        self.timestamps = Some((Some(tsval), Some(tsecr)));
        self
    }

    /// Timestamps that echo `tsecr`, with any TSval.
    pub const fn echo(mut self, tsecr: u32) -> Self {
        self.timestamps = Some((None, Some(tsecr)));
        self
    }

    /// Without timestamps.
    pub const fn no_timestamps(mut self) -> Self {
        self.no_timestamps = true;
        self
    }

    /// One more SACK block, `start` up to, not including, `end`.
    pub fn sack(mut self, start: u32, end: u32) -> Self {
        let blocks = self.sack.get_or_insert_default();
        blocks[self.sack_len] = (start, end);
        self.sack_len += 1;
        self
    }

    /// Without SACK blocks.
    pub const fn no_sack(mut self) -> Self {
        self.sack = Some([(0, 0); 4]);
        self
    }

    /// Urgent pointer.
    pub const fn urgent(mut self, n: u16) -> Self {
        self.urgent = Some(n);
        self
    }

    /// ECN field of the IP header.
    pub const fn ecn(mut self, ecn: Ecn) -> Self {
        self.ecn = Some(ecn);
        self
    }

    /// Accurate ECN feedback: bytes that arrived as ECT(0), CE and ECT(1); later ones may be left out.
    pub fn accecn(mut self, counters: &[u32]) -> Self {
        self.accecn = Some(Some(AccEcn::new(AccEcn::ORDER_0, counters)));
        self
    }

    /// Without accurate ECN feedback in the options.
    pub const fn no_accecn(mut self) -> Self {
        self.accecn = Some(None);
        self
    }

    /// As the peer sends it. Defaults: the first sequence number, an acknowledgment of our SYN, a window of
    /// 65,535.
    pub(crate) fn injected(&self) -> Segment {
        let mut options = Options {
            mss: self.mss,
            window_scale: self.scale.flatten(),
            sack_permitted: self.sack_permitted == Some(true),
            timestamps: self
                .timestamps
                .map(|(val, ecr)| Timestamps { tsval: val.unwrap_or(0), tsecr: ecr.unwrap_or(0) }),
            accecn: self.accecn.flatten(),
            ..Options::default()
        };
        for (start, end) in self.blocks() {
            options.sack.push(SeqRange::new(SeqNumber(OURS) + start, SeqNumber(OURS) + end));
        }
        let acks = self.flags.has(Flags::ACK);
        Segment {
            seq: SeqNumber(THEIRS) + self.seq.unwrap_or(u32::from(!self.flags.has(Flags::SYN))),
            ack: if acks { SeqNumber(OURS) + self.ack.unwrap_or(1) } else { SeqNumber(0) },
            len: self.len.unwrap_or(0),
            window: self.window.unwrap_or(u16::MAX),
            flags: self.flags,
            urgent: self.urgent.unwrap_or(0),
            options,
        }
    }

    pub(crate) fn ecn_field(&self) -> Ecn {
        self.ecn.unwrap_or_default()
    }

    fn blocks(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.sack.iter().flat_map(|blocks| &blocks[..self.sack_len]).copied()
    }

    /// The fields of `sent` that differ from the expected ones. PSH is compared only where it is expected.
    pub(crate) fn difference(&self, sent: &Transmit) -> Vec<String> {
        let (s, mut wrong) = (&sent.segment, Vec::new());
        let mut compare = |what: &str, expected: Option<String>, got: String| {
            if let Some(expected) = expected.filter(|e| *e != got) {
                wrong.push(format!("{what} {got} instead of {expected}"));
            }
        };
        let flags = if self.flags.has(Flags::PSH) { s.flags } else { Flags(s.flags.0 & !Flags::PSH.0) };
        compare("flags", Some(format!("{:?}", self.flags)), format!("{flags:?}"));
        compare("seq", self.seq.map(|n| n.to_string()), s.seq.0.wrapping_sub(OURS).to_string());
        compare("ack", self.ack.map(|n| n.to_string()), s.ack.0.wrapping_sub(THEIRS).to_string());
        compare("len", self.len.map(|n| n.to_string()), s.len.to_string());
        compare("window", self.window.map(|n| n.to_string()), s.window.to_string());
        compare("mss", self.mss.map(|n| format!("{:?}", Some(n))), format!("{:?}", s.options.mss));
        compare("scale", self.scale.map(|n| format!("{n:?}")), format!("{:?}", s.options.window_scale));
        compare(
            "sack permitted",
            self.sack_permitted.map(|n| n.to_string()),
            s.options.sack_permitted.to_string(),
        );
        if let Some((val, ecr)) = self.timestamps {
            compare(
                "tsval",
                val.map(|n| format!("{:?}", Some(n))),
                format!("{:?}", s.options.timestamps.map(|t| t.tsval)),
            );
            compare(
                "tsecr",
                ecr.map(|n| format!("{:?}", Some(n))),
                format!("{:?}", s.options.timestamps.map(|t| t.tsecr)),
            );
        }
        compare(
            "timestamps",
            self.no_timestamps.then(|| "None".to_owned()),
            format!("{:?}", s.options.timestamps),
        );
        if self.sack.is_some() {
            let expected: Vec<_> = self.blocks().collect();
            let got = s
                .options
                .sack
                .as_slice()
                .iter()
                .map(|b| (b.start.0.wrapping_sub(THEIRS), b.end.0.wrapping_sub(THEIRS)))
                .collect::<Vec<_>>();
            compare("sack", Some(format!("{expected:?}")), format!("{got:?}"));
        }
        compare("accecn", self.accecn.map(|o| format!("{o:?}")), format!("{:?}", s.options.accecn));
        compare("ecn", self.ecn.map(|e| format!("{e:?}")), format!("{:?}", sent.ecn));
        wrong
    }
}
