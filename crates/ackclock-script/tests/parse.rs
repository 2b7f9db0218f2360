//! The language of scripts: what is understood, and what errors say.

use ackclock_script::ast::{Action, Body, Expr, Script, Tcp, TcpOption, TcpOptions, Tos, When};
use ackclock_script::parse;
use ackclock_units::Duration;

fn script(text: &str) -> Script {
    parse("test.pkt", text, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn segment(text: &str) -> Tcp {
    match &script(text).events[0].action {
        Action::Inject(packet) | Action::Expect(packet) => match &packet.body {
            Body::Tcp(tcp) => tcp.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn times_are_read_to_the_nanosecond() {
    let ms = Duration::from_millis;
    let cases = [
        ("0", When::At(Duration::ZERO)),
        ("1.5", When::At(ms(1500))),
        (".25", When::At(ms(250))),
        ("+.1", When::After(ms(100))),
        ("+0", When::After(Duration::ZERO)),
        ("+0.000000001", When::After(Duration::from_nanos(1))),
        ("+.1~+.2", When::AfterWithin(ms(100), ms(200))),
        ("+.1 ~ +.2", When::AfterWithin(ms(100), ms(200))),
        ("1~2", When::Within(ms(1000), ms(2000))),
        ("*", When::Any),
    ];
    for (text, when) in cases {
        assert_eq!(script(&format!("{text} close(3) = 0")).events[0].when, when, "{text}");
    }
}

#[test]
fn a_segment_has_flags_numbers_and_options() {
    let tcp = segment("0 < SEW 0:0(0) win 32792 <mss 1000,sackOK,TS val 7 ecr 0,nop,wscale 7>");
    assert_eq!((tcp.flags.bits, tcp.seq, tcp.len, tcp.ack, tcp.window), (0x0c2, 0, 0, None, Some(32792)));
    let options = vec![
        TcpOption::Mss(1000),
        TcpOption::SackPermitted,
        TcpOption::Timestamps { val: 7, ecr: 0 },
        TcpOption::Nop,
        TcpOption::WindowScale(7),
    ];
    assert_eq!(tcp.options, TcpOptions::List(options));

    let tcp = segment("0 > FP. 1:1001(1000) ack 5 urg 3 <nop,nop,sack 3001:4001 5001:6001>");
    assert_eq!((tcp.flags.bits, tcp.seq, tcp.len, tcp.ack, tcp.urgent), (0x019, 1, 1000, Some(5), Some(3)));
    let blocks = vec![(3001, 4001), (5001, 6001)];
    assert_eq!(tcp.options, TcpOptions::List(vec![TcpOption::Nop, TcpOption::Nop, TcpOption::Sack(blocks)]));

    assert_eq!(segment("0 > . 1:1(0) ack 1 <...>").options, TcpOptions::Any);
    assert_eq!(segment("0 > - 1:1(0)").flags.bits, 0);
    // The counter of accurate ECN, and the letter of its third bit (RFC 9768 §3.2).
    assert_eq!(segment("0 > .5 1:1(0) ack 1").flags.ace, Some(5));
    assert_eq!(segment("0 > SEWA 0:0(0)").flags.bits, 0x1c2);
    // Sequence numbers wrap.
    assert_eq!(segment("0 < . 4294967295:1(2) ack 1").seq, u32::MAX);
}

#[test]
fn ip_fields_and_ports_come_before_the_segment() {
    let script =
        script("0 > (tos 0x28, flowlabel 0x1) 8080 > 40000 . 1:1(0) ack 1\n+0 > [ect0] P. 1:2(1) ack 1");
    let Action::Expect(first) = &script.events[0].action else { panic!() };
    assert_eq!(
        (first.ip.tos, first.ip.flow_label, first.ports),
        (Some(Tos::Byte(0x28)), Some(1), Some((8080, 40000)))
    );
    let Action::Expect(second) = &script.events[1].action else { panic!() };
    assert_eq!(second.ip.tos, Some(Tos::Ect0));
}

#[test]
fn calls_have_arguments_results_and_ends() {
    let script = script(
        "+0...0.200 connect(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"10.0.0.1\")}, ...) = -1 \
         EINPROGRESS (Operation now in progress)\n+0 poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLOUT}], 1, 0x10) = 1",
    );
    let Action::Call(call) = &script.events[0].action else { panic!() };
    assert_eq!(call.until, Some(When::At(Duration::from_millis(200))));
    assert_eq!(
        (call.name.as_str(), call.errno.as_deref(), &call.result),
        ("connect", Some("EINPROGRESS"), &Expr::Int(-1))
    );
    assert_eq!(call.arguments.len(), 3);
    let Action::Call(call) = &script.events[1].action else { panic!() };
    assert_eq!(call.arguments[2], Expr::Int(16));
    let Expr::Array(polled) = &call.arguments[0] else { panic!() };
    let Expr::Struct(fields) = &polled[0] else { panic!() };
    assert_eq!(fields[1].1, Expr::Or(vec![Expr::Word("POLLIN".into()), Expr::Word("POLLOUT".into())]));
}

#[test]
fn comments_commands_and_assertions_are_kept_apart() {
    let script = script(
        "--tolerance_usecs=10000\n// a comment\n`sysctl -q net.ipv4.tcp_sack=0`\n/* another\n one */ 0 %{ assert \
         tcpi_rtt > 0 }%\n+0 `true // no comment`\n`cleanup`\n",
    );
    assert_eq!(script.flags[0].value.as_deref(), Some("10000"));
    assert_eq!((script.setup.len(), script.events.len(), script.cleanup.len()), (1, 2, 1));
    assert_eq!(script.events[0].line, 5);
    let Action::Code(code) = &script.events[0].action else { panic!() };
    assert_eq!(code.text.trim(), "assert tcpi_rtt > 0");
    let Action::Shell(shell) = &script.events[1].action else { panic!() };
    assert_eq!(shell.text, "true // no comment");
}

#[test]
fn defined_words_are_replaced_outside_of_text() {
    let text = "--define=COOKIE=a1b2\n0 > S 0:0(0) <FO COOKIE>\n+0 write(4, \"COOKIE\", SIZE) = SIZE";
    let script = parse("test.pkt", text, &[("SIZE".into(), "100".into())]).unwrap();
    let Action::Expect(packet) = &script.events[0].action else { panic!() };
    let Body::Tcp(tcp) = &packet.body else { panic!() };
    assert_eq!(tcp.options, TcpOptions::List(vec![TcpOption::FastOpen(vec![0xa1, 0xb2])]));
    let Action::Call(call) = &script.events[1].action else { panic!() };
    assert_eq!(call.arguments[1], Expr::Text(b"COOKIE".to_vec(), false));
    assert_eq!(call.arguments[2], Expr::Int(100));
}

#[test]
fn errors_name_the_place_what_stands_there_and_what_is_expected() {
    let cases = [
        "",
        "--tolerance_usecs=100",
        "close(3) = 0",
        "0",
        "0 nothing",
        "0 close(3)",
        "0 close(3 = 0",
        "0 close(3) =",
        "+x close(3) = 0",
        "0 < X 0:0(0)",
        "0 < S 0:1(0)",
        "0 < S 0:70000(70000)",
        "0 < S 0:0(0) win 70000",
        "0 < S 0:0(0) <mss>",
        "0 < S 0:0(0) <mss 1460",
        "0 < S 0:0(0) <mss 1460,what>",
        "0 < S 0:0(0) <TS val 1>",
        "0 < SS 0:0(0)",
        "0 > E5. 1:1(0) ack 1",
        "0 > [ect2] . 1:1(0) ack 1",
        "0 > [ect0 . 1:1(0) ack 1",
        "0 < udp (1000)",
        "0 %{ assert True",
        "0 `sleep 1",
        "0 write(4, \"text, 5) = 5",
        "/* no end",
        "0 close(3) = 0\n`one`\n0 close(4) = 0",
        "1000000000000 close(3) = 0",
        "0 write(4, ..., 99999999999999999999) = 0",
    ];
    let mut all = String::new();
    for text in cases {
        let error = parse("x.pkt", text, &[]).expect_err(text);
        all += &format!("{text:?}\n  {error}\n");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn what_lies_deep_or_is_long_is_refused() {
    let deep = format!("0 f({}", "[".repeat(100_000));
    assert!(parse("x.pkt", &deep, &[]).is_err());
    let long = " ".repeat(ackclock_script::MAX_SCRIPT + 1);
    assert!(parse("x.pkt", &long, &[]).is_err());
    // A definition cannot blow a script up.
    let text = format!("--define=A={}\n{}", "B".repeat(100_000), "A ".repeat(1000));
    assert!(parse("x.pkt", &text, &[]).is_err());
}
