//! Path, stack and output of the two benchmark runs; `bench/README.md` describes them.

use std::sync::Arc;

use ackclock_engine::{Config, Policies, Stack};
use ackclock_policy::{Application, Chosen, QueueDiscipline, Registry};
use ackclock_sim::{Access, LinkSpec, Network, NetworkBuilder, NodeId, Simulation, StackFactory};
use ackclock_units::{Bytes, Duration, Instant, Rate};

use crate::measure::{cpu_ns, memory_kb};

/// The seven arguments common to all simulators, and three for this one.
pub struct Arguments {
    /// Number of flows, or file of arrivals.
    pub first: String,
    pub rate: Rate,
    pub seconds: f64,
    pub queue: u64,
    pub window: Bytes,
    pub min_rtt_ms: f64,
    pub max_rtt_ms: f64,
    /// Different round-trip times; bulk flows only.
    #[allow(dead_code)]
    pub classes: u64,
    /// The congestion window, and `+paced` if it is paced as Linux's TCP does it; or a preset of Linux.
    pub control: String,
    /// The bottleneck's queue, and its parameters: `codel,target=1h`.
    pub discipline: String,
}

impl Arguments {
    pub fn read(name: &str, first: &str) -> Self {
        let all: Vec<String> = std::env::args().skip(1).collect();
        let usage = || -> ! {
            eprintln!(
                "usage: {name} {first} RATE_BIT_PER_S SECONDS QUEUE_PACKETS WINDOW_BYTES MIN_RTT_MS \
                 MAX_RTT_MS [CLASSES] [WINDOW[+paced]] [queue=QUEUE[,KEY=VALUE]]"
            );
            std::process::exit(2)
        };
        let [first, rest @ ..] = all.as_slice() else { usage() };
        let (queues, words): (Vec<&str>, Vec<&str>) = rest
            .iter()
            .map(String::as_str)
            .filter(|a| a.parse::<f64>().is_err())
            .partition(|a| a.starts_with("queue="));
        let control = words.first().copied().unwrap_or("reno");
        let discipline = queues.first().map_or("drop-tail", |a| a.trim_start_matches("queue="));
        let numbers: Vec<f64> = rest.iter().filter_map(|a| a.parse().ok()).collect();
        let [rate, seconds, queue, window, min_rtt_ms, max_rtt_ms, ref classes @ ..] = numbers[..] else {
            usage()
        };
        let rate = Rate::from_bits_per_sec(rate as u64);
        let classes = classes.first().map_or(20, |n| *n as u64).max(1);
        Self {
            first: first.clone(),
            rate,
            seconds,
            queue: queue as u64,
            window: window as u64,
            min_rtt_ms,
            max_rtt_ms,
            classes,
            control: control.to_owned(),
            discipline: discipline.to_owned(),
        }
    }

    /// Access delays of a class of round-trip times, which add to the delays of [`dumbbell`].
    pub fn access(&self, class: u64, classes: u64) -> Access {
        let share = if classes > 1 { class as f64 / (classes - 1) as f64 } else { 0.5 };
        let rtt =
            Duration::from_secs_f64((self.min_rtt_ms + (self.max_rtt_ms - self.min_rtt_ms) * share) / 1e3);
        Access::in_last_hops(rtt - Duration::from_millis(2))
    }
}

/// A bottleneck of 1 ms each way; the way back has no limit on its queue.
pub fn dumbbell(a: &Arguments) -> (Network, NodeId, NodeId) {
    let mut net = NetworkBuilder::new();
    let names = "the names differ";
    let (left, right) = (net.node("left").expect(names), net.node("right").expect(names));
    let mut words = a.discipline.split(',');
    let mut queue: Chosen<dyn QueueDiscipline> = choose(words.next().unwrap_or_default());
    queue.set("limit", &format!("{}packets", a.queue)).expect("a valid limit");
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        queue.set(key, value).expect("a parameter of the queue, and a valid value");
    }
    let delay = Duration::from_millis(1);
    let back = LinkSpec { rate: Some(a.rate), delay, ..LinkSpec::default() };
    net.duplex("bottleneck", left, right, LinkSpec::new(a.rate, delay, queue.build()), back).expect(names);
    (net.build(), left, right)
}

