use super::*;

const CODEPOINTS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

#[test]
fn flags_and_the_field_are_the_same_three_bits() {
    assert_eq!(ace_flags(0b100), Flags::AE);
    assert_eq!(ace_flags(0b010), Flags::CWR);
    assert_eq!(ace_flags(0b001), Flags::ECE);
    for ace in 0..8 {
        assert_eq!(ace_of(ace_flags(ace) | Flags::ACK | Flags::FIN | Flags::PSH), ace);
    }
}

#[test]
fn handshake_codes_are_those_of_tables_2_and_3() {
    assert_eq!(CODEPOINTS.map(handshake_code), [0b010, 0b011, 0b100, 0b110]);
    for code in 0..8 {
        let expected = CODEPOINTS.into_iter().find(|ecn| handshake_code(*ecn) == code);
        assert_eq!(handshake_codepoint(code), expected, "{code:03b}");
    }
}

#[test]
fn modes_are_those_of_table_2() {
    use Mode::{Accurate, Dctcp, Off, Rfc3168};
    let modes = |by: fn(EcnFeedback, Flags) -> Mode, feedback| {
        std::array::from_fn::<_, 8, _>(|ace| by(feedback, ace_flags(ace as u8)))
    };
    // Flags 000, 001, ... 111. On a SYN, all but 000 and 011 request counters (§3.1.3).
    let asked = [Off, Accurate, Accurate, Rfc3168, Accurate, Accurate, Accurate, Accurate];
    assert_eq!(modes(mode_by_syn, EcnFeedback::Accurate), asked);
    let classic = [Off, Off, Off, Rfc3168, Off, Off, Off, Rfc3168];
    assert_eq!(modes(mode_by_syn, EcnFeedback::Rfc3168), classic);
    let dctcp = [Off, Off, Off, Dctcp, Off, Off, Off, Dctcp];
    assert_eq!(modes(mode_by_syn, EcnFeedback::Dctcp), dctcp);
    // On a SYN-ACK, 111 is broken, and 101 agrees (§3.1.3).
    let agreed = [Off, Rfc3168, Accurate, Accurate, Accurate, Accurate, Accurate, Off];
    assert_eq!(modes(mode_by_syn_ack, EcnFeedback::Accurate), agreed);
    let classic = [Off, Rfc3168, Off, Off, Off, Rfc3168, Off, Off];
    assert_eq!(modes(mode_by_syn_ack, EcnFeedback::Rfc3168), classic);
}

#[test]
fn the_ack_of_a_syn_ack_is_read_by_table_4() {
    for ace in 0..8 {
        let mut c = Counters::NEW;
        let marked = c.read_handshake_ack(ace);
        assert_eq!((marked, c.s_cep), (ace == 0b110, if ace == 0b110 { 6 } else { 5 }), "{ace:03b}");
        assert_eq!(c.trusts_ace, ace != 0, "{ace:03b}: note 1");
        // Our SYN-ACK is not capable: any other codepoint is an invalid transition (§3.2.2.3).
        assert_eq!(c.capable, matches!(ace, 0b001 | 0b010 | 0b101 | 0b111), "{ace:03b}");
    }
}

fn counters(packets: &[(Ecn, u32)]) -> Counters {
    let mut c = Counters::NEW;
    for (ecn, len) in packets {
        c.count(*ecn, *len);
    }
    c
}

fn option(c: &Counters, room: u32, test: bool) -> Option<(u8, Vec<u32>)> {
    c.option(room, test).map(|o| (o.kind(), o.counters().collect()))
}

#[test]
fn an_option_has_every_counter_that_ever_changed() {
    // The examples of §3.2.3.3.
    assert_eq!(option(&counters(&[]), 40, false), None);
    assert_eq!(option(&counters(&[(Ecn::NotEct, 100)]), 40, false), None);
    assert_eq!(option(&counters(&[(Ecn::Ce, 0)]), 40, false), None, "control packets have no bytes");
    assert_eq!(option(&counters(&[(Ecn::Ect0, 100)]), 40, false), Some((172, vec![101])));
    assert_eq!(option(&counters(&[(Ecn::Ect0, 100), (Ecn::Ce, 7)]), 40, false), Some((172, vec![101, 7])));
    assert_eq!(option(&counters(&[(Ecn::Ect1, 100)]), 40, false), Some((174, vec![101])));
    assert_eq!(option(&counters(&[(Ecn::Ce, 7), (Ecn::Ect1, 9)]), 40, false), Some((174, vec![10, 7])));
    let all = counters(&[(Ecn::Ce, 7), (Ecn::Ect1, 9), (Ecn::Ect0, 5)]);
    assert_eq!(option(&all, 40, false), Some((172, vec![6, 7, 10])));
    // The handshake tests the path with all of them (§3.2.3.2.1).
    assert_eq!(option(&counters(&[]), 40, true), Some((172, vec![1, 0, 1])));
}

#[test]
fn with_little_room_only_changed_counters_are_sent_or_none() {
    let mut c = counters(&[(Ecn::Ce, 7), (Ecn::Ect1, 9), (Ecn::Ect0, 5)]);
    assert_eq!(option(&c, 10, false), None, "all three have changed");
    let sent = c.option(11, false);
    c.on_send(sent.as_ref());
    assert_eq!(option(&c, 40, false), None, "nothing has changed since");
    c.count(Ecn::Ect1, 1);
    assert_eq!(option(&c, 11, false), Some((172, vec![6, 7, 11])));
    assert_eq!(option(&c, 5, false), Some((174, vec![11])));
    assert_eq!(option(&c, 4, false), None);
    c.count(Ecn::Ce, 1);
    assert_eq!(option(&c, 8, false), Some((174, vec![11, 8])));
}

