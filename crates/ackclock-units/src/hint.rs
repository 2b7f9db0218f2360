//! What is usual, said where every packet passes: the compiler lays code out so that the usual course runs
//! straight through. It changes no result.

/// `condition`, which seldom holds.
#[inline(always)]
pub fn seldom(condition: bool) -> bool {
    if condition {
        aside();
    }
    condition
}

/// `condition`, which mostly holds.
#[inline(always)]
pub fn mostly(condition: bool) -> bool {
    if !condition {
        aside();
    }
    condition
}

/// The way to a call of a cold function counts as seldom taken.
#[cold]
fn aside() {}
