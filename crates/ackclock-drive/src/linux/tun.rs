//! TUN devices: the kernel's IP packets in a file descriptor.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use tun_rs::{DeviceBuilder, SyncDevice};

use super::Namespace;
use crate::DriveError;

/// What a TUN device is made with.
#[derive(Clone, Debug)]
pub struct TunOptions {
    /// The kernel's address on the device and the length of its prefix. Other addresses of that subnet are
    /// reached through the device.
    pub ipv4: (Ipv4Addr, u8),
    /// The same for IPv6, if wanted.
    pub ipv6: Option<(Ipv6Addr, u8)>,
    /// Largest IP packet, bytes.
    pub mtu: u16,
    /// Packets that the kernel queues for us before it drops (and takes that for congestion). In a user
    /// namespace they are 500 in any case.
    pub queue: u32,
    /// Exchange packets of up to 64 KiB that hold many segments, and leave checksums out (`IFF_VNET_HDR`). A
    /// [`crate::Host`] makes use of it; the emulator does not take such a device, since it carries packets as
    /// they are on a wire.
    pub offload: bool,
}

impl Default for TunOptions {
    fn default() -> Self {
        Self { ipv4: (Ipv4Addr::new(10, 0, 0, 1), 24), ipv6: None, mtu: 1500, queue: 10_000, offload: false }
    }
}

/// A TUN device. It vanishes when dropped, or when the process ends.
pub struct Tun {
    device: SyncDevice,
    offload: bool,
}

impl Tun {
    /// Makes a device in a namespace, with its address, up.
    pub fn new(namespace: &Namespace, options: &TunOptions) -> Result<Self, DriveError> {
        // The library would make the device node in /dev, which would stay behind.
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
            // Refused in a user namespace, where the queue keeps its 500 packets.
            let _ = device.set_tx_queue_len(options.queue);
            device.set_nonblocking(true)?;
            Ok(device)
        };
        let device = namespace.run(build)?.map_err(DriveError::system("make a TUN device"))?;
        if let Some((address, _)) = options.ipv6 {
            namespace
                .run(|| usable(address))?
                .map_err(DriveError::system("use the IPv6 address of a TUN device"))?;
        }
        Ok(Self { device, offload: options.offload })
    }

    /// True when packets are preceded by what is said of them ([`TunOptions::offload`]).
    pub(crate) fn offload(&self) -> bool {
        self.offload
    }

    /// Takes the next packet that the kernel sent; `WouldBlock` when there is none.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.device.recv(buffer)
    }

    /// Hands the kernel a packet. It takes or drops it, but never waits.
    pub fn send(&self, packet: &[u8]) -> io::Result<usize> {
        self.device.send(packet)
    }
}

/// Waits until the kernel takes an IPv6 address for its own, which is some time after it was given and the
/// device is up.
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
