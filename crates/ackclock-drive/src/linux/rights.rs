//! Rights of this process.

use std::fs;

use rustix::thread::UnshareFlags;

use super::sys::{self, TunStep};
use crate::{DriveError, Means};

const NO_DEVICE: &str = "/dev/net/tun cannot be opened, so no TUN device can be created: load the `tun` \
                         module or pass the device into the container, and allow reading and writing it";
const NO_ADMIN: &str = "network namespaces cannot be created: CAP_SYS_ADMIN and CAP_NET_ADMIN are missing \
                        and user namespaces are refused; run as root, or allow user namespaces (sysctl \
                        user.max_user_namespaces, kernel.unprivileged_userns_clone, \
                        kernel.apparmor_restrict_unprivileged_userns)";
const NO_TUN_HERE: &str =
    "a TUN device cannot be created: CAP_NET_ADMIN is missing for the new network namespace";

/// Checks whether [`crate::Namespace`] and [`crate::Tun`] will work, by trying in a temporary namespace.
///
/// # Errors
/// A message that names the missing right.
pub fn check() -> Result<Means, DriveError> {
    let direct = std::thread::spawn(|| {
        // SAFETY: this thread was made for this call and ends after it; NEWNET changes nothing that other
        // threads share.
        #[allow(unsafe_code)]
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.map_err(|_| None)?;
        sys::try_tun().map_err(Some)
    });
    match direct.join().unwrap_or(Err(None)) {
        Ok(()) => return Ok(Means::Direct),
        Err(Some(TunStep::Open)) => return Err(DriveError::Missing(NO_DEVICE.into())),
        Err(Some(TunStep::Create)) => return Err(DriveError::Missing(NO_TUN_HERE.into())),
        Err(None) => {}
    }
    // SAFETY: the child makes system calls only.
    #[allow(unsafe_code)]
    let status = unsafe {
        sys::in_a_fork(|| {
            if rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET).is_err() {
                return 1;
            }
            match sys::try_tun() {
                Ok(()) => 0,
                Err(TunStep::Open) => 2,
                Err(TunStep::Create) => 3,
            }
        })
    };
    match status.map_err(DriveError::system("start a process"))? {
        0 => Ok(Means::UserNamespace),
        2 => Err(DriveError::Missing(NO_DEVICE.into())),
        3 => Err(DriveError::Missing(NO_TUN_HERE.into())),
        _ => Err(DriveError::Missing(NO_ADMIN.into())),
    }
}

/// Makes the kernel kill this process when the thread that started it ends in any way, so that it is not left
/// running.
pub fn end_with_parent() {
    // The call cannot fail with a valid signal.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

/// Moves this process into its own user namespace, in which it has all rights over networks that it creates
/// and none over the machine's.
///
/// Call it when [`check`] has returned [`Means::UserNamespace`], and before any other thread exists, since
/// the kernel refuses it to a process with several threads. The process keeps its user's rights over files.
pub fn enter_user_namespace() -> Result<(), DriveError> {
    enter(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)
}

/// As [`enter_user_namespace`]; the process keeps the machine's network, over which it has no rights there, so
/// that it can open connections.
///
/// # Errors
/// As [`enter_user_namespace`].
pub fn enter_user_namespace_only() -> Result<(), DriveError> {
    enter(UnshareFlags::NEWUSER)
}

fn enter(flags: UnshareFlags) -> Result<(), DriveError> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    // SAFETY: the kernel refuses the call to a process with several threads, so none can be surprised by it.
    #[allow(unsafe_code)]
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(|e| {
        DriveError::Missing(format!(
            "cannot enter a user namespace: {e} (the process must have a single thread, and user namespaces \
             must be allowed)"
        ))
    })?;
    let map = |path: &str, text: String| {
        fs::write(path, text).map_err(|e| {
            DriveError::Missing(format!(
                "cannot map the user into a user namespace: {e} (see user_namespaces(7))"
            ))
        })
    };
    // An unprivileged process may map the group only after this (user_namespaces(7)).
    map("/proc/self/setgroups", "deny".into())?;
    map("/proc/self/uid_map", format!("0 {} 1", uid.as_raw()))?;
    map("/proc/self/gid_map", format!("0 {} 1", gid.as_raw()))
}
