//! Runs tcptrace on a capture.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use ackclock_capture::read::{Packets, open};

/// Directions of connections with their number of retransmitted packets.
pub type SentAgain = Vec<(SocketAddr, u64)>;

/// Packets of each direction that tcptrace calls retransmitted; missing where it is not installed.
pub fn retransmitted(capture: &Path) -> Result<Option<SentAgain>, Box<dyn std::error::Error>> {
    let plain = std::env::temp_dir().join(format!("kernel-captures-{}.pcap", std::process::id()));
    write_plain(capture, &plain)?;
    let done = Command::new("tcptrace").args(["-l", "-r", "-n"]).arg(&plain).output();
    std::fs::remove_file(&plain)?;
    let Ok(done) = done else { return Ok(None) };
    let mut said = SentAgain::new();
    for line in String::from_utf8_lossy(&done.stdout).lines().map(str::trim) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["host", _, end] => said.push((end.parse()?, 0)),
            ["rexmt", "data", "pkts:", forth, "rexmt", "data", "pkts:", back] => {
                if let [.., a, b] = &mut said[..] {
                    (a.1, b.1) = (forth.parse()?, back.parse()?);
                }
            }
            _ => {}
        }
    }
    Ok(Some(said))
}

/// Writes a capture as pcap with IP packets and microseconds, the only format that tcptrace reads.
fn write_plain(capture: &Path, plain: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut packets = Packets::new(open(capture)?)?;
    let mut file = BufWriter::new(File::create(plain)?);
    // Magic number, version 2.4, no zone, no accuracy, snapped at 65535 bytes, raw IP.
    for word in [0xa1b2_c3d4, 2 | 4 << 16, 0, 0, 0xffff, 101_u32] {
        file.write_all(&word.to_le_bytes())?;
    }
    while let Ok(Some(p)) = packets.next_packet() {
        let Some(ip) = p.link.ip_offset(p.data) else { continue };
        let (at, data) = (p.at.as_nanos() / 1000, p.data.get(ip..).unwrap_or_default());
        for word in [
            (at / 1_000_000) as u32,
            (at % 1_000_000) as u32,
            data.len() as u32,
            p.original_len.saturating_sub(ip as u32),
        ] {
            file.write_all(&word.to_le_bytes())?;
        }
        file.write_all(data)?;
    }
    Ok(file.flush()?)
}
