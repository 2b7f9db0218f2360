use super::*;

#[test]
fn statements_run_as_in_python() {
    for (text, expected) in [
        ("", vec![]),
        ("\n  \n\t# nothing\n", vec![]),
        (" print(1) ", vec!["1"]),
        ("print(tcpi_snd_cwnd); print(2);", vec!["10", "2"]),
        ("pass; pass", vec![]),
        ("print()\nprint(1, 'a', 1.0, None, [1, 'a'])", vec!["", "1 a 1.0 None [1, 'a']"]),
        ("print('a\\nb')", vec!["a", "b"]),
        ("x = y = 2\nx += 1; y *= x; print(x, y)", vec!["3 6"]),
        ("x = 7; x -= 1; x //= 2; x **= 2; x %= 5; x <<= 3; x >>= 1; print(x)", vec!["16"]),
        ("x = 12; x |= 3; x &= 7; x ^= 1; x /= 4; print(x)", vec!["1.5"]),
        ("x = 'a'; x += 'b'; x *= 2; print(x); t = 1,; t += (2,); print(t)", vec!["abab", "(1, 2)"]),
        ("x = 1, 2\nprint(x)", vec!["(1, 2)"]),
        ("1, 'ignored'\n'too'", vec![]),
        ("if 1: print(1)\nelse: print(2)", vec!["1"]),
        ("if 0: print(1); print(2)\nelif 1: print(3); print(4)", vec!["3", "4"]),
        ("if 0:\n  print(1)\nelif 0:\n  print(2)\nelse:\n  print(3)\nprint(4)", vec!["3", "4"]),
        ("if 1:\n  if 0:\n    print(1)\n  else:\n    print(2)\n  print(3)\nprint(4)", vec!["2", "3", "4"]),
        ("if 1:\n  print(1)\n\n# comment\n  print(2)\n", vec!["1", "2"]),
        ("\n    x = 1\n    if x:\n        print(x)\n    ", vec!["1"]),
        ("\n\t\tx = 1\n\t\tif x:\n\t\t\tprint(x)\n", vec!["1"]),
        ("\r\n  x = (1 +\r\n2)\r\n  print(x)\r\n", vec!["3"]),
        ("x = 1 + \\\n  2\nprint(x)", vec!["3"]),
        ("x = [1, # one\n\n     2]\nprint(x)", vec!["[1, 2]"]),
        ("print('a'\n      'b')", vec!["ab"]),
        ("print('a\\\nb')", vec!["ab"]),
        ("assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd # a comment", vec![]),
        ("assert 5000 <= tcpi_rtt <= 20000, 'srtt=%d us' % tcpi_rtt", vec![]),
        ("assert (1 == 1)\nassert not ()", vec![]),
        ("TCP_INFINITE_SSTHRESH = 0x7fffffff\nprint(TCP_INFINITE_SSTHRESH)", vec!["2147483647"]),
        ("TCP_CLOSE = 70; print(TCP_CLOSE)", vec!["70"]),
    ] {
        assert_eq!(printed(text), Ok(expected.into_iter().map(str::to_owned).collect()), "{text}");
    }
}

#[test]
fn variables_last_from_block_to_block() {
    let mut scope = Scope::new();
    let mut run = |text: &str| Program::parse(text).unwrap().run(&mut scope, &names).unwrap();
    run("cwnd = 10");
    run("cwnd += 10; names = [cwnd]");
    assert_eq!(run("print(cwnd, names)"), ["20 [20]"]);
    // What was measured comes anew with each block.
    assert_eq!(run("tcpi_rtt += 1; print(tcpi_rtt)"), ["14001"]);
    assert_eq!(run("print(tcpi_rtt)"), ["14000"]);
    assert_eq!(scope.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["cwnd", "names"]);
    assert_eq!(scope.get("cwnd"), Some(&Value::Int(20)));
}

#[test]
fn failed_assertions_say_what_the_names_were() {
    for (text, expected) in [
        ("assert tcpi_snd_cwnd == 7", "line 1: tcpi_snd_cwnd == 7 does not hold: tcpi_snd_cwnd is 10"),
        (
            "assert tcpi_snd_cwnd == 7, tcpi_snd_cwnd",
            "line 1: tcpi_snd_cwnd == 7 does not hold: tcpi_snd_cwnd is 10",
        ),
        (
            "\n  assert tcpi_rtt < 1000, 'srtt=%d us' % tcpi_rtt",
            "line 2: tcpi_rtt < 1000 does not hold: tcpi_rtt is 14000 (srtt=14000 us)",
        ),
        (
            "w = 'x'\nassert (w  ==   # why\n  word)",
            "line 2: (w == word) does not hold: w is 'x', word is 'cwnd'",
        ),
        (
            "assert min(zero, zero) and unknown, 5",
            "line 1: min(zero, zero) and unknown does not hold: zero is 0 (5)",
        ),
        ("assert 0", "line 1: 0 does not hold"),
        (
            "assert False, unknown",
            "line 1: False does not hold (its message fails: line 1, column 15: `unknown` is not a known name; \
             expected a variable, a field of TCP_INFO or a constant)",
        ),
    ] {
        assert_eq!(error(text), expected);
    }
    let program = Program::parse("print(1); assert zero, 'a'; print(2)").unwrap();
    let failure = program.run(&mut Scope::new(), &names).unwrap_err();
    assert_eq!(failure.printed, ["1"]);
    let Why::Assertion(assertion) = failure.why else { panic!("{failure}") };
    assert_eq!(assertion.message, Some(Value::from("a")));
    assert_eq!(assertion.values, [("zero".to_owned(), Value::Int(0))]);
}

#[test]
fn unknown_names_suggest_known_ones() {
    assert_eq!(
        error("print(tcpi_snd_cwdn)"),
        "line 1, column 7: `tcpi_snd_cwdn` is not a known name (did you mean `tcpi_snd_cwnd`?)"
    );
    assert_eq!(
        error("count = 1\nprint(cuont)"),
        "line 2, column 7: `cuont` is not a known name (did you mean `count`?)"
    );
    assert!(error("print(TCP_CA_LOSS)").contains("`TCP_CA_Loss`"));
    assert!(error("print(bananas)").ends_with("expected a variable, a field of TCP_INFO or a constant"));
}
