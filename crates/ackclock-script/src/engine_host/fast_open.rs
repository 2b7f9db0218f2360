//! Fast Open above sockets: what a client sends with its SYN, which SYNs a server accepts, and the settings
//! of both.

use std::net::{IpAddr, Ipv4Addr};

use ackclock_engine::{CookieKey, FastOpenCache};
use ackclock_units::{Duration, Instant};
use ackclock_wire::{FastOpen, Segment};

use super::options::SocketOptions;
use crate::constants as c;

/// The tested host's address and the script's, where nothing else is said: those of packetdrill.
pub(crate) const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1));
pub(crate) const REMOTE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

// The bits of Linux's `net.ipv4.tcp_fastopen` (Documentation/networking/ip-sysctl.rst).
const CLIENT: u32 = 0x1;
const SERVER: u32 = 0x2;
/// Clients send text without having a cookie.
const CLIENT_WITHOUT_COOKIE: u32 = 0x4;
/// Servers accept text without a cookie.
const SERVER_WITHOUT_COOKIE: u32 = 0x200;
/// Every listener accepts, without `TCP_FASTOPEN`.
const EVERY_LISTENER: u32 = 0x400;

/// What a SYN leaves for options that middleboxes add, bytes: all that a header has room for
/// (`tcp_send_syn_data`).
const RESERVED: u32 = 40;

/// How long a connection that was reset in its handshake counts as pending (`reqsk_fastopen_remove`).
const RESET_COUNTS: Duration = Duration::from_secs(60);

/// Most doublings of a pause (`tcp_fastopen_active_should_disable`).
const MOST_DOUBLINGS: u32 = 6;

/// A host's side of Fast Open.
#[derive(Debug)]
pub(super) struct FastOpenSettings {
    /// `net.ipv4.tcp_fastopen`.
    flags: u32,
    /// The key that makes cookies, and an older one whose cookies are still valid.
    keys: Vec<CookieKey>,
    pub(super) cache: FastOpenCache,
    pub(super) local: IpAddr,
    pub(super) remote: IpAddr,
    pause: Pause,
}

/// Clients pause Fast Open where it seems that the network drops its SYNs
/// (`tcp_fastopen_active_detect_blackhole`).
#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    /// Its first length; zero for none.
    base: Duration,
    times: u32,
    since: Instant,
}

impl Pause {
    fn is_on(&self, now: Instant) -> bool {
        let doublings = self.times.saturating_sub(1).min(MOST_DOUBLINGS);
        self.times > 0 && now < self.since + self.base.saturating_mul(1 << doublings)
    }
}

/// What becomes of a SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Verdict {
    /// Its text is delivered.
    pub accepts: bool,
    /// The option of the SYN-ACK.
    pub answer: Option<FastOpen>,
}

/// The Fast Open connections of a listener.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingFastOpens {
    /// Most that may be in their handshake; 0 without Fast Open.
    pub most: i64,
    /// Those that are in their handshake, accepted or not.
    pub opening: Vec<usize>,
    /// Those that were accepted and reset in it count until then, lest forged SYNs and their resets go
    /// unnoticed (RFC 7413 §5.1).
    pub resets: Vec<Instant>,
}

impl PendingFastOpens {
    /// One of them was reset.
    pub(crate) fn reset(&mut self, now: Instant) {
        self.resets.push(now + RESET_COUNTS);
    }

    /// Makes room for one more. False where there is none (PendingFastOpenRequests of RFC 7413 §4.2.2).
    fn has_room(&mut self, now: Instant) -> bool {
        if ((self.opening.len() + self.resets.len()) as i64) < self.most {
            return true;
        }
        let over = self.most > 0 && self.resets.first().is_some_and(|until| *until <= now);
        if over {
            self.resets.remove(0);
        }
        over
    }
}

impl FastOpenSettings {
    /// Linux's defaults, with a key of its own.
    pub(super) fn new(key: [u8; 16]) -> Self {
        Self {
            flags: CLIENT,
            keys: vec![CookieKey::new(key)],
            cache: FastOpenCache::default(),
            local: LOCAL,
            remote: REMOTE,
            pause: Pause::default(),
        }
    }

