//! Mutation of inputs that are records of one size after a header: whole records are added, removed, repeated,
//! moved and changed, so that a step of a conversation stays a step.

use ackclock_units::Rng;

/// Changes `data[..size]`, a header of `header` bytes and then records of `record` bytes, in one place or
/// several. Returns the new size, at most `most` and the length of `data`.
pub fn mutate(data: &mut [u8], size: usize, most: usize, seed: u32, header: usize, record: usize) -> usize {
    let mut rng = Rng::stream(seed.into(), "records", 0);
    let most = most.min(data.len());
    let mut input = data[..size.min(most)].to_vec();
    let step = record.max(1);
    for _ in 0..=rng.below(4) {
        if input.len() < header {
            input.resize_with(header.min(most), || rng.next_u64() as u8);
        }
        let records = input.len().saturating_sub(header) / step;
        // Where a record begins; the end counts.
        let at = header + step * rng.below(records as u64 + 1) as usize;
        let last = header + step * records;
        match rng.below(8) {
            // A new record.
            0 | 1 => {
                let new: Vec<u8> = (0..step).map(|_| small(&mut rng)).collect();
                input.splice(at..at, new);
            }
            // Some are removed.
            2 if at < last => {
                let end = (at + step * (1 + rng.below(4) as usize)).min(last);
                input.drain(at..end);
            }
            // Some are repeated elsewhere.
            3 if at < last => {
                let end = (at + step * (1 + rng.below(8) as usize)).min(last);
                let copy = input[at..end].to_vec();
                let to = header + step * rng.below(records as u64 + 1) as usize;
                input.splice(to..to, copy);
            }
            // Two change places.
            4 if at < last => {
                let other = header + step * rng.below(records as u64) as usize;
                for i in 0..step {
                    input.swap(at + i, other + i);
                }
            }
            // A byte of the header.
            5 if header > 0 && input.len() >= header => {
                let i = rng.below(header as u64) as usize;
                input[i] = rng.next_u64() as u8;
            }
            // A field of a record: another value, or one close to it.
            _ if at < last => {
                let i = at + rng.below(step as u64) as usize;
                input[i] = if rng.chance(0.5) {
                    small(&mut rng)
                } else {
                    input[i].wrapping_add_signed(near(&mut rng))
                };
            }
            _ => {}
        }
        input.truncate(most);
    }
    data[..input.len()].copy_from_slice(&input);
    input.len()
}

/// Small numbers more often than large ones.
fn small(rng: &mut Rng) -> u8 {
    let bits = rng.below(9);
    (rng.next_u64() as u8).checked_shr(8 - bits as u32).unwrap_or(0)
}

fn near(rng: &mut Rng) -> i8 {
    1 - 2 * rng.below(2) as i8
}
