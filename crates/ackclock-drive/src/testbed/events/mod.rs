//! Events inside the kernel's TCP, by flow: what its tracepoints tell during a run.

mod ends;
mod judged;
mod trace;

use std::collections::HashMap;
use std::ffi::CString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use ackclock_trace::Mask;
use ackclock_units::{Duration, Instant};

pub(super) use self::ends::{EndEvents, ends};
pub use self::judged::COLUMNS;
pub(super) use self::judged::{Judged, Numbers, judge};
pub use self::trace::UNKNOWN_OF_EPISODES;
pub(super) use self::trace::trace_rows;
use crate::Clock;
use crate::linux::tracepoints::{Field, Format, Tracepoints, formats};

/// Tracepoints that are needed in every run: `tcp_set_ca_state` and `__tcp_retransmit_skb` of the kernel.
const STATES: &str = "tcp_cong_state_set";
const RETRANSMISSIONS: &str = "tcp_retransmit_skb";
/// The one of samples, at each packet that an established connection receives.
const SAMPLES: &str = "tcp_probe";
/// Room for records on each processor, bytes.
const ROOM: usize = 512 << 10;
const ROOM_OF_SAMPLES: usize = 4 << 20;
/// How often records are taken.
const EVERY: std::time::Duration = std::time::Duration::from_millis(20);

/// States of the kernel's congestion control (`tcp_ca_state`).
const OPEN: u8 = 0;
const CWR: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;
/// States of a connection before its handshake is complete (`tcp_states.h`).
const SYN_SENT: u64 = 2;
const SYN_RECV: u64 = 3;

/// An event of one end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    pub(super) at: Instant,
    /// The stream that the end sends: twice the flow's number, and 1 for the server's.
    pub(super) stream: u32,
    pub(super) what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// Its congestion control enters this state, possibly again.
    State(u8),
    /// It has retransmitted; `opening` before its handshake was complete.
    Retransmitted { opening: bool },
    /// A packet arrives. The state before it is handled.
    Sample(Sample),
}

/// The state of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sample {
    /// Sequence numbers sent and not acknowledged.
    pub(super) outstanding: u32,
    pub(super) cwnd_segs: u32,
    /// What the kernel calls the current threshold, segments.
    pub(super) ssthresh_segs: u32,
    /// Smoothed round-trip time; zero before the first sample.
    pub(super) srtt: Duration,
}

/// All events of a run, in order of time.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) all: Vec<Seen>,
    /// Records that found no room.
    pub(super) lost: u64,
}

/// Fails where the kernel's events cannot be recorded, with the reason.
pub(super) fn available(trace: Mask) -> Result<(), String> {
    Opened::open(trace).map(drop)
}

/// Tracepoints that are open and do not record yet.
pub(super) struct Opened {
    tracepoints: Tracepoints,
    readers: Vec<Reader>,
    /// Holds its port, so that no other run on this machine has it.
    port: UdpSocket,
}

impl Opened {
    /// Opens what a run with this `trace` needs.
    ///
    /// # Errors
    /// Why that is not possible.
    pub(super) fn open(trace: Mask) -> Result<Self, String> {
        let mut names = vec![STATES, RETRANSMISSIONS];
        if trace.any(Mask::SAMPLES) {
            names.push(SAMPLES);
        }
        let formats = formats(&names)?;
        let readers = names.iter().zip(&formats).map(|(name, format)| {
            Reader::new(name, format)
                .map_err(|field| format!("the kernel's tracepoint tcp:{name} has no field `{field}`"))
        });
        let readers = readers.collect::<Result<_, _>>()?;
        let port = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|e| format!("no port could be reserved: {e}"))?;
        let number = local_port(&port)?;
        // Other connections of the machine stay out, and those of other runs, which have other ports.
        let filter = CString::new(format!("sport == {number} || dport == {number}")).unwrap_or_default();
        let room = |name: &&str| if **name == *SAMPLES { ROOM_OF_SAMPLES } else { ROOM };
        let wanted: Vec<_> = formats.iter().zip(names.iter().map(room)).collect();
        Ok(Self { tracepoints: Tracepoints::open(&wanted, &filter)?, readers, port })
    }

    /// The port at which servers must listen.
    pub(super) fn port(&self) -> Result<u16, String> {
        local_port(&self.port)
    }

    /// Records from now on. `streams` are those between two addresses.
    pub(super) fn start(
        mut self,
        clock: Clock,
        streams: HashMap<(IpAddr, IpAddr), u32>,
    ) -> Result<Recording, String> {
        self.tracepoints.start()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("events".into()).spawn(move || {
            let zero = clock.monotonic_start();
            let mut events = Events::default();
            loop {
                // Once more after the end.
                let last = stopped.load(Ordering::Acquire);
                let Self { tracepoints, readers, .. } = &mut self;
                tracepoints.take(|place, ns, record| {
                    let at = Instant::from_nanos(ns.saturating_sub(zero));
                    events.all.extend(readers[place].read(at, record, &streams));
                });
                if last {
                    break;
                }
                std::thread::sleep(EVERY);
            }
            events.lost = self.tracepoints.lost();
            events.all.sort_by_key(|seen| seen.at);
            events
        });
        let thread = thread.map_err(|e| format!("no thread could be started: {e}"))?;
        Ok(Recording { stop, thread: Some(thread) })
    }
}