    /// Sets `net.ipv4.NAME`. `None` where it is none of Fast Open's, false where it cannot have the value.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Option<bool> {
        let number = || {
            let value = value.trim();
            value.strip_prefix("0x").map_or(value.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok())
        };
        Some(match name {
            "tcp_fastopen" => number().map(|flags| self.flags = flags).is_some(),
            "tcp_fastopen_key" => keys(value).map(|keys| self.keys = keys).is_some(),
            "tcp_fastopen_blackhole_timeout_sec" => number()
                .map(|seconds| {
                    self.pause = Pause { base: Duration::from_secs(seconds.into()), ..Pause::default() };
                })
                .is_some(),
            _ => return None,
        })
    }

    /// True where clients may use it.
    pub(super) fn serves_clients(&self) -> bool {
        self.flags & CLIENT != 0
    }

    fn needs_no_cookie(&self, options: &SocketOptions, flag: u32) -> bool {
        self.flags & flag != 0 || options.int(c::SOL_TCP, c::TCP_FASTOPEN_NO_COOKIE) == Some(1)
    }

    /// True where a client may send text on its SYN.
    pub(super) fn may_send_text(&self, options: &SocketOptions, now: Instant) -> bool {
        !self.pause.is_on(now)
            && (self.needs_no_cookie(options, CLIENT_WITHOUT_COOKIE)
                || !self.cache.option(self.remote).is_request())
    }

    /// How a client begins: the option of its SYN and room for text, where segments have at most `mss` bytes.
    /// `None` where it does without Fast Open for now.
    pub(super) fn begin(
        &self,
        options: &SocketOptions,
        mss: u32,
        now: Instant,
    ) -> Option<(Option<FastOpen>, u32)> {
        if self.pause.is_on(now) {
            return None;
        }
        let known = self.cache.server(self.remote).map_or(0, |server| server.mss);
        let mss = if known > 0 { mss.min(known) } else { mss };
        let needs_none = self.needs_no_cookie(options, CLIENT_WITHOUT_COOKIE);
        let option = (!needs_none).then(|| self.cache.option(self.remote));
        Some((option, mss.saturating_sub(RESERVED)))
    }

    /// A connection with Fast Open has timed out three times in a row, or for good.
    pub(super) fn note_black_hole(&mut self, now: Instant) {
        if !self.pause.base.is_zero() {
            self.pause = Pause { times: self.pause.times.saturating_add(1), since: now, ..self.pause };
        }
    }

    /// How many connections of a listener may be in their handshake, where it does not say so itself.
    pub(super) fn backlog_of_listeners(&self, backlog: i64) -> i64 {
        if self.flags & (EVERY_LISTENER | SERVER) == EVERY_LISTENER | SERVER { backlog.max(0) } else { 0 }
    }

    /// What a listener does with a SYN (RFC 7413 §4.1.2, §4.2.2).
    pub(super) fn judge(
        &self,
        syn: &Segment,
        option: Option<FastOpen>,
        options: &SocketOptions,
        pending: &mut PendingFastOpens,
        now: Instant,
    ) -> Verdict {
        let concerns = syn.len > 0 || option.is_some();
        if self.flags & SERVER == 0 || !concerns || !pending.has_room(now) {
            return Verdict::default();
        }
        let accepted = Verdict { accepts: true, answer: None };
        if self.needs_no_cookie(options, SERVER_WITHOUT_COOKIE) {
            return accepted;
        }
        let (Some(option), Some(key)) = (option, self.keys.first()) else { return Verdict::default() };
        let own = key.cookie(self.remote, self.local, option.experimental);
        match self.keys.iter().position(|key| key.accepts(&option, self.remote, self.local)) {
            Some(0) => accepted,
            // Made by the older key: accepted, and replaced.
            Some(_) => Verdict { accepts: true, answer: Some(own) },
            None => Verdict { accepts: false, answer: Some(own) },
        }
    }
}

/// One or two keys as `net.ipv4.tcp_fastopen_key` has them: four words in hexadecimal digits, each of which
/// is stored with its lowest byte first.
fn keys(text: &str) -> Option<Vec<CookieKey>> {
    let key = |text: &str| {
        let words: Vec<u32> =
            text.split('-').map(|w| u32::from_str_radix(w.trim(), 16).ok()).collect::<Option<_>>()?;
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        Some(CookieKey::new(bytes.try_into().ok()?))
    };
    let keys: Vec<CookieKey> = text.split(',').map(key).collect::<Option<_>>()?;
    (1..=2).contains(&keys.len()).then_some(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_linux_reads_them() {
        let keys = keys("a0bf63f7-ed803d81-cd641d30-cebc4a90,0-0-0-1").unwrap();
        assert_eq!(keys.len(), 2);
        let cookie = keys[0].cookie([10, 248, 0, 2].into(), [192, 168, 0, 2].into(), false);
        assert_eq!(cookie.cookie(), [0x00, 0xab, 0xaa, 0xab, 0xe8, 0xe9, 0x54, 0xc2]);
        for wrong in ["", "1-2-3", "1-2-3-4-5", "1-2-3-x", "1-2-3-4,1-2-3-4,1-2-3-4", "123456789-0-0-0"] {
            assert!(super::keys(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn those_that_were_reset_count_for_a_minute() {
        let mut pending = PendingFastOpens { most: 1, ..PendingFastOpens::default() };
        assert!(pending.has_room(Instant::ZERO));
        pending.reset(Instant::ZERO);
        assert!(!pending.has_room(Instant::ZERO + Duration::from_secs(59)));
        assert!(pending.has_room(Instant::ZERO + Duration::from_secs(60)));
        assert!(!PendingFastOpens::default().has_room(Instant::ZERO), "without Fast Open");
    }

    #[test]
    fn pauses_double() {
        let mut host = FastOpenSettings::new([0; 16]);
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        host.note_black_hole(at(0));
        assert!(!host.pause.is_on(at(0)), "none by default");
        assert_eq!(host.set("tcp_fastopen_blackhole_timeout_sec", "10"), Some(true));
        host.note_black_hole(at(0));
        assert!(host.pause.is_on(at(9)) && !host.pause.is_on(at(10)));
        host.note_black_hole(at(10));
        assert!(host.pause.is_on(at(29)) && !host.pause.is_on(at(30)));
    }
}
