//! Round-trip time estimators for a controller outside a QUIC connection.
//!
//! `quinn_proto::RttEstimator` has no public constructor: only a connection makes one, from the initial
//! round-trip time of its configuration, and shows it to its controller with the first ack. So for each
//! duration that is wanted, a connection is opened here, in memory and without waiting, up to its first ack.

use std::any::Any;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::congestion::{Controller, ControllerFactory};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, RttEstimator,
    ServerConfig, TransportConfig,
};

/// Bits of a duration that are kept: estimators are made for durations that differ by less than a percent.
const BITS: u32 = 8;
/// Datagrams that either side sends until its turn is over; the first ack comes with the server's first.
const TURN: usize = 8;
const NAME: &str = "localhost";

/// An estimator whose smoothed and smallest round-trip time are both `rtt`, rounded down by less than a
/// percent.
pub fn estimator(rtt: Duration) -> RttEstimator {
    static MADE: OnceLock<Mutex<HashMap<u64, RttEstimator>>> = OnceLock::new();
    let nanos = rounded(u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX).max(1));
    let made = MADE.get_or_init(Mutex::default);
    *made
        .lock()
        .expect("no thread panics with it")
        .entry(nanos)
        .or_insert_with(|| first_ack(Duration::from_nanos(nanos)))
}

/// The largest number of so many bits, and zeros behind them, that is not above `n`.
fn rounded(n: u64) -> u64 {
    let spare = (u64::BITS - n.leading_zeros()).saturating_sub(BITS);
    n >> spare << spare
}

/// Opens a connection with that initial round-trip time, and returns the estimator that its controller gets
/// with the first ack.
fn first_ack(rtt: Duration) -> RttEstimator {
    let seen = Arc::new(Mutex::new(None));
    let (client_config, server_config) = configs();
    let mut transport = TransportConfig::default();
    transport.initial_rtt(rtt).congestion_controller_factory(Arc::new(Listen(seen.clone())));
    let mut client_config = client_config.clone();
    client_config.transport_config(Arc::new(transport));

    let now = Instant::now();
    let [here, there] = [1, 2].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let endpoint = |server| Endpoint::new(Arc::new(EndpointConfig::default()), server, false, Some([7; 32]));
    let mut client = endpoint(None);
    let mut server = endpoint(Some(Arc::new(server_config.clone())));
    let (_, mut opened) =
        client.connect(now, client_config, there, NAME).expect("the configuration is valid");
    let mut accepted: Option<(ConnectionHandle, Connection)> = None;

    for datagram in datagrams(&mut opened, now) {
        let mut buffer = Vec::new();
        match server.handle(now, here, None, None, datagram, &mut buffer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                accepted = server.accept(incoming, now, &mut buffer, None).ok();
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut accepted {
                    connection.handle_event(event);
                }
            }
            _ => {}
        }
    }
    let (_, mut accepted) = accepted.expect("the first datagram opens the connection");
    for datagram in datagrams(&mut accepted, now) {
        if let Some(DatagramEvent::ConnectionEvent(_, event)) =
            client.handle(now, there, None, None, datagram, &mut Vec::new())
        {
            opened.handle_event(event);
        }
    }
    let seen = seen.lock().expect("no thread panics with it").take();
    seen.expect("the server acknowledges the first datagram")
}

/// What a connection sends now.
fn datagrams(connection: &mut Connection, now: Instant) -> Vec<BytesMut> {
    let mut sent = Vec::new();
    for _ in 0..TURN {
        let mut buffer = Vec::new();
        let Some(transmit) = connection.poll_transmit(now, 1, &mut buffer) else { break };
        sent.push(BytesMut::from(&buffer[..transmit.size]));
    }
    sent
}

/// The configurations, whose certificate is made once.
fn configs() -> &'static (ClientConfig, ServerConfig) {
    static MADE: OnceLock<(ClientConfig, ServerConfig)> = OnceLock::new();
    MADE.get_or_init(|| {
        let made = rcgen::generate_simple_self_signed(vec![NAME.into()]).expect("a name makes a certificate");
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let mut roots = rustls::RootCertStore::empty();
        roots.add(made.cert.der().clone()).expect("the certificate is well-formed");
        let server = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into());
        let client = ClientConfig::with_root_certificates(Arc::new(roots));
        (client.expect("the root is valid"), server.expect("the key fits the certificate"))
    })
}

/// A controller that keeps the estimator of its first ack.
#[derive(Clone)]
struct Listen(Arc<Mutex<Option<RttEstimator>>>);

impl ControllerFactory for Listen {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new((*self).clone())
    }
}

impl Controller for Listen {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, rtt: &RttEstimator) {
        self.0.lock().expect("no thread panics with it").get_or_insert(*rtt);
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        1 << 20
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_eight_bits() {
        assert_eq!(rounded(255), 255);
        assert_eq!(rounded(0b1_0000_0001), 0b1_0000_0000);
        assert_eq!(rounded(u64::MAX), 0xff << 56);
        for n in [1, 999, 40_000_000, 123_456_789] {
            assert!(rounded(n) <= n && (n - rounded(n)) as f64 / n as f64 <= 1.0 / 128.0, "{n}");
        }
    }

    #[test]
    fn an_estimator_has_the_round_trip_time_that_was_asked_for() {
        for ms in [1, 40, 100, 600] {
            let wanted = Duration::from_millis(ms);
            let made = estimator(wanted);
            assert_eq!(made.get(), made.min());
            assert!(made.get() <= wanted && made.get() > wanted.mul_f64(0.99), "{ms} ms: {:?}", made.get());
        }
    }
}
