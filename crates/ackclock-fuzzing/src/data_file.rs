//! Any bytes as the files that a scenario names: the scenario is refused with a sentence, or what it resolves to
//! stands without them.

use ackclock_sim::scenario::Files;

use super::scenario::play_with;

/// A packet-delivery trace in Mahimahi's format. The first byte chooses the size of an opportunity, and whether
/// the trace begins again.
pub fn delivery_trace(data: &[u8]) {
    let (choice, file) = split(data);
    let size = [1504, 1, 100, 1 << 20][usize::from(choice >> 1) % 4];
    let overhead = if size > 4 { 4 } else { 0 };
    let repeat = choice & 1 == 0;
    with_link(
        &format!(
            "mahimahi = {{ file = \"f\", size = \"{size}B\", overhead = \"{overhead}B\", repeat = {repeat} }}"
        ),
        file,
    );
}

/// A schedule of a link, comma-separated values. The first byte chooses its shape and its period.
pub fn schedule(data: &[u8]) {
    let (choice, file) = split(data);
    let shape = ["steps", "linear"][usize::from(choice) % 2];
    let repeat = ["0s", "1ns", "10ms", "1s"][usize::from(choice >> 1) % 4];
    let reorder = choice & 8 != 0;
    with_link(
        &format!(
            "schedule = {{ file = \"f\", shape = \"{shape}\", repeat = \"{repeat}\", reorder = {reorder} }}"
        ),
        file,
    );
}

/// A distribution of extra delays. The first byte chooses whether packets overtake others.
pub fn jitter(data: &[u8]) {
    let (choice, file) = split(data);
    with_link(&format!("jitter = {{ file = \"f\", reorder = {} }}", choice & 1 == 1), file);
}

/// A log of transfers, comma-separated values. The first byte chooses where its times begin.
pub fn arrivals(data: &[u8]) {
    let (choice, file) = split(data);
    let origin = ["first", "zero"][usize::from(choice) % 2];
    let text = format!(
        "duration = \"1s\"\n[path]\nkind = \"single\"\nrtt = \"10ms\"\nlink = {{ rate = \"1Mbit/s\" \
         }}\n[workload]\nkind = \"log\"\nfile = \"f\"\norigin = \"{origin}\"\n[stacks]\na = \"sack\"\nb = \
         \"reno\"\n"
    );
    play_with(&text, &Files::none().with("f", file));
}

/// A list of a graph's edges.
pub fn edges(data: &[u8]) {
    let text = "duration = \"1s\"\n[path]\nkind = \"graph\"\nedges_file = \"f\"\n[workload]\nkind = \
                \"bulk\"\n[stacks]\na = \"sack\"\n";
    play_with(text, &Files::none().with("f", data));
}

fn with_link(element: &str, file: &[u8]) {
    let text = format!(
        "duration = \"1s\"\n[path]\nkind = \"single\"\nback = {{ rate = \"1Mbit/s\" }}\nlink = {{ rate = \
         \"1Mbit/s\", delay = \"10ms\", {element} }}\n[workload]\nkind = \"bulk\"\n[stacks]\na = \"sack\"\n"
    );
    play_with(&text, &Files::none().with("f", file));
}

fn split(data: &[u8]) -> (u8, &[u8]) {
    data.split_first().map_or((0, data), |(first, rest)| (*first, rest))
}