#[test]
fn marks_make_acks_due() {
    // §3.2.2.5.1.
    let mut c = Counters::NEW;
    assert!(!c.count(Ecn::Ect0, 100));
    assert!(c.count(Ecn::Ce, 100), "marked text after an unmarked packet");
    assert!(!c.count(Ecn::Ce, 100), "marked text after a marked packet");
    assert!(c.is_due(true) && !c.is_due(false));
    assert!(!c.count(Ecn::Ce, 0));
    assert!(c.is_due(false));
    assert_eq!(c.on_send(None), 0, "5 and 3 marks");
    assert!(!c.is_due(true));
    assert!(!c.count(Ecn::NotEct, 0), "any packet counts as the previous one");
    assert!(!c.count(Ecn::Ce, 0), "but only text makes an ack due");
    assert!(!c.count(Ecn::Ce, 100));
}

fn covered(packets: u32) -> Covered {
    Covered { packets, certain: true, smss: 1000 }
}

#[test]
fn marked_packets_are_the_increase_of_the_field() {
    let mut c = Counters::NEW;
    assert_eq!(c.read(5, None, covered(2)), Marks::default());
    assert_eq!(c.read(6, None, covered(2)), Marks { packets: 1, bytes: 1000 });
    assert_eq!(c.read(1, None, covered(3)), Marks { packets: 3, bytes: 3000 }, "wrapped once");
    assert_eq!(
        c.read(4, None, covered(1)),
        Marks { packets: 3, bytes: 3000 },
        "control packets (§3.2.2.5.2)"
    );
}

#[test]
fn a_field_that_may_have_wrapped_counts_as_the_largest_number() {
    // The examples of §A.2.1: 2 marks by the field.
    for (packets, marks) in [(7, 2), (9, 2), (10, 10), (17, 10), (18, 18)] {
        let mut c = Counters::NEW;
        assert_eq!(c.read(7, None, covered(packets)).packets, marks, "{packets} packets");
    }
    // Acks that always cover many packets are no sign of lost acks.
    let mut c = Counters::NEW;
    for _ in 0..20 {
        c.read(5, None, covered(7));
    }
    assert_eq!(c.read(7, None, covered(10)).packets, 2);
}

fn ceb(n: u32) -> Option<AccEcn> {
    Some(AccEcn::new(AccEcn::ORDER_0, &[1, n]))
}

#[test]
fn marked_bytes_show_how_often_the_field_has_wrapped() {
    // The examples of §A.2.2, with 1460 bytes.
    for (least, safer, bytes, counted) in [(0, 8, 1460, 8), (2, 10, 1460, 2), (7, 15, 10_200, 7)] {
        let mut c = Counters::NEW;
        let marks =
            c.read((5 + least) % 8, ceb(bytes), Covered { packets: safer, certain: true, smss: 1460 });
        assert_eq!(marks, Marks { packets: counted, bytes });
    }
}

#[test]
fn an_option_without_marked_bytes_reports_none() {
    let option = Some(AccEcn::new(AccEcn::ORDER_0, &[10_001]));
    let mut c = Counters::NEW;
    assert_eq!(c.read(5, option, covered(10)), Marks::default());
}

#[test]
fn bytes_are_those_of_the_option_and_no_mark_counts_twice() {
    let mut c = Counters::NEW;
    assert_eq!(c.read(6, ceb(700), covered(1)), Marks { packets: 1, bytes: 700 });
    // Without an option a full segment is assumed; the next option corrects that.
    assert_eq!(c.read(7, None, covered(1)), Marks { packets: 1, bytes: 1000 });
    assert_eq!(c.read(0, ceb(2000), covered(1)), Marks { packets: 1, bytes: 300 });
    // Counters of 24 bits.
    let mut c = Counters { s_ceb: (1 << 24) - 100, ..Counters::NEW };
    assert_eq!(c.read(6, ceb(400), covered(1)).bytes, 500);
    // An option without the counter of marked bytes.
    let short = Some(AccEcn::new(AccEcn::ORDER_1, &[9]));
    assert_eq!(c.read(7, short, covered(1)), Marks { packets: 1, bytes: 1000 });
}

#[test]
fn zeroed_or_mangled_feedback_is_ignored_from_then_on() {
    // §3.2.2.1 note 1.
    let mut c = Counters::NEW;
    c.read_handshake_ack(0);
    assert!(!c.capable && c.read(1, None, covered(1)) == Marks::default());
    // §3.2.2.4: a later zero is a count, here of three marks after the initial five.
    let mut c = Counters::NEW;
    assert_eq!(c.read(0, None, covered(3)).packets, 3);
    assert!(c.capable && c.trusts_ace);
    // §3.2.3.2.4.
    for counters in [&[0][..], &[1, 0, 0], &[0, 0, 1]] {
        let mut c = Counters::NEW;
        c.check_first_option(Some(AccEcn::new(AccEcn::ORDER_0, counters)));
        assert_eq!(c.read(6, ceb(1), covered(1)).bytes, 1000, "{counters:?}");
    }
    for counters in [&[][..], &[1], &[2, 0, 1]] {
        let mut c = Counters::NEW;
        c.check_first_option(Some(AccEcn::new(AccEcn::ORDER_1, counters)));
        assert!(c.trusts_option, "{counters:?}");
    }
    // §3.2.3.2.5: marked bytes, and no marked packet.
    let mut c = Counters::NEW;
    c.read(5, ceb(1000), covered(3));
    assert!(!c.capable && c.trusts_ace);
    let mut c = Counters::NEW;
    c.read(5, ceb(1000), Covered { certain: false, ..covered(3) });
    assert!(c.capable);
}
