//! What this process may do, and how.

use std::fs;

use rustix::thread::UnshareFlags;

use super::sys::{self, TunStep};
use crate::{DriveError, Means};

const NO_DEVICE: &str = "/dev/net/tun cannot be opened, so no TUN device can be made: load the `tun` module \
                         or pass the device into the container, and allow reading and writing it";
const NO_ADMIN: &str = "network namespaces cannot be made: CAP_SYS_ADMIN and CAP_NET_ADMIN are missing and \
                        user namespaces are refused; run as root, or allow user namespaces (sysctl \
                        user.max_user_namespaces, kernel.unprivileged_userns_clone, \
                        kernel.apparmor_restrict_unprivileged_userns)";
const NO_TUN_HERE: &str =
    "a TUN device may not be made: CAP_NET_ADMIN is missing for the new network namespace";

/// Finds out by trying, in a namespace that vanishes at once, what [`crate::Namespace`] and [`crate::Tun`]
/// will be able to do.
///
/// # Errors
/// One sentence that names the right that is missing.
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
        Err(Some(TunStep::Make)) => return Err(DriveError::Missing(NO_TUN_HERE.into())),
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
                Err(TunStep::Make) => 3,
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

/// Has the kernel end this process when the thread that started it ends, in whatever way, so that it is not
/// left running for nobody.
pub fn end_with_parent() {
    // The call cannot fail with a signal that exists.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

/// Moves this process into a user namespace of its own, in which it has every right over networks that it
/// makes and none over the machine's.
///
/// To be called where [`check`] answered [`Means::UserNamespace`], and before any other thread exists: the
/// kernel refuses it to a process with several. The process keeps its user's rights over files.
pub fn enter_user_namespace() -> Result<(), DriveError> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    // SAFETY: the kernel refuses the call to a process with several threads, so none can be surprised by it.
    #[allow(unsafe_code)]
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) }.map_err(|e| {
        DriveError::Missing(format!(
            "a user namespace could not be entered: {e} (it must be done before other threads exist, and \
             user namespaces allowed)"
        ))
    })?;
    let map = |path: &str, text: String| {
        fs::write(path, text).map_err(|e| {
            DriveError::Missing(format!(
                "the user cannot be mapped into a user namespace: {e} (user_namespaces(7))"
            ))
        })
    };
    // Without this the group may not be mapped by an unprivileged process (user_namespaces(7)).
    map("/proc/self/setgroups", "deny".into())?;
    map("/proc/self/uid_map", format!("0 {} 1", uid.as_raw()))?;
    map("/proc/self/gid_map", format!("0 {} 1", gid.as_raw()))
}
