//! Packets and time.

use std::ffi::{c_int, c_longlong, c_uint, c_void};
use std::ptr;

use ackclock_units::{Duration, Instant};
use libc::{size_t, timeval, timezone};

use super::{bytes, set_errno};
use crate::lab;

/// The moment, seconds, at which the clock begins: packetdrill takes small readings for none.
pub(super) const EPOCH: i64 = 1_000_000_000;

pub(super) unsafe extern "C" fn netdev_send(_: *mut c_void, packet: *const c_void, len: size_t) -> c_int {
    // SAFETY: packetdrill gives the length of the packet.
    let packet = unsafe { bytes(packet.cast(), len) };
    let mut guard = lab::lock();
    // What is no packet is dropped, as by a device.
    let _ = guard.as_mut().map(|lab| lab.receive(packet));
    0
}

pub(super) unsafe extern "C" fn netdev_receive(
    _: *mut c_void,
    buffer: *mut c_void,
    len: *mut size_t,
    time: *mut c_longlong,
) -> c_int {
    let next = lab::lock().as_mut().and_then(|lab| lab.send());
    let (packet, at) = next.unwrap_or_default();
    // SAFETY: packetdrill gives the length of the buffer where it wants that of the packet, and a place for the time.
    unsafe {
        let n = packet.len().min(*len);
        ptr::copy_nonoverlapping(packet.as_ptr(), buffer.cast(), n);
        *len = n;
        *time = micros(at);
    }
    0
}

pub(super) unsafe extern "C" fn usleep(_: *mut c_void, span: c_uint) -> c_int {
    lab::sleep(Duration::from_micros(span.into()));
    0
}

pub(super) unsafe extern "C" fn gettimeofday(_: *mut c_void, time: *mut timeval, _: *mut timezone) -> c_int {
    let Some(now) = lab::read_clock() else { return set_errno(libc::ENODEV) };
    let now = micros(now);
    if !time.is_null() {
        // SAFETY: it is not null, and gettimeofday(2) writes a time there.
        unsafe { *time = timeval { tv_sec: now / 1_000_000, tv_usec: now % 1_000_000 } };
    }
    0
}

/// A moment as the clock reads it, µs.
fn micros(at: Instant) -> i64 {
    EPOCH * 1_000_000 + (at.as_nanos() / 1000) as i64
}
