//! TUN devices: exchange of IP packets with the kernel through a file descriptor.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use tun_rs::{DeviceBuilder, SyncDevice};

use super::Namespace;
use crate::DriveError;

/// Options of a TUN device.
#[derive(Clone, Debug)]
pub struct TunOptions {
    /// The kernel's address on the device and its prefix length. Other addresses of that subnet are routed to
    /// the device.
    pub ipv4: (Ipv4Addr, u8),
    /// The same for IPv6, if any.
    pub ipv6: Option<(Ipv6Addr, u8)>,
    /// Largest IP packet, bytes.
    pub mtu: u16,
    /// Packets that the kernel queues for this process before it drops some, which its TCP treats as
    /// congestion. In a user namespace it is always 500.
    pub queue: u32,
    /// Exchange packets of up to 64 KiB with many segments and without checksums (`IFF_VNET_HDR`). For a
    /// [`crate::Host`]; the emulator refuses such a device, since it carries packets as on a wire.
    pub offload: bool,
}

impl Default for TunOptions {
    fn default() -> Self {
        Self { ipv4: (Ipv4Addr::new(10, 0, 0, 1), 24), ipv6: None, mtu: 1500, queue: 10_000, offload: false }
    }
}

/// A TUN device. It is removed when dropped, or when the process ends.
pub struct Tun {
    device: SyncDevice,
    offload: bool,
}

impl Tun {
    /// Creates a device in a namespace, with its address, and brings it up.
    pub fn new(namespace: &Namespace, options: &TunOptions) -> Result<Self, DriveError> {
        // The library would create the device node in /dev and leave it there.
        if !std::path::Path::new("/dev/net/tun").exists() {
            return Err(DriveError::Missing(
                "/dev/net/tun does not exist: load the `tun` module or pass the device into the container"
                    .into(),
            ));
        }
        let build = || {
            let (address, prefix) = options.ipv4;
            let mut builder =
                DeviceBuilder::new().ipv4(address, prefix, None).mtu(options.mtu).offload(options.offload);
            if let Some((address, prefix)) = options.ipv6 {
                builder = builder.ipv6(address, prefix);
            }
            let device = builder.build_sync()?;
            // Fails in a user namespace, where the queue stays at 500 packets.
            let _ = device.set_tx_queue_len(options.queue);
            device.set_nonblocking(true)?;
            Ok(device)
        };
        let device = namespace.run(build)?.map_err(DriveError::system("create a TUN device"))?;
        if let Some((address, _)) = options.ipv6 {
            namespace
                .run(|| usable(address))?
                .map_err(DriveError::system("use the IPv6 address of a TUN device"))?;
        }
        Ok(Self { device, offload: options.offload })
    }

    /// Its name in its namespace.
    pub(super) fn name(&self) -> io::Result<String> {
        self.device.name()
    }

    /// A second descriptor of it.
    pub(crate) fn descriptor(&self) -> Result<OwnedFd, DriveError> {
        self.as_fd().try_clone_to_owned().map_err(DriveError::system("duplicate a descriptor"))
    }

    /// True when packets are preceded by an [`super::Offload`] header ([`TunOptions::offload`]).
    pub(crate) fn offload(&self) -> bool {
        self.offload
    }

    /// Receives the next packet from the kernel; `WouldBlock` when there is none.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.device.recv(buffer)
    }

    /// Sends a packet to the kernel, which accepts or drops it and never blocks.
    pub fn send(&self, packet: &[u8]) -> io::Result<usize> {
        self.device.send(packet)
    }
}

/// Waits until an IPv6 address can be used, which is some time after it was set and the device is up.
fn usable(address: Ipv6Addr) -> io::Result<()> {
    const STEP: Duration = Duration::from_millis(2);
    const STEPS: u32 = 1500;
    let mut bound = UdpSocket::bind((address, 0));
    for _ in 0..STEPS {
        if bound.is_ok() {
            break;
        }
        std::thread::sleep(STEP);
        bound = UdpSocket::bind((address, 0));
    }
    bound.map(drop)
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl std::fmt::Debug for Tun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tun").finish_non_exhaustive()
    }
}
