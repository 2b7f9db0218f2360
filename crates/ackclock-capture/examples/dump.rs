//! Prints all results of an analysis: `cargo run -p ackclock-capture --example dump -- FILE`.

use std::ops::ControlFlow;
use std::path::Path;

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, CaptureError, Options};

fn main() -> Result<(), CaptureError> {
    for file in std::env::args().skip(1) {
        let mut packets = Packets::new(open(Path::new(&file))?)?;
        let mut analysis = Analysis::new(Options::default());
        analysis.read(&mut packets, |_| ControlFlow::Continue(()))?;
        let report = analysis.finish();
        println!(
            "{file}: {} packets, {} segments, {} connections {:?}",
            report.packets,
            report.segments,
            report.connections.len(),
            report.notes
        );
        let began = report.span.map_or(0.0, |s| s.0.as_secs_f64());
        for c in &report.connections {
            println!(
                "{} > {}: {:?}, handshake {:?}, {:?}",
                c.client, c.server, c.standing, c.handshake, c.notes
            );
            for d in &c.directions {
                println!(
                    "  packets {} data {} bytes {} unique {} acked {} rexmit {} ({} B) spurious {} rtt \
                     {:?}/{:?}/{:?} share {:?} {:?} ca {} non-ca {} other {} p {:?} dup {}+{} late {} mss {}",
                    d.packets,
                    d.data_packets,
                    d.bytes,
                    d.unique_bytes,
                    d.packets_acked,
                    d.retransmitted_packets,
                    d.retransmitted_bytes,
                    d.spurious_packets,
                    d.rtt.min(),
                    d.rtt.mean(),
                    d.rtt.max(),
                    d.share,
                    d.view,
                    d.ca_events,
                    d.non_ca_events,
                    d.other_losses,
                    d.p(),
                    d.network_duplicates,
                    d.capture_duplicates,
                    d.reordered,
                    d.mss
                );
                let limits = d.limits.parts().map(|(name, time)| format!("{name} {:.3}", time.as_secs_f64()));
                println!("    limited by {}", limits.join(", "));
                for r in &d.retransmissions {
                    println!(
                        "    {:.6} {} +{} {} needed {:?}: {}",
                        r.at.as_secs_f64() - began,
                        r.offset,
                        r.len,
                        r.cause.word(),
                        r.needed,
                        r.evidence
                    );
                }
                for t in &d.timeouts {
                    println!(
                        "    T {:.6} {} round {} rto {:?} eifel {:?} outage {}",
                        t.at.as_secs_f64() - began,
                        t.seq,
                        t.round,
                        t.rto,
                        t.eifel_spurious,
                        t.outage
                    );
                }
            }
        }
    }
    Ok(())
}
