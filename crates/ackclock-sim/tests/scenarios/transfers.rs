use ackclock_units::Duration;

use super::{TEN_LINES, resolved, results};

#[test]
fn transfers_are_those_of_the_simulator() {
    let whole = resolved(TEN_LINES, &[]);
    let transfers = whole.transfers(whole.jobs()[0]).unwrap();
    let flows = results(&whole, 1).flows;
    let simulated: Vec<_> = flows.iter().filter(|f| &*f.run == "tcp").map(|f| (f.start, f.size)).collect();
    assert!(simulated.len() > 1000);
    assert_eq!(transfers.iter().map(|t| (t.start, Some(t.size))).collect::<Vec<_>>(), simulated);
    let round_trips = || transfers.iter().map(|t| t.access.round_trip());
    assert!(round_trips().all(|rtt| rtt >= Duration::from_millis(10) && rtt <= Duration::from_millis(200)));
    let mean = round_trips().map(|d| d.as_secs_f64()).sum::<f64>() / transfers.len() as f64;
    assert!((mean - 0.105).abs() < 0.005, "{mean}");
}

#[test]
fn transfers_need_a_web_workload_over_a_single_link() {
    let refused = |overrides: &[(&str, &str)]| {
        let whole = resolved(TEN_LINES, overrides);
        whole.transfers(whole.jobs()[0]).unwrap_err().to_string()
    };
    assert!(refused(&[("workload", "{ kind = \"bulk\" }")]).contains("only `web` and `log` are supported"));
    assert!(refused(&[("path.access", "{ rate = \"1Gbit/s\" }")]).contains("3 links"));
}
