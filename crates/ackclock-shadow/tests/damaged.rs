//! Captures whose headers were damaged at random: an error or a verdict, never a panic.

use std::fs;
use std::io::Read;
use std::path::Path;

use ackclock_capture::read::open;
use ackclock_engine::Stack;
use ackclock_policy::Registry;
use ackclock_shadow::{Conversation, follow};
use ackclock_units::Rng;

#[test]
fn damaged_headers_do_no_harm() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kernel-bbr.pcap.gz");
    let mut whole = Vec::new();
    open(&path).and_then(|mut file| Ok(file.read_to_end(&mut whole)?)).expect("the fixture is there");
    let registry = Registry::builtin();
    let stacks =
        ["linux", "linux-bbr", "newreno"].map(|name| Stack::named(&registry, name).expect("a preset"));
    let folder = std::env::temp_dir().join(format!("ackclock-damaged-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for temporary files");
    let mut followed = 0;
    for seed in 0..24 {
        let mut rng = Rng::stream(seed, "damage", 0);
        let mut bytes = whole.clone();
        // Beyond the handshake, in about one packet of a hundred or of four.
        let every = if seed % 2 == 0 { 4000 } else { 150 };
        let mut at = 24 + 3 * 90;
        while at < bytes.len() {
            // Not in the record's header, as far as records are alike: times and lengths would end the file.
            bytes[at] ^= rng.below(256) as u8;
            at += 1 + rng.below(every) as usize;
        }
        let file = folder.join("damaged.pcap");
        fs::write(&file, &bytes).expect("it can be written");
        if let Ok(conversation) = Conversation::read(&file, None) {
            for stack in &stacks {
                followed += follow(stack, &conversation).rounds.len();
            }
        }
    }
    fs::remove_dir_all(&folder).expect("it is ours");
    assert!(followed > 0, "some of each capture is left");
}
