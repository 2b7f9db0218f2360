//! What varies between captures: the kernel's parameters, the path and its faults, and the applications.

use ackclock_units::Rng;

/// One request and its response. Bytes and milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    pub request: u32,
    pub server_thinks: u32,
    pub response: u32,
    pub client_thinks: u32,
}

/// A time in which packets of one direction are lost or delayed, ms from the start.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    pub from: u32,
    pub lasts: u32,
}

/// One direction of the path.
#[derive(Clone, Debug, Default)]
pub struct Way {
    pub loss: f64,
    pub reorder: f64,
    pub held_ms: u32,
    pub duplicate: f64,
    pub outages: Vec<Stretch>,
    pub spikes: Vec<Stretch>,
}

/// One capture to make.
#[derive(Clone, Debug)]
pub struct Plan {
    pub sysctls: Vec<(&'static str, &'static str)>,
    pub mtu: u16,
    /// The sender's device does segmentation offload, so that frames hold several segments.
    pub offload: bool,
    pub rtt_ms: u32,
    pub mbit: Option<f64>,
    pub queue: u32,
    pub ways: [Way; 2],
    pub talk: &'static str,
    pub connections: u32,
    /// Connections at the same time.
    pub together: u32,
    pub exchanges: Vec<Exchange>,
    /// Both sides write all the time.
    pub both_ways: bool,
    /// Duration of the applications, s.
    pub lasts: u32,
}

/// The same for nearly all plans, s.
const LASTS: u32 = 14;

impl Plan {
    /// Transfers of some seconds that the sender's own window limits most of the time.
    pub fn long(seed: u64, index: u64) -> Self {
        let mut rng = Rng::stream(seed, "long kernel captures", index);
        let rng = &mut rng;
        let cc = ["cubic", "reno", "bbr"][rng.below(3) as usize];
        let mut sysctls = vec![("net.ipv4.tcp_congestion_control", cc)];
        if rng.chance(0.8) {
            let least = *pick(rng, &["20000", "52000", "100000", "120000", "160000", "300000", "400000"]);
            sysctls.push(("net.ipv4.tcp_rto_min_us", least));
        }
        for (key, value) in [
            ("net.ipv4.tcp_early_retrans", "0"),
            ("net.ipv4.tcp_recovery", "0"),
            ("net.ipv4.tcp_sack", "0"),
            ("net.ipv4.tcp_timestamps", "0"),
        ] {
            if rng.chance(0.08) {
                sysctls.push((key, value));
            }
        }
        let rtt_ms = *pick(rng, &[10, 20, 40, 80, 150]);
        let mbit = *pick(rng, &[2.0, 5.0, 10.0, 20.0]);
        let mut forth = Way { loss: *pick(rng, &[0.0, 0.001, 0.005, 0.02, 0.05]), ..Way::default() };
        let stretch = |rng: &mut Rng, least: u32, most: u64| Stretch {
            from: 1000 + rng.below(9000) as u32,
            lasts: least + rng.below(most) as u32,
        };
        for _ in 0..rng.below(4) {
            forth.outages.push(stretch(rng, 100, 700));
        }
        if rng.chance(0.3) {
            (forth.reorder, forth.held_ms) = (0.005 + 0.02 * rng.unit(), 1 + rng.below(12) as u32);
        }
        for _ in 0..rng.below(3) {
            forth.spikes.push(stretch(rng, 80, 400));
        }
        let back = Way { loss: *pick(rng, &[0.0, 0.0, 0.01]), ..Way::default() };
        let request = (9.0 * mbit * 125_000.0) as u32;
        Self {
            sysctls,
            mtu: 1500,
            offload: false,
            rtt_ms,
            mbit: Some(mbit),
            queue: *pick(rng, &[15, 40, 100]),
            ways: [forth, back],
            talk: "bulk",
            connections: 1,
            together: 1,
            exchanges: vec![Exchange { request, server_thinks: 0, response: 0, client_thinks: 0 }],
            both_ways: false,
            lasts: LASTS,
        }
    }

    /// Transfers of half a minute by a sender to be named: its window limits it, and half of them have an outage.
    pub fn half_minute(seed: u64, index: u64) -> Self {
        let mut rng = Rng::stream(seed, "half a minute", index);
        let rng = &mut rng;
        let cc = ["cubic", "reno", "bbr"][(index % 3) as usize];
        let mut sysctls = vec![("net.ipv4.tcp_congestion_control", cc)];
        if rng.chance(0.7) {
            let least = *pick(rng, &["52000", "100000", "120000", "160000", "300000", "400000"]);
            sysctls.push(("net.ipv4.tcp_rto_min_us", least));
        }
        let rtt_ms = *pick(rng, &[10, 20, 40, 80, 120, 200]);
        let mbit = *pick(rng, &[2.0, 5.0, 10.0, 20.0, 40.0, 80.0]);
        let bdp = mbit * 1e3 * f64::from(rtt_ms) / 8.0 / 1500.0;
        let queue = (bdp * *pick(rng, &[0.3, 0.5, 1.0, 2.0, 5.0])).max(5.0) as u32;
        let mut forth = Way { loss: *pick(rng, &[0.0, 0.001, 0.005, 0.02]), ..Way::default() };
        if rng.chance(0.5) {
            forth.outages.push(Stretch { from: 5000 + rng.below(15_000) as u32, lasts: 600 });
        }
        let lasts = 30;
        let request = (f64::from(lasts) * mbit * 125_000.0) as u32;
        Self {
            sysctls,
            mtu: 1500,
            offload: false,
            rtt_ms,
            mbit: Some(mbit),
            queue,
            ways: [forth, Way::default()],
            talk: "bulk",
            connections: 1,
            together: 1,
            exchanges: vec![Exchange { request, server_thinks: 0, response: 0, client_thinks: 0 }],
            both_ways: false,
            lasts,
        }
    }

