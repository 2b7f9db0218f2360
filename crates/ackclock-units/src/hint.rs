//! Branch hints for code that every packet runs: the compiler places the likely branch in line. They change
//! no result. Without them the simulator's dumbbell takes 1.7 % more instructions with one flow, and with ten
//! 1.1 % more and nearly twice the misses of the instruction cache (cachegrind, `bench_dumbbell`).

/// Returns `condition`, which is seldom true.
#[inline(always)]
pub fn seldom(condition: bool) -> bool {
    if condition {
        aside();
    }
    condition
}

/// Returns `condition`, which is mostly true.
#[inline(always)]
pub fn mostly(condition: bool) -> bool {
    if !condition {
        aside();
    }
    condition
}

/// The compiler treats a branch with a call of a cold function as unlikely.
#[cold]
fn aside() {}