fn choose<T: ackclock_policy::Role + ?Sized>(name: &str) -> Chosen<T> {
    Registry::builtin().choose(name).expect("a built-in policy")
}

pub fn application(name: &str) -> Chosen<dyn Application> {
    choose(name)
}

/// SACK, delayed acks, 1000-byte segments, smallest timeout 200 ms.
pub struct Tcp {
    config: Arc<Config>,
    stack: Stack,
}

impl Tcp {
    /// With a preset of Linux for `control` that stack with its options, in segments of 1000 bytes.
    pub fn new(window: Bytes, control: &str) -> Arc<Self> {
        let named = |name: &str| Stack::named(&Registry::builtin(), name).expect("a known stack");
        if control.starts_with("linux") {
            let stack = named(control);
            let config = Config { mss: 1000, rcv_buf: window, ..stack.config() };
            return Arc::new(Self { config: Arc::new(config), stack });
        }
        let config = Config {
            mss: 1000,
            rcv_buf: window,
            snd_buf: 1 << 30,
            time_wait: Duration::from_secs(1),
            ..Config::default()
        };
        let mut stack = named("sack");
        let (control, paced) = control.split_once('+').unwrap_or((control, ""));
        for (key, value) in [("estimator.min_rto", "200ms"), ("window", control)] {
            stack.set(key, value).expect("a known key");
        }
        if paced == "paced" {
            stack.set("window.paced", "true").expect("a window that can be paced");
        }
        Arc::new(Self { config: Arc::new(config), stack })
    }
}

impl std::fmt::Debug for Tcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sack")
    }
}

impl StackFactory for Tcp {
    fn label(&self) -> Arc<str> {
        "sack".into()
    }

    fn config(&self) -> Arc<Config> {
        self.config.clone()
    }

    fn policies(&self) -> Policies {
        self.stack.build()
    }
}

/// Runs the simulation and prints the line of JSON. `began` is the CPU time when set-up began.
pub fn measured(mut sim: Simulation, a: &Arguments, began: u64, before_kb: u64) {
    let ready = cpu_ns();
    let wall = std::time::Instant::now();
    if let Err(error) = sim.run_until(Instant::ZERO + Duration::from_secs_f64(a.seconds)) {
        eprintln!("{error}");
        std::process::exit(1);
    }
    let (cpu, wall) = (cpu_ns() - ready, wall.elapsed());
    // MeasuredSpan before the table rows are built: memory of the active flows.
    let (end_kb, anon_kb, peak_kb) = (memory_kb("VmRSS"), memory_kb("RssAnon"), memory_kb("VmHWM"));
    let progress = sim.progress();
    let outcome = match sim.finish() {
        Ok(outcome) => outcome,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    };
    let link = &outcome.links[0];
    let (packets, utilisation) = (link.data_packets, link.utilisation.unwrap_or(0.0));
    let timeouts: u64 = outcome.flows.iter().map(|f| u64::from(f.timeouts)).sum();
    let per_connection = cpu as f64 / 1e3 / progress.flows_started.max(1) as f64;
    println!(
        "{{\"packets\": {packets}, \"drops\": {}, \"cpu_s\": {:.6}, \"wall_s\": {:.6}, \"setup_s\": {:.6}, \
         \"ns_per_packet\": {:.1}, \"us_per_connection\": {per_connection:.2}, \"events\": {}, \
         \"events_per_packet\": {:.3}, \"connections\": {}, \"finished\": {}, \"timeouts\": {timeouts}, \
         \"utilisation\": {utilisation:.4}, \"before_kb\": {before_kb}, \"end_kb\": {end_kb}, \"anon_kb\": \
         {anon_kb}, \"peak_kb\": {peak_kb}}}",
        link.dropped_queue,
        cpu as f64 / 1e9,
        wall.as_secs_f64(),
        (ready - began) as f64 / 1e9,
        cpu as f64 / packets.max(1) as f64,
        outcome.processed,
        outcome.processed as f64 / packets.max(1) as f64,
        progress.flows_started,
        progress.flows_ended,
    );
}
