//! The kernel's trace events of retransmissions, with the calling function.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A retransmitted segment.
#[derive(Clone, Debug)]
pub struct Event {
    /// Monotonic time, ns.
    pub at: u64,
    /// The cause: `rto`, `tlp`, `synack-rto`, `synack` or `acks`.
    pub why: &'static str,
    /// The state of congestion control: 3 is a recovery, 4 one from a timeout.
    pub state: u32,
    pub from: String,
    pub to: String,
}

/// A separate instance of the tracing system, removed when dropped.
pub struct Trace {
    folder: PathBuf,
    stop: Arc<AtomicBool>,
    events: Arc<Mutex<Vec<Event>>>,
    reader: Option<JoinHandle<()>>,
}

const EVENTS: [&str; 3] = ["tcp_retransmit_skb", "tcp_retransmit_synack", STATE];
/// States of congestion control, which identify a retransmission whose stack trace is missing, as happens
/// when an idle processor was woken.
const STATE: &str = "tcp_cong_state_set";
const RECOVERY: u32 = 3;
const LOSS: u32 = 4;
/// Largest time between entering the Loss state at a timeout and the retransmission, s.
const AT_ONCE: f64 = 200e-6;

impl Trace {
    pub fn start() -> std::io::Result<Self> {
        let folder =
            Path::new("/sys/kernel/tracing/instances").join(format!("ackclock-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let set = |file: &str, value: &str| fs::write(folder.join(file), value);
        set("trace_clock", "mono")?;
        set("buffer_size_kb", "4096")?;
        for event in EVENTS {
            if event != STATE {
                set(&format!("events/tcp/{event}/trigger"), "stacktrace")?;
            }
            set(&format!("events/tcp/{event}/enable"), "1")?;
        }
        let (stop, events) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let pipe = BufReader::new(fs::File::open(folder.join("trace_pipe"))?);
        let shared = (stop.clone(), events.clone());
        let reader = std::thread::spawn(move || read(pipe, &shared.0, &shared.1));
        Ok(Self { folder, stop, events, reader: Some(reader) })
    }

    /// The events of connections within a network (`10.3.`).
    pub fn of(&self, network: &str) -> Vec<Event> {
        let events = self.events.lock().unwrap_or_else(|e| e.into_inner());
        events.iter().filter(|e| e.from.starts_with(network)).cloned().collect()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A marker wakes the reader.
        let _ = fs::write(self.folder.join("trace_marker"), "over");
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        for event in EVENTS {
            let _ = fs::write(self.folder.join(format!("events/tcp/{event}/enable")), "0");
            let _ = fs::write(self.folder.join(format!("events/tcp/{event}/trigger")), "!stacktrace");
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

fn read(pipe: impl BufRead, stop: &AtomicBool, events: &Mutex<Vec<Event>>) {
    // The latest event of each processor, which its stack trace follows.
    let mut latest = [None; 256];
    // The state of each socket, with time and processor of its last change.
    let mut states: HashMap<(String, String), (u32, f64, usize)> = HashMap::new();
    let mut cpu = 0;
    for line in pipe.lines().map_while(Result::ok) {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(function) = line.strip_prefix(" => ") {
            let mut events = events.lock().unwrap_or_else(|e| e.into_inner());
            let Some(e) = latest[cpu].and_then(|i: usize| events.get_mut(i)) else { continue };
            e.why = match function.trim() {
                "tcp_send_loss_probe" => "tlp",
                "tcp_retransmit_timer" => "rto",
                "reqsk_timer_handler" => "synack-rto",
                // The first line of every stack trace.
                "trace_event_raw_event_tcp_retransmit_skb" => "acks",
                "trace_event_raw_event_tcp_retransmit_synack" => "synack",
                _ => e.why,
            };
            continue;
        }
        let Some((n, rest)) = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')) else {
            continue;
        };
        cpu = n.trim().parse::<usize>().unwrap_or(0).min(255);
        if rest.contains("<stack trace>") {
            continue;
        }
        let field = |name: &str| {
            rest.split(&format!(" {name}=")).nth(1).and_then(|r| r.split_whitespace().next()).unwrap_or("")
        };
        let at = rest
            .split_whitespace()
            .nth(1)
            .and_then(|t| t.trim_end_matches(':').parse::<f64>().ok())
            .unwrap_or(0.0);
        let (from, to) = (
            format!("{}:{}", field("saddr"), field("sport")),
            format!("{}:{}", field("daddr"), field("dport")),
        );
        let socket = (from.clone(), to.clone());
        if rest.contains(STATE) {
            states.insert(socket, (field("cong_state").parse().unwrap_or(0), at, cpu));
            continue;
        }
        // Without a stack trace the cause is a timer: outside of a recovery a probe's, and in one RACK's.
        let why = match states.get(&socket) {
            _ if rest.contains("tcp_retransmit_synack") => "synack-rto",
            Some((LOSS, since, there)) if *there == cpu && at - since < AT_ONCE => "rto",
            Some((RECOVERY | LOSS, ..)) => "acks",
            _ => "tlp",
        };
        let state = states.get(&socket).map_or(0, |s| s.0);
        let e = Event { at: (at * 1e9) as u64, why, state, from, to };
        let failed = !matches!(field("err"), "" | "0");
        let mut events = events.lock().unwrap_or_else(|e| e.into_inner());
        latest[cpu] = (!failed).then_some(events.len());
        if !failed {
            events.push(e);
        }
    }
}
