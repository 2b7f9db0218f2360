//! Faults of the path, and the patterns of faults to search.

use std::fmt;

/// One fault of the path. Packets are counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// The k-th transmission of data is lost.
    Lose(u8),
    /// Transmissions of data `.0` and the `.1 - 1` after it are lost.
    LoseRun(u8, u8),
    /// Copy `.1` of segment `.0` is lost.
    LoseCopy(u8, u8),
    /// The k-th pure ack of the receiver is lost.
    LoseAck(u8),
    /// The k-th pure ack of the sender is lost: the first ends the handshake.
    LoseOwnAck(u8),
    /// The k-th SYN is lost.
    LoseSyn(u8),
    /// The k-th SYN-ACK is lost.
    LoseSynAck(u8),
    /// The k-th segment with the sender's FIN is lost.
    LoseFin(u8),
    /// The k-th segment with the receiver's FIN is lost.
    LosePeerFin(u8),
    /// Transmissions of data `.0` and the `.1 - 1` after it arrive `.2` ms late each; others overtake them.
    Hold(u8, u8, u16),
    /// The same of the receiver's acks.
    HoldAck(u8, u8, u16),
    /// Everything that the sender sends from the k-th transmission of data on is held for `.1` ms and arrives
    /// in order: a delay spike.
    Spike(u8, u16),
    /// The same of what the receiver sends from its k-th ack on.
    SpikeAck(u8, u16),
    /// The k-th transmission of data is duplicated.
    Double(u8),
    /// The k-th ack is duplicated.
    DoubleAck(u8),
}

/// Up to four faults.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Pattern {
    len: u8,
    faults: [Option<Fault>; 4],
}

/// Classes of patterns, in the order in which they are listed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Lost data alone.
    Losses,
    /// Lost acks, SYNs and FINs, with or without lost data.
    LostAcks,
    /// Everything arrives in order, some of it late.
    Spikes,
    /// Some packets overtake others; nothing is lost.
    Reordering,
    /// Some packets are duplicated; nothing is lost or late.
    Duplicates,
    /// Some of these together.
    Mixed,
}

/// All classes.
pub const CLASSES: [Class; 6] =
    [Class::Losses, Class::LostAcks, Class::Spikes, Class::Reordering, Class::Duplicates, Class::Mixed];

impl Class {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Losses => "losses",
            Self::LostAcks => "lost acks, SYNs, FINs",
            Self::Spikes => "delay spikes",
            Self::Reordering => "reordering",
            Self::Duplicates => "duplicates",
            Self::Mixed => "mixed",
        }
    }
}

impl Fault {
    fn class(self) -> Class {
        match self {
            Self::Lose(_) | Self::LoseRun(..) | Self::LoseCopy(..) => Class::Losses,
            Self::LoseAck(_)
            | Self::LoseOwnAck(_)
            | Self::LoseSyn(_)
            | Self::LoseSynAck(_)
            | Self::LoseFin(_)
            | Self::LosePeerFin(_) => Class::LostAcks,
            Self::Hold(..) | Self::HoldAck(..) => Class::Reordering,
            Self::Spike(..) | Self::SpikeAck(..) => Class::Spikes,
            Self::Double(_) | Self::DoubleAck(_) => Class::Duplicates,
        }
    }

    fn read(word: &str) -> Option<Self> {
        let (kind, rest) = word.split_once(':')?;
        let n = |text: &str| text.parse().ok();
        let held = |text: &str| -> Option<(u8, u8, u16)> {
            let (first, rest) = text.split_once('+')?;
            let (count, ms) = rest.split_once('@')?;
            Some((n(first)?, n(count)?, ms.parse().ok()?))
        };
        let spike = |text: &str| -> Option<(u8, u16)> {
            text.split_once('@').and_then(|(first, ms)| Some((n(first)?, ms.parse().ok()?)))
        };
        Some(match kind {
            "lose" => match rest.split_once('+') {
                Some((first, count)) => Self::LoseRun(n(first)?, n(count)?),
                None => Self::Lose(n(rest)?),
            },
            "copy" => rest
                .split_once('.')
                .and_then(|(segment, copy)| Some(Self::LoseCopy(n(segment)?, n(copy)?)))?,
            "ack" => Self::LoseAck(n(rest)?),
            "own-ack" => Self::LoseOwnAck(n(rest)?),
            "syn" => Self::LoseSyn(n(rest)?),
            "syn-ack" => Self::LoseSynAck(n(rest)?),
            "fin" => Self::LoseFin(n(rest)?),
            "peer-fin" => Self::LosePeerFin(n(rest)?),
            "hold" => held(rest).map(|(first, count, ms)| Self::Hold(first, count, ms))?,
            "hold-ack" => held(rest).map(|(first, count, ms)| Self::HoldAck(first, count, ms))?,
            "spike" => spike(rest).map(|(first, ms)| Self::Spike(first, ms))?,
            "spike-ack" => spike(rest).map(|(first, ms)| Self::SpikeAck(first, ms))?,
            "double" => Self::Double(n(rest)?),
            "double-ack" => Self::DoubleAck(n(rest)?),
            _ => return None,
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Lose(k) => write!(f, "lose:{k}"),
            Self::LoseRun(k, count) => write!(f, "lose:{k}+{count}"),
            Self::LoseCopy(segment, copy) => write!(f, "copy:{segment}.{copy}"),
            Self::LoseAck(k) => write!(f, "ack:{k}"),
            Self::LoseOwnAck(k) => write!(f, "own-ack:{k}"),
            Self::LoseSyn(k) => write!(f, "syn:{k}"),
            Self::LoseSynAck(k) => write!(f, "syn-ack:{k}"),
            Self::LoseFin(k) => write!(f, "fin:{k}"),
            Self::LosePeerFin(k) => write!(f, "peer-fin:{k}"),
            Self::Hold(k, count, ms) => write!(f, "hold:{k}+{count}@{ms}"),
            Self::HoldAck(k, count, ms) => write!(f, "hold-ack:{k}+{count}@{ms}"),
            Self::Spike(k, ms) => write!(f, "spike:{k}@{ms}"),
            Self::SpikeAck(k, ms) => write!(f, "spike-ack:{k}@{ms}"),
            Self::Double(k) => write!(f, "double:{k}"),
            Self::DoubleAck(k) => write!(f, "double-ack:{k}"),
        }
    }
}

impl Pattern {
    /// These faults, four at most.
    pub fn of(faults: &[Fault]) -> Self {
        let mut all = [None; 4];
        faults.iter().zip(&mut all).for_each(|(fault, place)| *place = Some(*fault));
        Self { len: faults.len() as u8, faults: all }
    }