    pub fn random(seed: u64, index: u64) -> Self {
        let mut rng = Rng::stream(seed, "kernel captures", index);
        let rng = &mut rng;
        let mut sysctls = Vec::new();
        let mut maybe = |rng: &mut Rng, p: f64, key, value| {
            if rng.chance(p) {
                sysctls.push((key, value));
            }
        };
        let cc = ["cubic", "cubic", "reno", "bbr"][rng.below(4) as usize];
        maybe(rng, 0.25, "net.ipv4.tcp_early_retrans", "0");
        maybe(rng, 0.2, "net.ipv4.tcp_recovery", "0");
        maybe(rng, 0.2, "net.ipv4.tcp_sack", "0");
        maybe(rng, 0.25, "net.ipv4.tcp_timestamps", "0");
        maybe(rng, 0.2, "net.ipv4.tcp_frto", "0");
        maybe(rng, 0.15, "net.ipv4.tcp_thin_linear_timeouts", "1");
        sysctls.push(("net.ipv4.tcp_congestion_control", cc));
        let rtt_ms = *pick(rng, &[1, 4, 10, 20, 40, 80, 150, 300, 500]);
        let mbit = *pick(rng, &[None, None, Some(1.0), Some(5.0), Some(20.0), Some(50.0)]);
        let mtu = *pick(rng, &[1500, 1500, 1500, 576, 9000]);
        let loss = *pick(rng, &[0.0, 0.001, 0.005, 0.02, 0.05, 0.1, 0.3]);
        let talk = *pick(rng, &["bulk", "dialogue", "bursts", "both ways", "many", "download", "requests"]);
        let way = |rng: &mut Rng, loss: f64| {
            let mut w = Way { loss, ..Way::default() };
            if rng.chance(0.2) {
                (w.reorder, w.held_ms) =
                    (0.01 + 0.05 * rng.unit(), 1 + rng.below(u64::from(rtt_ms / 2 + 4)) as u32);
            }
            if rng.chance(0.1) {
                w.duplicate = 0.03;
            }
            let stretch = |rng: &mut Rng, most: u64| Stretch {
                from: 300 + rng.below(3000) as u32,
                lasts: 100 + rng.below(most) as u32,
            };
            for _ in 0..if rng.chance(0.25) { 1 + rng.below(2) } else { 0 } {
                w.outages.push(stretch(rng, 1500));
            }
            for _ in 0..if rng.chance(0.3) { 1 + rng.below(3) } else { 0 } {
                w.spikes.push(stretch(rng, 900));
            }
            w
        };
        let back_loss = if rng.chance(0.3) { loss } else { 0.0 };
        let ways = [way(rng, loss), way(rng, back_loss)];
        // What such a path carries in about four seconds.
        let mss = f64::from(mtu) - 52.0;
        let by_loss = mss / (f64::from(rtt_ms) / 1e3) * if loss > 0.0 { 1.2 / loss.sqrt() } else { 200.0 };
        let bytes = (4.0 * by_loss.min(mbit.unwrap_or(8.0) * 125_000.0)).clamp(15_000.0, 1_500_000.0) as u32;
        let quiet = Exchange { request: 100, server_thinks: 0, response: 0, client_thinks: 0 };
        let ms =
            |rng: &mut Rng, p: f64, most: u64| if rng.chance(p) { 20 + rng.below(most) as u32 } else { 0 };
        let size = |rng: &mut Rng, least: u32, most: u64| {
            least + (f64::from(most as u32) * rng.unit().powi(3)) as u32
        };
        let exchanges = match talk {
            "bulk" => vec![Exchange { request: bytes, ..quiet }],
            "download" => vec![Exchange { response: bytes, ..quiet }],
            "both ways" => vec![Exchange { request: bytes / 2, response: bytes / 2, ..quiet }],
            "dialogue" => (0..25)
                .map(|_| Exchange {
                    response: 100 + rng.below(800) as u32,
                    server_thinks: ms(rng, 0.2, 500),
                    ..quiet
                })
                .collect(),
            "bursts" => (0..8)
                .map(|_| Exchange {
                    request: size(rng, 200, 60_000),
                    client_thinks: ms(rng, 0.9, 800),
                    ..quiet
                })
                .collect(),
            "requests" => (0..8)
                .map(|_| Exchange {
                    response: size(rng, 200, 100_000),
                    server_thinks: ms(rng, 0.4, 700),
                    client_thinks: ms(rng, 0.5, 600),
                    ..quiet
                })
                .collect(),
            _ => vec![Exchange {
                request: 300,
                server_thinks: ms(rng, 0.3, 300),
                response: size(rng, 500, 60_000),
                client_thinks: 0,
            }],
        };
        let (connections, together) = if talk == "many" { (60 + rng.below(60) as u32, 10) } else { (1, 1) };
        let queue = *pick(rng, &[20, 60, 200]);
        Self {
            sysctls,
            mtu,
            offload: rng.chance(0.25),
            rtt_ms,
            mbit,
            queue,
            ways,
            talk,
            connections,
            together,
            exchanges,
            both_ways: talk == "both ways",
            lasts: LASTS,
        }
    }
}

fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.below(from.len() as u64) as usize]
}
