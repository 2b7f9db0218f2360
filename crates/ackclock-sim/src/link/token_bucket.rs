//! Token buckets: a shaper, which delays what exceeds its rate, and a policer, which drops or marks it.

use ackclock_policy::{Declaration, Param, Params, Queued};
use ackclock_units::{Bytes, Ecn, Instant, Rate};

use super::transmitter::{NEVER, Transmitter};

/// Tokens for one byte: a token is what a rate of 1 bit/s yields in a nanosecond.
const PER_BYTE: u128 = 8_000_000_000;

/// A bucket that fills at a rate, up to a burst. It is full at the beginning.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate: Rate,
    burst: Bytes,
    overhead: u32,
    tokens: u128,
    /// When `tokens` was computed.
    at: Instant,
}

impl TokenBucket {
    /// A bucket with tokens for up to `burst` bytes. Each packet takes tokens for `overhead` more bytes than
    /// its own.
    pub fn new(rate: Rate, burst: Bytes, overhead: u32) -> Self {
        Self { rate, burst, overhead, tokens: u128::from(burst) * PER_BYTE, at: Instant::ZERO }
    }

    /// A bucket with the declared keys of a shaper or a policer.
    pub fn from_params(p: &Params) -> Self {
        Self::new(p.rate("rate"), p.bytes("burst"), p.bytes("overhead") as u32)
    }

    fn fill(&mut self, now: Instant) {
        let new = u128::from(self.rate.bits_per_sec()) * u128::from(now.since(self.at).as_nanos());
        self.tokens = (self.tokens + new).min(u128::from(self.burst) * PER_BYTE);
        self.at = self.at.max(now);
    }

    fn price(&self, bytes: u32) -> u128 {
        (u128::from(bytes) + u128::from(self.overhead)) * PER_BYTE
    }

    /// Takes the tokens for a packet if there are enough at `now`.
    fn conforms(&mut self, bytes: u32, now: Instant) -> bool {
        self.fill(now);
        let price = self.price(bytes);
        let conforms = price <= self.tokens;
        if conforms {
            self.tokens -= price;
        }
        conforms
    }

    /// Takes the tokens for a packet as soon as there are enough, from `start` on. Returns that time.
    fn take(&mut self, bytes: u32, start: Instant) -> Instant {
        self.fill(start);
        let (price, rate) = (self.price(bytes), u128::from(self.rate.bits_per_sec()));
        if price > u128::from(self.burst) * PER_BYTE || rate == 0 {
            return NEVER;
        }
        let wait = price.saturating_sub(self.tokens).div_ceil(rate);
        self.tokens = self.tokens + wait * rate - price;
        self.at = Instant::from_nanos(u64::try_from(u128::from(start.as_nanos()) + wait).unwrap_or(u64::MAX));
        self.at = self.at.min(NEVER);
        self.at
    }

    fn largest(&self) -> u32 {
        u32::try_from(self.burst.saturating_sub(self.overhead.into())).unwrap_or(u32::MAX)
    }
}

/// Packets wait until the bucket has tokens for them, and are then transmitted.
pub struct Shaper {
    bucket: TokenBucket,
    link: Box<dyn Transmitter>,
}

impl Shaper {
    /// A shaper in front of `link`.
    pub fn new(bucket: TokenBucket, link: Box<dyn Transmitter>) -> Self {
        Self { bucket, link }
    }
}

impl Transmitter for Shaper {
    fn finish(&mut self, bytes: u32, start: Instant, idle: bool) -> Instant {
        let passes = self.bucket.take(bytes, start);
        self.link.finish(bytes, passes, idle || passes > start)
    }

    fn largest(&self) -> u32 {
        self.bucket.largest().min(self.link.largest())
    }
}

/// Drops or marks packets for which the bucket has no tokens as they arrive at a link.
#[derive(Clone, Debug)]
pub struct Policer {
    bucket: TokenBucket,
    marks: bool,
}

/// What a policer does with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Policed {
    Pass,
    Mark,
    Drop,
}

impl Policer {
    /// With `marks`, it sets Congestion Experienced on excess packets that are ECN-capable, and drops the
    /// others.
    pub fn new(bucket: TokenBucket, marks: bool) -> Self {
        Self { bucket, marks }
    }

    pub(super) fn police(&mut self, p: &Queued) -> Policed {
        match p.ecn {
            _ if self.bucket.conforms(p.bytes, p.at) => Policed::Pass,
            Ecn::Ce if self.marks => Policed::Pass,
            Ecn::Ect0 | Ecn::Ect1 if self.marks => Policed::Mark,
            _ => Policed::Drop,
        }
    }
}

const RATE: Param = Param::rate(
    "rate",
    Rate::from_bits_per_sec(10_000_000),
    Rate::from_bits_per_sec(1)..=Rate::from_bits_per_sec(1_000_000_000_000_000),
    "rate at which tokens come",
);
const OVERHEAD: Param = Param::bytes(
    "overhead",
    0,
    0..=1_000,
    "bytes counted for each packet besides its own; Linux counts the 14 of an Ethernet header",
);
const BURST: Param = Param::bytes(
    "burst",
    15_000,
    40..=1 << 40,
    "most tokens at a time, in bytes; a bucket is full at the beginning",
);

/// Keys of a shaper.
pub(crate) const SHAPER: Declaration = Declaration {
    kind: "element",
    name: "shaper",
    about: "A token bucket between the queue and the link: packets that exceed its rate wait in the link's \
            queue, whose limit is that of the shaper. A packet larger than the burst is dropped.",
    source: "Linux tc-tbf(8)",
    params: &[RATE, BURST, OVERHEAD],
};

/// Keys of a policer.
pub(crate) const POLICER: Declaration = Declaration {
    kind: "element",
    name: "policer",
    about: "A token bucket before the queue: packets that exceed its rate are dropped, or marked.",
    source: "Linux tc-police(8); Flach et al. 2016, An Internet-Wide Analysis of Traffic Policing",
    params: &[
        RATE,
        BURST,
        OVERHEAD,
        Param::choice(
            "action",
            "drop",
            &["drop", "mark"],
            "what happens to packets in excess; `mark` sets Congestion Experienced on those that are \
             ECN-capable, and drops the others",
        ),
    ],
};