fn local_port(socket: &UdpSocket) -> Result<u16, String> {
    socket.local_addr().as_ref().map(SocketAddr::port).map_err(|e| format!("no port could be reserved: {e}"))
}

/// Records until it is stopped.
pub(super) struct Recording {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Events>>,
}

impl Recording {
    /// Ends it.
    pub(super) fn stop(mut self) -> Events {
        self.stop.store(true, Ordering::Release);
        let events = self.thread.take().map(JoinHandle::join);
        events.map_or_else(Events::default, |done| {
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

/// Where a tracepoint's records have what is read of them.
struct Reader {
    ends: [Field; 2],
    what: Fields,
}

enum Fields {
    State(Field),
    Retransmission { state: Field, error: Option<Field> },
    Sample { snd_nxt: Field, snd_una: Field, cwnd: Field, ssthresh: Field, srtt: Field },
}

impl Reader {
    /// Fails with the name of a field that is missing.
    fn new(name: &str, format: &Format) -> Result<Self, String> {
        let field = |name: &str| format.field(name);
        let what = match name {
            STATES => Fields::State(field("cong_state")?),
            // Older kernels tell of those that were sent alone.
            RETRANSMISSIONS => Fields::Retransmission { state: field("state")?, error: field("err").ok() },
            _ => Fields::Sample {
                snd_nxt: field("snd_nxt")?,
                snd_una: field("snd_una")?,
                cwnd: field("snd_cwnd")?,
                ssthresh: field("ssthresh")?,
                srtt: field("srtt")?,
            },
        };
        Ok(Self { ends: [field("saddr")?, field("daddr")?], what })
    }

    /// The event in a record; `None` for a connection that is not of this run.
    fn read(&self, at: Instant, record: &[u8], streams: &HashMap<(IpAddr, IpAddr), u32>) -> Option<Seen> {
        let [own, other] = self.ends.map(|field| address(field.bytes(record)));
        let stream = *streams.get(&(own?, other?))?;
        let number = |field: &Field| field.number(record) as u32;
        let what = match &self.what {
            Fields::State(state) => What::State(number(state) as u8),
            Fields::Retransmission { error: Some(error), .. } if number(error) != 0 => return None,
            Fields::Retransmission { state, .. } => {
                What::Retransmitted { opening: [SYN_SENT, SYN_RECV].contains(&state.number(record)) }
            }
            Fields::Sample { snd_nxt, snd_una, cwnd, ssthresh, srtt } => What::Sample(Sample {
                outstanding: number(snd_nxt).wrapping_sub(number(snd_una)),
                cwnd_segs: number(cwnd),
                ssthresh_segs: number(ssthresh),
                srtt: Duration::from_micros(number(srtt).into()),
            }),
        };
        Some(Seen { at, stream, what })
    }
}

/// An address of IPv4: four bytes, or a `sockaddr_in`.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    let octets: [u8; 4] = match bytes.len() {
        4 => bytes.try_into().ok()?,
        _ => bytes.get(4..8)?.try_into().ok()?,
    };
    Some(Ipv4Addr::from(octets).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stands_alone_or_in_a_socket_address() {
        let expected = Some(IpAddr::from([10, 64, 1, 0]));
        assert_eq!(address(&[10, 64, 1, 0]), expected);
        let mut whole = [0; 28];
        whole[..8].copy_from_slice(&[2, 0, 0x13, 0x89, 10, 64, 1, 0]);
        assert_eq!((address(&whole), address(&[])), (expected, None));
    }
}
