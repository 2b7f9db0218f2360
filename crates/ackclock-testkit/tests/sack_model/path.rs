//! A receiver that follows the standards, and a path that loses, reorders and duplicates.

use ackclock_units::Rng;

/// SACK blocks: first segment, and one past the last.
pub type Blocks = Vec<(usize, usize)>;

/// The receiver, and the packets in flight in both directions.
pub struct Path {
    rng: Rng,
    got: Vec<bool>,
    /// Segments as they arrived, the last one last.
    recent: Vec<usize>,
    /// Data by time of arrival, then by order of sending.
    data: Vec<(u64, u64, usize)>,
    acks: Vec<(u64, u64, usize, Blocks)>,
    count: u64,
    loss: f64,
    reorder: f64,
    duplicate: f64,
    ack_loss: f64,
    dsack: bool,
}

impl Path {
    pub fn new(mut rng: Rng, total: usize) -> Self {
        let loss = [0.0, 0.01, 0.03, 0.1, 0.2][rng.below(5) as usize];
        let reorder = [0.0, 0.0, 0.02, 0.2][rng.below(4) as usize];
        let duplicate = [0.0, 0.0, 0.05][rng.below(3) as usize];
        let ack_loss = [0.0, 0.0, 0.1, 0.3][rng.below(4) as usize];
        let dsack = rng.chance(0.5);
        let (got, recent, data, acks) = (vec![false; total], Vec::new(), Vec::new(), Vec::new());
        Self { rng, got, recent, data, acks, count: 0, loss, reorder, duplicate, ack_loss, dsack }
    }

    fn delay(&mut self) -> u64 {
        20 + if self.rng.chance(self.reorder) { self.rng.below(15) } else { 0 }
    }

    pub fn send(&mut self, now: u64, i: usize) {
        for _ in 0..1 + u64::from(self.rng.chance(self.duplicate)) {
            self.count += 1;
            if !self.rng.chance(self.loss) {
                // The sender's own link spaces segments.
                let at = now + self.delay() + self.count % 3;
                self.data.push((at, self.count, i));
            }
        }
    }

    /// A segment arrives and elicits an ack at once, with up to four blocks, the newest first (RFC 2018 §4).
    fn arrive(&mut self, at: u64, i: usize) {
        let again = std::mem::replace(&mut self.got[i], true);
        let ack = self.got.iter().position(|got| !got).unwrap_or(self.got.len());
        if !again {
            self.recent.push(i);
        }
        let mut blocks: Blocks = Vec::new();
        if again && self.dsack {
            blocks.push((i, i + 1));
        }
        self.recent.retain(|i| *i >= ack);
        for i in self.recent.iter().rev().copied() {
            let start = (ack..=i).rev().take_while(|j| self.got[*j]).last().unwrap_or(i);
            let end = (i..self.got.len()).find(|j| !self.got[*j]).unwrap_or(self.got.len());
            let known = blocks.iter().skip(usize::from(again && self.dsack)).any(|b| *b == (start, end));
            if !known && blocks.len() < 4 {
                blocks.push((start, end));
            }
        }
        if !self.rng.chance(self.ack_loss) {
            self.count += 1;
            let at = at + self.delay();
            self.acks.push((at, self.count, ack, blocks));
        }
    }

    /// The next ack to arrive, after all events before it.
    pub fn next_ack(&mut self, until: u64) -> Option<(u64, usize, Blocks)> {
        loop {
            let data = self.data.iter().min().copied();
            let ack = self.acks.iter().min().map(|a| a.0);
            match (data, ack) {
                (Some((at, count, i)), ack) if ack.is_none_or(|ack| at <= ack) && at <= until => {
                    self.data.retain(|d| d.1 != count);
                    self.arrive(at, i);
                }
                (_, Some(at)) if at <= until => {
                    let next = (0..self.acks.len()).min_by_key(|k| (self.acks[*k].0, self.acks[*k].1))?;
                    let (at, _, ack, blocks) = self.acks.swap_remove(next);
                    return Some((at, ack, blocks));
                }
                _ => return None,
            }
        }
    }
}
