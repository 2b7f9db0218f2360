//! What settings of Linux become in a stack.

use ackclock_engine::Stack;

use crate::dialect::Dialect;
use crate::host::Setting;

/// What a setting of Linux's `net.ipv4` becomes in a stack.
enum Meaning {
    /// A flag of the stack: on where the value is not 0.
    Flag(&'static str),
    /// The number at that place, or the last.
    Number(&'static str, usize),
    /// Bytes, at that place among its numbers.
    Bytes(&'static str, usize),
    /// Seconds.
    Seconds(&'static str),
    /// The receive buffer, and the shift that lets it grow to its largest size.
    ReceiveBuffer,
    /// Whether marks are echoed as RFC 3168 or RFC 9768 has it.
    Ecn,
    /// A word.
    Word(&'static str),
    /// One word where the value is 0, another elsewhere.
    Choice(&'static str, &'static str, &'static str),
    /// A span in microseconds.
    Micros(&'static str),
    /// A span in nanoseconds.
    Nanos(&'static str),
    /// Settled by what is built: no value changes anything.
    Fixed,
}

const SETTINGS: &[(&str, Meaning)] = &[
    ("tcp_timestamps", Meaning::Flag("timestamps")),
    ("tcp_sack", Meaning::Flag("sack")),
    ("tcp_window_scaling", Meaning::Flag("window_scaling")),
    ("tcp_ecn", Meaning::Ecn),
    ("tcp_slow_start_after_idle", Meaning::Flag("idle_restart")),
    ("tcp_syn_retries", Meaning::Number("syn_retries", 0)),
    ("tcp_syn_linear_timeouts", Meaning::Number("backoff.syn_linear", 0)),
    ("tcp_synack_retries", Meaning::Number("syn_retries", 0)),
    ("tcp_rmem", Meaning::ReceiveBuffer),
    ("tcp_wmem", Meaning::Bytes("snd_buf", 1)),
    // RFC 8985, and RFC 6675's counting where it is off.
    ("tcp_recovery", Meaning::Choice("recovery", "sack", "rack")),
    ("tcp_early_retrans", Meaning::Flag("recovery.tlp")),
    ("tcp_reordering", Meaning::Number("recovery.dup_thresh", 0)),
    ("tcp_frto", Meaning::Flag("undo.f_rto")),
    ("tcp_rto_min_us", Meaning::Micros("estimator.variation_floor")),
    ("tcp_congestion_control", Meaning::Word("window")),
    ("tcp_keepalive_intvl", Meaning::Seconds("keepalive_interval")),
    ("tcp_keepalive_probes", Meaning::Number("keepalive_probes", 0)),
    ("tcp_pingpong_thresh", Meaning::Number("ack.pingpong_thresh", 0)),
    ("tcp_comp_sack_nr", Meaning::Number("ack.comp_sack_segs", 0)),
    ("tcp_comp_sack_delay_ns", Meaning::Nanos("ack.comp_sack_delay")),
    ("tcp_no_metrics_save", Meaning::Fixed),
    ("tcp_moderate_rcvbuf", Meaning::Fixed),
    ("tcp_dsack", Meaning::Fixed),
    ("tcp_fack", Meaning::Fixed),
    ("tcp_tso_win_divisor", Meaning::Fixed),
    // Kept by the host.
    ("tcp_min_tso_segs", Meaning::Fixed),
    ("tcp_pacing_ss_ratio", Meaning::Fixed),
    ("tcp_pacing_ca_ratio", Meaning::Fixed),
    ("tcp_syncookies", Meaning::Fixed),
];

/// Settings of the host rather than of its stack.
const OF_THE_HOST: [&str; 5] = [
    "tcp_keepalive_time",
    "tcp_notsent_lowat",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_fastopen_blackhole_timeout_sec",
];

/// The names of the settings under `net.ipv4` that a host knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|(name, _)| *name).chain(OF_THE_HOST)
}

/// Sets `net.ipv4.NAME`.
pub(super) fn set(stack: &mut Stack, dialect: Dialect, name: &str, value: &str) -> Setting {
    let Some((_, meaning)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
        return Setting::Unknown;
    };
    let number = |at: usize| value.split_whitespace().nth(at).or(value.split_whitespace().last());
    let (key, value_of) = match meaning {
        Meaning::Flag(key) => (*key, (number(0) != Some("0")).to_string()),
        Meaning::Number(key, at) => (*key, number(*at).unwrap_or_default().to_owned()),
        Meaning::Bytes(key, at) => (*key, format!("{}B", number(*at).unwrap_or_default())),
        Meaning::Seconds(key) => (*key, format!("{value}s")),
        Meaning::Word(key) => (*key, dialect.window(value).to_owned()),
        Meaning::Choice(key, off, on) => (*key, if number(0) == Some("0") { off } else { on }.to_string()),
        Meaning::Micros(key) => (*key, format!("{value}us")),
        Meaning::Nanos(key) => (*key, format!("{value}ns")),
        Meaning::ReceiveBuffer => {
            let most: u64 = number(2).and_then(|n| n.parse().ok()).unwrap_or(0);
            let shift = (0..14).find(|s| most >> s <= 65_535).unwrap_or(14);
            if stack.set("window_shift", &shift.to_string()).is_err() {
                return Setting::Refused;
            }
            ("rcv_buf", format!("{}B", number(1).unwrap_or_default()))
        }
        Meaning::Ecn => {
            // From 3 on Linux offers accurate feedback, and takes it.
            let feedback = if number(0).is_some_and(|n| n >= "3") { "accurate" } else { "rfc3168" };
            if stack.set("ecn_feedback", feedback).is_err() {
                return Setting::Refused;
            }
            ("ecn", (number(0) != Some("0")).to_string())
        }
        Meaning::Fixed => return Setting::Done,
    };
    // A policy that is there already keeps its parameters.
    if matches!(meaning, Meaning::Choice(..) | Meaning::Word(_))
        && stack.entries().iter().any(|(known, value)| known == key && *value == value_of)
    {
        return Setting::Done;
    }
    if stack.set(key, &value_of).is_ok() {
        for (key, value) in dialect.goes_with(key, &value_of) {
            // A window may lack a parameter.
            let _ = stack.set(key, value);
        }
        Setting::Done
    } else if key.contains('.') && !stack.entries().iter().any(|(known, _)| known == key) {
        // A parameter that the policies of this stack do not have.
        Setting::Unknown
    } else {
        Setting::Refused
    }
}
