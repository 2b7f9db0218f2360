use ackclock_policy::{MODIFIERS, Registry};
use ackclock_units::{Duration, Rng};

use super::{PRESETS, Stack};

fn named(name: &str) -> Stack {
    Stack::named(&Registry::builtin(), name).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn error(name: &str) -> String {
    Stack::named(&Registry::builtin(), name).expect_err(name).to_string()
}

fn value(stack: &Stack, key: &str) -> String {
    stack.entries().into_iter().find(|(k, _)| k == key).unwrap_or_else(|| panic!("{key}")).1
}

#[test]
fn every_preset_and_modifier_can_be_built() {
    for preset in PRESETS {
        named(preset.name).build();
        for modifier in MODIFIERS {
            let (name, registry) =
                (format!("{}+{}", preset.name, modifier.usage.replace("(n)", "(3)")), Registry::builtin());
            // Some cannot be combined, such as byte counting without a window; the error names the parameter.
            if let Err(e) = Stack::named(&registry, &name) {
                assert!(e.to_string().contains("parameter"), "{name}: {e}");
            }
        }
    }
}

#[test]
fn modifiers_compose_from_left_to_right() {
    let stack = named("sack+star(3)+min-rto(200ms)+init-rto(3s)+precise+ecn");
    assert_eq!(stack.name(), "sack+star(3)+min-rto(200ms)+init-rto(3s)+precise+ecn");
    for (key, want) in [
        ("backoff", "sub-exponential"),
        ("backoff.n", "3"),
        ("estimator", "rfc6298"),
        ("estimator.min_rto", "200ms"),
        ("estimator.initial_rto", "3s"),
        ("timer", "precise"),
        ("ecn", "true"),
        ("sack", "true"),
    ] {
        assert_eq!(value(&stack, key), want, "{key}");
    }
    assert_eq!(value(&named("tahoe+ticks(100ms)"), "timer.heartbeat"), "100ms");
    assert_eq!(value(&named("reno+star(inf)"), "backoff.n"), "inf");
    assert_eq!(named("reno+no-backoff+star(2)"), named("reno+star(2)"));
    assert_ne!(named("reno"), named("newreno"));
}

#[test]
fn tcp_star_backs_off_late() {
    let (mut rng, rto) = (Rng::stream(1, "test", 0), Duration::from_secs(1));
    let mut policies = named("newreno+star(3)").build();
    let timeouts = [0, 1, 2, 3, 4, 5, 6]
        .map(|j| policies.sender.get_mut().backoff.timeout(rto, j, &mut rng).as_millis() / 1000);
    assert_eq!(timeouts, [1, 1, 1, 1, 2, 4, 8]);
}

#[test]
fn entries_build_the_same_stack_again() {
    let registry = Registry::builtin();
    for name in
        ["rfc793", "tahoe+ticks(500ms)", "cubic+star(inf)+iw(4)+timestamps", "sack+min-rto(200ms)+bsd43-acks"]
    {
        let stack = named(name);
        let entries = stack.entries();
        let mut listed: Vec<(&str, &str)> = entries.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(Stack::from_entries(&registry, "x", listed.iter().copied()).expect(name), stack);
        // A table may not keep the order.
        listed.reverse();
        let again = Stack::from_entries(&registry, name, listed).expect(name);
        assert_eq!((again.name(), &again, again.config()), (name, &stack, stack.config()));
    }
}

#[test]
fn settings_reach_the_connection() {
    let mut stack = named("sack");
    stack.set("mss", "1000B").expect("an option");
    stack.set("sack", "false").expect("an option");
    stack.set("estimator", "jacobson88").expect("a policy");
    stack.set("estimator.min_rto", "2s").expect("a parameter");
    assert_eq!((stack.config().mss, stack.config().sack), (1000, false));
    assert_eq!(stack.build().estimator.name(), "jacobson88");
    assert_eq!(named("rfc793").build().sender.get_mut().window.name(), "receiver-only");
}

#[test]
fn errors_name_the_valid_values() {
    assert_eq!(
        error("newrno"),
        "`newrno` is not a known stack (did you mean `newreno`?); expected one of rfc793, tahoe, reno, newreno, \
         sack, fack, fack-rh, rack, cubic, linux, linux-reno, linux-bbr, freebsd, \
         windows, macos, quic"
    );
    assert!(error("").starts_with("`` is not a known stack; expected one of rfc793"));
    assert!(error("sack+sta(3)").starts_with(
        "`+sta` is not a known modifier (did you mean `star`?); expected one of +star, +no-backoff"
    ));
    let bbr = error("bbr");
    assert!(
        bbr.starts_with(
            "`bbr` is a congestion window (`bbr` is BBRv3, `bbr1` is BBR version 1, as Linux ships it) and no \
             stack: expected `{ preset = \"sack\", window = \"bbr\" }`, or one of the stacks rfc793, "
        ),
        "{bbr}"
    );
    assert!(error("cubic+vegas").starts_with(
        "`+vegas` is a congestion window and no stack: expected `{ preset = \"cubic\", window = \"vegas\" }`"
    ));
    assert_eq!(error("sack+star"), "`+star` is not a modifier: it is written `+star(n)`");
    assert_eq!(error("sack+star(3"), "`+star(3` is not a modifier: it is written `+star(n)`");
    assert_eq!(error("sack+ecn(1)"), "`+ecn(1)` is not a modifier: it is written `+ecn`");
    assert_eq!(error("sack+star(x)"), "`n` is `x`, which is not a whole number");
    assert!(
        error("sack+min-rto(200)")
            .starts_with("`min_rto` is `200`, which is not a time: give a number with a unit")
    );
    let set = |key: &str, value: &str| named("sack").set(key, value).expect_err(key).to_string();
    assert_eq!(
        set("estimator", "rfc6289"),
        "`rfc6289` is not a known estimator (did you mean `rfc6298`?); expected one of rfc793, jacobson88, \
         jacobson88-ticks, lite, eifel, eifel-agg, rfc6298, linux, quic, coap, cocoa"
    );
    assert_eq!(
        set("estimator.minrto", "1s"),
        "`minrto` is not a parameter of `rfc6298` (did you mean `min_rto`?); expected one of clock_granularity, \
         slop, min_rto, max_rto, initial_rto"
    );
    assert_eq!(
        set("estimater", "rfc6298"),
        "`estimater` is not a key of a stack (did you mean `estimator`?)"
    );
    assert_eq!(set("timestamp", "true"), "`timestamp` is not a key of a stack (did you mean `timestamps`?)");
    assert_eq!(set("sack", "yes"), "`sack` is `yes`, which is not `true` or `false`");
    assert_eq!(set("mss", "10B"), "`mss` is `10B`, which is not between 64B and 65495B");
    assert!(set("zzzzzzz", "1").starts_with("`zzzzzzz` is not a key of a stack, which are estimator,"));
}
