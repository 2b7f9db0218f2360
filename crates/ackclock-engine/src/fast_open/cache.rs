//! What a client remembers of servers.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ackclock_wire::FastOpen;

use super::FastOpenReport;

/// So many servers are remembered; a further one replaces the one that was learnt first.
const MOST: usize = 1024;

/// What a client remembers of a server (RFC 7413 §4.1.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CachedServer {
    /// The largest segment that it takes, bytes without options; 0 where that is not known.
    pub mss: u32,
    /// Its cookie.
    pub cookie: Option<FastOpen>,
    form: Form,
    learnt: u64,
}

/// In which form a cookie is requested. A server that does not know the option's number may know the
/// experiment's, so that is tried once, as Linux does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
enum Form {
    #[default]
    Assigned,
    Experimental,
    AssignedAgain,
}

/// The servers that a client remembers, by their addresses.
#[derive(Clone, Debug, Default)]
pub struct FastOpenCache {
    servers: BTreeMap<IpAddr, CachedServer>,
    /// How many were learnt so far.
    learnt: u64,
}

impl FastOpenCache {
    /// What is known of a server.
    pub fn server(&self, address: IpAddr) -> Option<&CachedServer> {
        self.servers.get(&address)
    }

    /// The option for the SYN to a server: its cookie, or the request for one.
    pub fn option(&self, address: IpAddr) -> FastOpen {
        let server = self.servers.get(&address).copied().unwrap_or_default();
        let experimental = server.form == Form::Experimental;
        server.cookie.unwrap_or_else(|| {
            let mut request = FastOpen::REQUEST;
            request.experimental = experimental;
            request
        })
    }

    /// A server has acknowledged our SYN, announcing `mss` bytes and with `answer` among its options (RFC
    /// 7413 §4.1.3). What it answers to a SYN without the option was not asked for, and is ignored.
    pub fn learn(&mut self, address: IpAddr, mss: u32, answer: Option<FastOpen>, attempt: &FastOpenReport) {
        if !self.servers.contains_key(&address) && self.servers.len() >= MOST {
            let oldest = self.servers.iter().min_by_key(|(_, server)| server.learnt).map(|(at, _)| *at);
            oldest.and_then(|oldest| self.servers.remove(&oldest));
        }
        self.learnt += 1;
        let learnt = self.learnt;
        let server = self.servers.entry(address).or_default();
        (server.mss, server.learnt) = (mss, learnt);
        match (attempt.option, answer) {
            (Some(_), Some(cookie)) if !cookie.is_request() => server.cookie = Some(cookie),
            (Some(ours), None) if attempt.sent == 0 && !attempt.repeated && server.cookie.is_none() => {
                // A request was not answered.
                let next = if ours.experimental { Form::AssignedAgain } else { Form::Experimental };
                server.form = server.form.max(next);
            }
            _ => {}
        }
    }

    /// Forgets all servers.
    pub fn clear(&mut self) {
        self.servers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(option: Option<FastOpen>) -> FastOpenReport {
        FastOpenReport { option, sent: 0, repeated: false, text_taken: false, accepted: false }
    }

    fn server(n: u32) -> IpAddr {
        IpAddr::from((10 << 24 | n).to_be_bytes())
    }

    #[test]
    fn the_experimental_form_is_tried_once() {
        let mut cache = FastOpenCache::default();
        let mut forms = Vec::new();
        for _ in 0..4 {
            let option = cache.option(server(1));
            forms.push(option.experimental);
            cache.learn(server(1), 1460, None, &attempt(Some(option)));
        }
        assert_eq!(forms, [false, true, false, false]);
    }

    #[test]
    fn a_cookie_nobody_asked_for_is_ignored() {
        let mut cache = FastOpenCache::default();
        let cookie = FastOpen::new(&[1; 8], false);
        cache.learn(server(1), 1000, cookie, &attempt(None));
        assert_eq!(
            (cache.option(server(1)), cache.server(server(1)).unwrap().mss),
            (FastOpen::REQUEST, 1000)
        );
        cache.learn(server(1), 900, cookie, &attempt(Some(FastOpen::REQUEST)));
        assert_eq!(Some(cache.option(server(1))), cookie);
        // One that says nothing leaves it.
        cache.learn(server(1), 900, None, &attempt(cookie));
        assert_eq!(Some(cache.option(server(1))), cookie);
    }

    #[test]
    fn no_more_servers_are_kept_than_there_is_room_for() {
        let mut cache = FastOpenCache::default();
        for n in 0..MOST as u32 + 10 {
            cache.learn(server(n), 1460, None, &attempt(None));
        }
        assert_eq!(cache.servers.len(), MOST);
        assert!(cache.server(server(9)).is_none() && cache.server(server(10)).is_some());
    }
}
