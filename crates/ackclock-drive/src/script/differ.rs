//! Conversations that run on a host in virtual time and on the kernel.

use std::ops::ControlFlow;

use ackclock_script::differ::{Campaign, Hosts, Progress, run};
use ackclock_script::{Host, Link};

use super::KernelHost;
use crate::DriveError;
use crate::linux::wait;

/// Runs a campaign of conversations on hosts that `first` makes and on the kernel, each in a namespace of its
/// own.
///
/// # Errors
///
/// A right that is missing, or a system call that failed.
pub fn against_kernel(
    campaign: &Campaign,
    first: &(dyn Fn() -> Result<Box<dyn Host>, DriveError> + Sync),
    look: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Progress, DriveError> {
    let second = || -> Result<Box<dyn Host>, DriveError> {
        wait::be_punctual();
        Ok(Box::new(KernelHost::start(Link::default())?))
    };
    run(campaign, &Hosts { first, second: &second }, look)
}
