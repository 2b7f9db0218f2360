//! TCP in tunnels and behind link headers of many kinds, built by another program (fixtures/README.md).

use std::collections::HashMap;
use std::ops::ControlFlow;

use ackclock_capture::read::{Packets, decompressed};
use ackclock_capture::{Analysis, Options, Report, Standing};

fn read(file: &'static [u8]) -> Report {
    let mut packets = Packets::new(decompressed(file).expect("gzip")).expect("a capture");
    let mut analysis = Analysis::new(Options::default());
    analysis.read(&mut packets, |_| ControlFlow::Continue(())).expect("packets");
    analysis.finish()
}

const ETHERNET: &[u8] = include_bytes!("../fixtures/encapsulated-ethernet.pcap.gz");
const LINKS: &[u8] = include_bytes!("../fixtures/encapsulated-links.pcapng.gz");
/// File, port of the client, and encapsulation.
const NAMES: &str = include_str!("../fixtures/encapsulated.txt");

#[test]
fn the_exchange_is_found_in_every_encapsulation() {
    let reports = HashMap::from([("ethernet", read(ETHERNET)), ("links", read(LINKS))]);
    let mut checked = 0;
    for line in NAMES.lines() {
        let [file, port, name] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line:?}") };
        let port: u16 = port.parse().expect("a port");
        let found = reports[file].connections.iter().find(|c| c.client.port() == port);
        let c = found.unwrap_or_else(|| panic!("{name} is not read"));
        let [client, server] = &c.directions;
        let counts = [client, server].map(|d| (d.packets, d.data_packets, d.bytes, d.bytes_acked));
        assert_eq!(counts, [(3, 1, 1000, 1000), (2, 0, 0, 0)], "{name}");
        assert_eq!(client.options.and_then(|o| o.mss), Some(1400), "{name}");
        assert_eq!((c.standing, client.retransmitted_packets), (Standing::Open, 0), "{name}");
        checked += 1;
    }
    assert_eq!(checked, reports.values().map(|r| r.connections.len()).sum::<usize>(), "and nothing else");
    assert_eq!(checked, 68);
}

#[test]
fn what_is_not_read_is_named() {
    let notes = read(ETHERNET).notes;
    for (n, what) in [
        (2, "packets are not TCP over IP"),
        (2, "packets are in ESP (IPsec), which is encrypted"),
        (1, "packets are in MACsec, which is not read"),
        (1, "packets are in GRE with source routes or of an unknown version, which is not read"),
        (1, "packets are in PPP with compressed or encrypted contents"),
    ] {
        assert!(notes.contains(&format!("{n} {what}")), "{what}: {notes:?}");
    }
    assert_eq!(notes.len(), 5, "{notes:?}");
    assert!(read(LINKS).notes.is_empty(), "every link type of it is understood");
}
