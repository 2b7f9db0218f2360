//! What the tests in namespaces share.

use ackclock_drive::{Means, check};

/// True when the tests can run here; otherwise prints why not.
pub fn allowed() -> bool {
    match check() {
        Ok(Means::Direct) => return true,
        Ok(Means::UserNamespace) => eprintln!("skipped: needs root (a program with several threads cannot enter a user namespace)"),
        Err(e) => eprintln!("skipped: {e}"),
    }
    false
}
