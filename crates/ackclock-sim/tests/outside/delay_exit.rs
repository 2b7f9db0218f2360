//! A slow start that ends when the round-trip time has grown by half.

use ackclock_policy::{AckInfo, Entry, Growth, Policy, SenderView, SlowStart};
use ackclock_units::Bytes;

#[derive(Debug)]
struct DelayExit;

impl Policy for DelayExit {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl SlowStart for DelayExit {
    fn on_ack(&mut self, a: &AckInfo, most: Bytes, v: &SenderView) -> Growth {
        let least = v.rtt.map(|r| r.min_rtt);
        let exit = a.rtt.zip(least).is_some_and(|(rtt, least)| rtt > least + least / 2);
        Growth { bytes: most, exit }
    }
}

pub static ENTRY: Entry<dyn SlowStart> = Entry {
    name: "delay-exit",
    about: "Ends slow start when the round-trip time has grown by half.",
    source: "a test",
    params: &[],
    build: |_| Box::new(DelayExit),
};
