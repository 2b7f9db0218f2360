//! Network namespaces without a name, held only by a file descriptor.
//!
//! Nothing is mounted and nothing is written to disk, so there is nothing to clean up. When the last
//! descriptor and the last process of a namespace are gone, by a normal exit, a signal or a crash, the kernel
//! removes it with its devices, addresses and routes.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::net::if_::if_nametoindex;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::{Tun, congestion};
use crate::DriveError;

/// A network namespace. Dropping it removes it, once the devices and processes in it are gone too.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
    /// Its routes have a congestion control, which counts more than the default.
    control_on_routes: AtomicBool,
}

impl Namespace {
    /// A new namespace with only the loopback device, which is up. IPv6 is off unless `ipv6`, so that router
    /// solicitations and neighbour reports do not disturb a measurement.
    ///
    /// Needs CAP_SYS_ADMIN, possibly in a user namespace of this process: see [`crate::check`].
    pub fn new(ipv6: bool) -> Result<Self, DriveError> {
        let fd = on_a_thread(move || {
            // SAFETY: this thread was made for this call and ends after it; NEWNET changes nothing that other
            // threads share.
            #[allow(unsafe_code)]
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }
                .map_err(|e| DriveError::System("create a network namespace", e.into()))?;
            super::sys::bring_up("lo").map_err(DriveError::system("bring the loopback device up"))?;
            for key in ["default", "all"] {
                let base = format!("/proc/sys/net/ipv6/conf/{key}");
                // Best effort: there may be no IPv6 at all, or a read-only /proc/sys.
                let _ = fs::write(format!("{base}/disable_ipv6"), if ipv6 { "0" } else { "1" });
                let _ = fs::write(format!("{base}/accept_dad"), "0");
                let _ = fs::write(format!("{base}/router_solicitations"), "0");
            }
            fs::File::open("/proc/thread-self/ns/net").map_err(DriveError::system("open the new namespace"))
        })?;
        Ok(Self { fd: fd.into(), control_on_routes: AtomicBool::new(false) })
    }

    /// Runs `work` on a thread inside the namespace. Sockets opened and devices created there stay in it.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, DriveError> {
        on_a_thread(|| {
            self.enter()?;
            Ok(work())
        })
    }

    /// Moves the calling thread into the namespace, for good.
    pub(crate) fn enter(&self) -> Result<(), DriveError> {
        move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|e| DriveError::System("enter a network namespace", e.into()))
    }

    /// Makes every address of a network local to the namespace: programs in it can send from and be reached
    /// at each.
    pub fn own(&self, address: Ipv4Addr, prefix: u8) -> Result<(), DriveError> {
        // The device's address is the first one of the network.
        let first = Ipv4Addr::from_bits(address.to_bits() | 1);
        self.run(|| super::sys::own(first, prefix))?
            .map_err(DriveError::system("add a network of hosts to the loopback device"))
    }

    /// Routes all addresses of IPv4 to a device of this namespace.
    pub(crate) fn route_all_by(&self, tun: &Tun) -> Result<(), DriveError> {
        let name = tun.name().map_err(DriveError::system("read the name of a TUN device"))?;
        self.run(|| super::route::route_all_by(if_nametoindex(name.as_str())?))?
            .map_err(DriveError::system("add a route to a namespace"))
    }

    /// Makes all addresses of IPv4 local to the namespace, except for one behind its device.
    pub(crate) fn own_all_but(&self, other: Ipv4Addr, tun: &Tun) -> Result<(), DriveError> {
        let name = tun.name().map_err(DriveError::system("read the name of a TUN device"))?;
        self.run(|| super::route::own_all_but(other, if_nametoindex(name.as_str())?))?
            .map_err(DriveError::system("make all addresses local to a namespace"))
    }

    /// Starts a program inside the namespace. It is killed when the calling thread ends in any way.
    pub fn spawn(&self, command: &mut Command) -> Result<Child, DriveError> {
        let fd = self.fd.try_clone().map_err(DriveError::system("duplicate a descriptor"))?;
        let parent = getpid();
        let enter = move || -> io::Result<()> {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() != Some(parent) {
                // The parent died before the signal was set.
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            move_into_link_name_space(fd.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(())
        };
        // SAFETY: between fork and exec the closure makes three system calls on values it owns; it neither
        // allocates nor locks.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(enter)
        };
        command.spawn().map_err(DriveError::system("start a program in a namespace"))
    }

    /// Sets a kernel parameter of this namespace, for instance `net.ipv4.tcp_sack` to `0`. A congestion control
    /// that the system does not allow as a default here becomes that of all routes that there are now.
    pub fn set_sysctl(&self, key: &str, value: &str) -> Result<(), DriveError> {
        self.try_sysctl(key, value)?.map_err(|e| {
            DriveError::Missing(format!("cannot set the kernel parameter {key} to `{value}`: {e}"))
        })
    }

    /// The same with the error of the system, where the kernel does not have or take it.
    pub(crate) fn try_sysctl(&self, key: &str, value: &str) -> Result<io::Result<()>, DriveError> {
        let path = sysctl_path(key)?;
        self.run(|| match fs::write(&path, value) {
            Err(e) if key == congestion::KEY && e.kind() == io::ErrorKind::PermissionDenied => {
                self.control_on_routes.store(true, Ordering::Relaxed);
                congestion::set_on_routes(value).map_err(|_| e)
            }
            Ok(()) if key == congestion::KEY && self.control_on_routes.load(Ordering::Relaxed) => {
                congestion::set_on_routes(value)
            }
            other => other,
        })
    }

    /// Reads a kernel parameter of this namespace.
    pub fn sysctl(&self, key: &str) -> Result<String, DriveError> {
        let path = sysctl_path(key)?;
        let text = self.run(|| fs::read_to_string(&path))?;
        text.map(|t| t.trim().to_owned())
            .map_err(|e| DriveError::Missing(format!("cannot read the kernel parameter {key}: {e}")))
    }

    /// All counters of the kernel's TCP and UDP in this namespace that are not zero, by their names in
    /// `/proc/net/snmp` and `/proc/net/netstat`.
    pub(crate) fn tcp_counters(&self) -> Result<Vec<(String, u64)>, DriveError> {
        Ok(counters(&self.tcp_tables()?))
    }

    /// A counter of the kernel's TCP in this namespace, by its name in `/proc/net/snmp` or
    /// `/proc/net/netstat` (`RetransSegs`, `TCPTimeouts`...).
    pub fn tcp_counter(&self, name: &str) -> Result<u64, DriveError> {
        counter(&self.tcp_tables()?, name)
            .ok_or_else(|| DriveError::Missing(format!("this kernel has no TCP counter named `{name}`")))
    }

    fn tcp_tables(&self) -> Result<String, DriveError> {
        let text = self.run(|| -> io::Result<String> {
            Ok(fs::read_to_string("/proc/thread-self/net/snmp")?
                + &fs::read_to_string("/proc/thread-self/net/netstat")?)
        })?;
        text.map_err(DriveError::system("read the kernel's TCP counters"))
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A namespace is a property of a thread, so the change is made on a new thread and not on the caller's.
fn on_a_thread<T: Send>(work: impl FnOnce() -> Result<T, DriveError> + Send) -> Result<T, DriveError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("namespace".into())
            .spawn_scoped(scope, work)
            .map_err(DriveError::system("start a thread"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn sysctl_path(key: &str) -> Result<String, DriveError> {
    let fine = key.starts_with("net.")
        && !key.contains("..")
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if fine {
        Ok(format!("/proc/sys/{}", key.replace('.', "/")))
    } else {
        Err(DriveError::Input(format!(
            "`{key}` is not a network parameter of the kernel: give one such as `net.ipv4.tcp_sack`"
        )))
    }
}

/// Finds a counter in the kernel's tables, which are pairs of lines with names and values.
fn counter(text: &str, name: &str) -> Option<u64> {
    let lines: Vec<&str> = text.lines().collect();
    lines.chunks_exact(2).find_map(|pair| {
        let column = pair[0].split_ascii_whitespace().position(|n| n == name)?;
        let protocol = pair[0].split_ascii_whitespace().next()?;
        (protocol.starts_with("Tcp")).then(|| pair[1].split_ascii_whitespace().nth(column)?.parse().ok())?
    })
}

/// Settings among the counters of `/proc/net/snmp`.
const SETTINGS: &[&str] = &["RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn", "CurrEstab"];

/// All counters of TCP and UDP in the kernel's tables that are not zero. Those of UDP begin with `Udp`, as nstat(8)
/// has it.
fn counters(text: &str) -> Vec<(String, u64)> {
    let known = |line: &&str| line.starts_with("Tcp") || line.starts_with("Udp:");
    let lines: Vec<&str> = text.lines().filter(known).collect();
    let pairs = lines.chunks_exact(2).flat_map(|pair| {
        let before = if pair[0].starts_with("Udp") { "Udp" } else { "" };
        let values = pair[1].split_ascii_whitespace().skip(1);
        pair[0].split_ascii_whitespace().skip(1).zip(values).map(move |(name, value)| (before, name, value))
    });
    let found = pairs.filter(|(_, name, _)| !SETTINGS.contains(name));
    found
        .filter_map(|(before, name, value)| Some((format!("{before}{name}"), value.parse().ok()?)))
        .filter(|(_, n)| *n > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let text = "Ip: InDiscards RetransSegs\nIp: 1 2\nTcp: ActiveOpens RetransSegs\nTcp: 3 4\nTcpExt: \
                    SyncookiesSent TCPTimeouts\nTcpExt: 5 6\n";
        assert_eq!(counter(text, "RetransSegs"), Some(4));
        assert_eq!(counter(text, "TCPTimeouts"), Some(6));
        assert_eq!(counter(text, "Nonsense"), None);
        assert_eq!(counter("Tcp: a", "a"), None);
        let all = [("ActiveOpens", 3), ("RetransSegs", 4), ("SyncookiesSent", 5), ("TCPTimeouts", 6)];
        assert_eq!(counters(text), all.map(|(name, n)| (name.to_owned(), n)));
        assert_eq!(counters("TcpExt: RtoMin TCPTimeouts\nTcpExt: 200 0\n"), []);
        let udp = "Tcp: RtoMin InErrs\nTcp: 200 1\nUdp: InDatagrams RcvbufErrors\nUdp: 9 2\nUdpLite: InDatagrams\n\
                   UdpLite: 7\n";
        let all = [("InErrs", 1), ("UdpInDatagrams", 9), ("UdpRcvbufErrors", 2)];
        assert_eq!(counters(udp), all.map(|(name, n)| (name.to_owned(), n)));
    }

    #[test]
    fn a_key_outside_the_network_parameters_is_refused() {
        assert!(sysctl_path("net.ipv4.tcp_sack").is_ok());
        for key in ["kernel.panic", "net/../kernel", "net..", "", "net.ipv4.tcp sack"] {
            assert!(sysctl_path(key).is_err(), "{key}");
        }
    }
}
