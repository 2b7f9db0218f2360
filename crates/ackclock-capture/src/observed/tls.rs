use ackclock_units::Duration;

use super::Place;

/// The first bytes of a segment's payload, as far as they were captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Beginning {
    bytes: [u8; 6],
    kept: u8,
}

/// What kind of TLS record a payload begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Record {
    ClientHello,
    ServerHello,
    /// From here on, or nearly, its sender encrypts: a change of the cipher, or data.
    Encrypts,
    Other,
}

impl Beginning {
    /// Of a payload.
    #[inline]
    pub fn of(payload: &[u8]) -> Self {
        // Nearly always there is none, or enough.
        if let Some(bytes) = payload.first_chunk() {
            return Self { bytes: *bytes, kept: 6 };
        }
        let mut bytes = [0; 6];
        let kept = payload.len();
        bytes[..kept].copy_from_slice(&payload[..kept]);
        Self { bytes, kept: kept as u8 }
    }

    /// The TLS record that begins here (RFC 8446 §5.1: type, version, length), if one does.
    fn record(&self) -> Option<Record> {
        if self.kept < 5 {
            return None;
        }
        let [kind, 3, 0..=4, high, low, message] = self.bytes else { return None };
        let length = u16::from_be_bytes([high, low]);
        // RFC 5246 §6.2.3: no record is longer.
        if length == 0 || length > (1 << 14) + 2048 {
            return None;
        }
        match (kind, message) {
            // RFC 8446 §4: the types of handshake messages.
            (22, 1) if self.kept == 6 => Some(Record::ClientHello),
            (22, 2) if self.kept == 6 => Some(Record::ServerHello),
            (20 | 23, _) => Some(Record::Encrypts),
            (21 | 22, _) => Some(Record::Other),
            _ => None,
        }
    }
}

/// TLS in a connection, by the records at the beginning of its segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tls {
    /// Where the client's hello was seen.
    pub hello: Option<Place>,
    /// From there to the first segment with which the client encrypts after the server's hello.
    pub handshake: Option<Duration>,
    /// Segments that began with a record, either way, and with something else.
    records: u32,
    others: u32,
    hello_side: usize,
    replied: bool,
}

/// Segments that begin with a record which show a connection without its beginning to be TLS. Chosen, because
/// other data has such bytes at one place in a million.
const ENOUGH: u32 = 3;

impl Tls {
    /// Takes a segment's payload.
    #[inline]
    pub(crate) fn payload(&mut self, side: usize, beginning: &Beginning, here: Place) {
        if beginning.kept == 0 || self.handshake.is_some() {
            return;
        }
        let Some(record) = beginning.record() else {
            self.others = self.others.saturating_add(1);
            return;
        };
        self.records = self.records.saturating_add(1);
        match record {
            Record::ClientHello if self.hello.is_none() => (self.hello, self.hello_side) = (Some(here), side),
            Record::ServerHello if self.hello_side != side => self.replied = self.hello.is_some(),
            Record::Encrypts if self.replied && self.hello_side == side => {
                self.handshake = self.hello.map(|hello| here.at.since(hello.at));
            }
            _ => {}
        }
    }

    /// The connection carries TLS.
    pub fn is_seen(&self) -> bool {
        self.replied || self.records >= ENOUGH && self.records * 8 >= self.others
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Instant;

    use super::*;

    fn run(segments: &[(usize, u64, &[u8])]) -> Tls {
        let mut tls = Tls::default();
        for (side, ms, payload) in segments {
            let here = Place { at: Instant::from_nanos(ms * 1_000_000), frame: *ms };
            tls.payload(*side, &Beginning::of(payload), here);
        }
        tls
    }

    #[test]
    fn the_handshake_ends_when_the_client_encrypts() {
        let hello: (usize, u64, &[u8]) = (0, 0, &[22, 3, 1, 2, 0, 1]);
        let reply: (usize, u64, &[u8]) = (1, 40, &[22, 3, 3, 0, 122, 2]);
        // TLS 1.3: the client's change of cipher comes with its last message.
        let tls = run(&[
            hello,
            reply,
            (1, 41, &[7; 40]),
            (0, 42, &[20, 3, 3, 0, 1, 1]),
            (0, 50, &[23, 3, 3, 0, 9, 9]),
        ]);
        assert_eq!((tls.is_seen(), tls.handshake), (true, Some(Duration::from_millis(42))));
        // TLS 1.2: the client's key exchange is a handshake message.
        let tls = run(&[hello, reply, (0, 42, &[22, 3, 3, 0, 70, 16]), (0, 83, &[23, 3, 3, 0, 9, 9])]);
        assert_eq!((tls.is_seen(), tls.handshake), (true, Some(Duration::from_millis(83))));
    }

    #[test]
    fn other_content_is_none() {
        for other in
            [&b"GET / HTTP/1.1"[..], &[22, 3], &[22, 3, 3, 0xff, 0xff, 1], &[22, 2, 0, 0, 9, 1], &[0; 6]]
        {
            let tls = run(&[(0, 0, other), (1, 1, other), (0, 2, other), (1, 3, other)]);
            assert!(!tls.is_seen(), "{other:?}");
        }
        assert!(!run(&[(0, 0, &[22, 3, 1, 2, 0, 1])]).is_seen(), "a hello without a reply");
        let middle: (usize, u64, &[u8]) = (1, 0, &[23, 3, 3, 64, 24, 9]);
        assert!(run(&[middle; 3]).is_seen());
    }
}