    /// Its faults.
    pub fn faults(&self) -> impl Iterator<Item = Fault> + '_ {
        self.faults[..usize::from(self.len)].iter().flatten().copied()
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// This one and `other` together.
    pub fn and(&self, other: &Self) -> Self {
        Self::of(&self.faults().chain(other.faults()).collect::<Vec<_>>())
    }

    /// Its class.
    pub fn class(&self) -> Class {
        let mut classes = self.faults().map(Fault::class);
        let first = classes.next().unwrap_or(Class::Losses);
        let among =
            |a, b| matches!((a, b), (Class::Losses, Class::LostAcks) | (Class::LostAcks, Class::Losses));
        classes.fold(first, |all, next| match (all, next) {
            (a, b) if a == b => a,
            (a, b) if among(a, b) => Class::LostAcks,
            _ => Class::Mixed,
        })
    }

    /// What [`Pattern`]'s `Display` wrote.
    pub fn read(words: &str) -> Option<Self> {
        let faults: Option<Vec<_>> = words.split_whitespace().map(Fault::read).collect();
        faults.filter(|faults| faults.len() <= 4).map(|faults| Self::of(&faults))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.faults().map(|fault| fault.to_string()).collect();
        f.write_str(&words.join(" "))
    }
}

/// All patterns of `least` up to `most` of these faults.
pub fn subsets(of: &[Fault], least: usize, most: usize) -> Vec<Pattern> {
    fn go(of: &[Fault], chosen: &mut Vec<Fault>, least: usize, most: usize, all: &mut Vec<Pattern>) {
        if chosen.len() >= least {
            all.push(Pattern::of(chosen));
        }
        if chosen.len() == most {
            return;
        }
        for (i, fault) in of.iter().enumerate() {
            chosen.push(*fault);
            go(&of[i + 1..], chosen, least, most, all);
            chosen.pop();
        }
    }
    let mut all = Vec::new();
    go(of, &mut Vec::new(), least, most, &mut all);
    all
}

/// Lost transmissions by number.
pub fn by_number(up_to: u8) -> Vec<Fault> {
    (1..=up_to).map(Fault::Lose).collect()
}

/// Lost transmissions in a row, more than three.
pub fn in_a_row(up_to: u8) -> Vec<Fault> {
    (1..=up_to).flat_map(|k| (4..=up_to + 1 - k).map(move |count| Fault::LoseRun(k, count))).collect()
}

/// Lost transmissions by segment and copy.
pub fn by_copy(segments: u8, copies: u8) -> Vec<Fault> {
    (1..=segments).flat_map(|s| (1..=copies).map(move |c| Fault::LoseCopy(s, c))).collect()
}

/// Lost acks.
pub fn acks(up_to: u8) -> Vec<Fault> {
    (1..=up_to).map(Fault::LoseAck).collect()
}

/// Delay spikes of data.
pub fn spikes(up_to: u8, ms: &[u16]) -> Vec<Fault> {
    (1..=up_to).flat_map(|k| ms.iter().map(move |ms| Fault::Spike(k, *ms))).collect()
}

/// Delay spikes of acks.
pub fn ack_spikes(up_to: u8, ms: &[u16]) -> Vec<Fault> {
    (1..=up_to).flat_map(|k| ms.iter().map(move |ms| Fault::SpikeAck(k, *ms))).collect()
}

/// One late packet or several, in both directions.
pub fn held(up_to: u8, counts: &[u8], ms: &[u16]) -> Vec<Fault> {
    let one = |k, n, t| [Fault::Hold(k, n, t), Fault::HoldAck(k, n, t)];
    (1..=up_to)
        .flat_map(|k| counts.iter().flat_map(move |n| ms.iter().flat_map(move |t| one(k, *n, *t))))
        .collect()
}

/// Duplicated packets, in both directions.
pub fn doubled(up_to: u8) -> Vec<Fault> {
    (1..=up_to).flat_map(|k| [Fault::Double(k), Fault::DoubleAck(k)]).collect()
}

/// Lost SYNs, SYN-ACKs, FINs and acks of the sender.
pub fn opening_and_closing() -> Vec<Fault> {
    let kinds = [Fault::LoseSyn, Fault::LoseSynAck, Fault::LoseFin, Fault::LosePeerFin, Fault::LoseOwnAck];
    kinds.into_iter().flat_map(|kind| (1..=2).map(kind)).collect()
}

/// Each of `some` with each of `others`.
pub fn pairs(some: &[Pattern], others: &[Pattern]) -> Vec<Pattern> {
    some.iter().flat_map(|a| others.iter().map(move |b| a.and(b))).collect()
}
