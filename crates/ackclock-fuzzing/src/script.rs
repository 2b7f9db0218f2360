//! Any bytes as a script, and scripts made of lines that are mostly valid.

use std::fmt::Write as _;
use std::sync::LazyLock;

use ackclock_policy::Registry;
use ackclock_script::{DIALECTS, EngineHost, parse, run};

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// The stacks that scripts are run with, beside those of the dialects.
const STACKS: &[Option<&str>] =
    &[None, Some("tahoe"), Some("newreno+no-sack"), Some("cubic+rack+accecn"), Some("fack+ecn+eifel")];

/// Any bytes as a script. One that parses is run, by each dialect.
pub fn script(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    (0..DIALECTS.len()).for_each(|dialect| play(&text, dialect));
}

/// Lines chosen by the bytes, with numbers from them, as a script that is run.
pub fn script_lines(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let mut text = String::from(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = ...\n+0 bind(3, ..., ...) = ...\n+0 listen(3, 2) = ...\n\
         +0 < S 0:0(0) win 32792 <mss 1000,sackOK,TS val 9 ecr 0,nop,wscale 7>\n* > S. 0:0(0) ack 1 <...>\n\
         +.1 < . 1:1(0) ack 1 win 320 <nop,nop,TS val 10 ecr 1>\n+0 accept(3, ..., ...) = ...\n",
    );
    for chunk in rest.chunks(4).take(400) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let (ms, seq, ack) = (at(1) * at(1), 1 + at(2) * 100, 1 + at(3) * 500);
        let line = match at(0) % 24 {
            0 | 1 => format!("write(4, ..., {}) = ...", at(1) * at(2)),
            2 => format!("read(4, ..., {}) = ...", at(1) * 100),
            3..=5 => format!("< . {seq}:{seq}(0) ack {ack} win {}", at(1) * 257),
            6 | 7 => format!("< P. {seq}:{}({}) ack {ack} win 320", seq + at(1), at(1)),
            8 | 9 => {
                format!("< . 1:1(0) ack {ack} win 320 <nop,nop,sack {}:{}>", ack + at(1), ack + at(1) + 1000)
            }
            10 => format!("< F. {seq}:{seq}(0) ack {ack} win 320"),
            11 => format!("< R {seq}:{seq}(0)"),
            12 => format!("< S {seq}:{seq}(0) win 1000 <mss {}>", at(1) * 10),
            13 => format!("< [ce] SEW {seq}:{}({}) win 0", seq + at(2), at(2)),
            14 => format!("< icmp unreachable frag_needed mtu {} [{ack}:{}(8)]", at(1) * 8, ack + 8),
            15 => format!("< icmp unreachable host_unreachable [{ack}:{}(8)]", ack + 8),
            16 => format!("shutdown(4, {}) = ...", at(1) % 4),
            17 => format!("close({}) = ...", 3 + at(1) % 3),
            18 => format!(
                "setsockopt(4, {}, {}, [{}], 4) = ...",
                1 + 5 * (at(1) % 2),
                at(2) % 32,
                at(3) * at(3)
            ),
            19 => "socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 5".to_owned(),
            20 => "connect(5, ..., ...) = ...".to_owned(),
            21 => format!("< S. 0:0(0) ack 1 win {} <mss 1460,nop,wscale {}>", at(1) * 100, at(2)),
            22 => format!("%{{ assert tcpi_snd_cwnd >= {} or True, tcpi_rtt }}%", at(1)),
            _ => format!("poll([{{fd=4, events=POLLIN|POLLOUT, revents=...}}], 1, {}) = ...", at(1)),
        };
        let _ = writeln!(text, "+{}.{:03} {line}", ms / 1000, ms % 1000);
    }
    play(&text, usize::from(*first));
}

fn play(text: &str, choice: usize) {
    let (_, dialect) = DIALECTS[choice % DIALECTS.len()];
    let Ok(script) = parse("fuzz.pkt", text, &dialect.defines()) else { return };
    let stack = STACKS[choice / DIALECTS.len() % STACKS.len()];
    let Ok(mut host) = EngineHost::new(&REGISTRY, dialect, stack, 1) else { panic!("stack {stack:?}") };
    let first = run(&script, &mut host, None, &|_| None);
    let Ok(mut host) = EngineHost::new(&REGISTRY, dialect, stack, 1) else { return };
    // The same script goes the same way.
    assert_eq!(first, run(&script, &mut host, None, &|_| None));
}
