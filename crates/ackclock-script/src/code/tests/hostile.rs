use std::time::Instant;

use proptest::prelude::*;

use super::*;

#[test]
fn nesting_ends_with_an_error() {
    for (open, close) in
        [("(", ")"), ("[", "]"), ("-", ""), ("not ", ""), ("0 ** ", ""), ("1 if 1 else ", ""), ("abs(", ")")]
    {
        for (levels, fits) in [(50, true), (70, false), (10_000, false)] {
            let text = format!("x = {}1{}", open.repeat(levels), close.repeat(levels));
            let answer = printed(&text);
            assert_eq!(answer.is_ok(), fits, "{levels} of {open}: {answer:?}");
        }
    }
    for levels in [70, 5000] {
        let text: String = (0..levels).map(|i| format!("{}if 1:\n", " ".repeat(i))).collect();
        assert!(Program::parse(&text[..text.len().min(MAX_TEXT)]).is_err());
    }
    assert!(error(&format!("print({}1{})", "f\"{".repeat(100), "}\"".repeat(100))).contains("f-string"));
}

#[test]
fn deep_blocks_need_little_stack() {
    // Each repetition goes through all levels of precedence.
    let level = "0 or 1 and not 1 == 1 | 1 ^ 1 & 1 << 1 + 1 * -1 ** [0, (";
    let text = format!("x = {}1{}", level.repeat(12), ")][1]".repeat(12));
    let run = move || printed(&text).map(|_| ());
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(()));
}

#[test]
fn long_blocks_are_no_deep_ones() {
    for (first, next) in [("1", " + 1"), ("1", " < 2"), ("1", " and 1"), ("0", " or 0"), ("'a'", "'a'")] {
        printed(&format!("x = {first}{}", next.repeat(5000))).unwrap();
    }
    printed(&"x = 1;".repeat(5000)).unwrap();
    printed(&format!("if 0: pass\n{}", "elif 0: pass\n".repeat(4000))).unwrap();
    assert!(error(&" ".repeat(MAX_TEXT + 1)).contains("65537 bytes"));
}

#[test]
fn values_stay_small() {
    for text in [
        "x = 'a' * 10 ** 9",
        "x = 'a' * 10 ** 30",
        "x = [0] * 10 ** 9",
        "x = 10 ** 9 * (0, 1)",
        "x = [[0] * 60000] * 60000",
        "x = 'a' * 60000; x += x",
        "x = [0] * 60000; x = x + x",
        "x = '%1000000000d' % 1",
        "x = '%.1000000000f' % 1",
        "x = '%99999999999999999999999d' % 1",
        "x = '%60000d%60000d' % (1, 2)",
        "x = f'{1:1000000000}'",
        "x = f'{1:.100000f}'",
        "x = f'{1:60000}{2:60000}'",
        "x = str([''] * 30000)",
        "x = [0]\nx = [x, x, x, x, x, x, x, x, x, x]\nx = x * 1000; x = [x, x, x, x, x, x, x]",
    ] {
        let sentence = error(text);
        assert!(sentence.contains("larger than") || sentence.contains("at most"), "{text}: {sentence}");
    }
    assert_eq!(
        printed("print(len('a' * 65536), len([0] * 65535), [] * 10 ** 9)").unwrap(),
        ["65536 65535 []"]
    );
    assert!(error(&format!("x = []\n{}", "x = [x]\n".repeat(100))).contains("nested more deeply"));
}

#[test]
fn one_run_does_little() {
    let start = Instant::now();
    let many = "x = 'a' * 60000\n".to_owned() + &"x == x\n".repeat(5000);
    assert!(error(&many).contains("the block makes values of more than"));
    let printing = "x = 'a' * 60000\n".to_owned() + &"print(x)\n".repeat(5000);
    assert!(error(&printing).contains("the block makes values of more than"));
    assert!(start.elapsed().as_secs() < 20);
}

#[test]
fn variables_stay_small() {
    let mut scope = Scope::new();
    let mut run = |text: String| Program::parse(&text).unwrap().run(&mut scope, &names);
    let full = (0..10).map(|i| run(format!("x{i} = 'a' * 60000"))).find_map(Result::err).unwrap();
    assert!(full.to_string().contains("larger than 262144"), "{full}");
    // A new value may take an old one's place.
    run("x0 = 'b' * 60000".to_owned()).unwrap();
    let deep = (0..10).map(|_| run("y = [1]\n".to_owned() + &"y = [y]\n".repeat(60))).find_map(Result::err);
    assert_eq!(deep, None);
}

const TOKENS: &[&str] = &[
    "assert ",
    "if ",
    "elif ",
    "else",
    ":",
    ": ",
    "\n",
    "\n  ",
    "\n    ",
    ";",
    "#",
    "\\\n",
    " ",
    "x",
    "y",
    "x = ",
    "y += ",
    "tcpi_snd_cwnd",
    "TCP_CA_Open",
    "print(",
    "min(",
    "int(",
    "str(",
    "round(",
    "len(",
    "abs(",
    "hex(",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ", ",
    " and ",
    " or ",
    "not ",
    " in ",
    " is ",
    " == ",
    " < ",
    " >= ",
    " + ",
    " - ",
    " * ",
    " / ",
    " // ",
    " % ",
    " ** ",
    " << ",
    " >> ",
    " | ",
    "~",
    "-",
    "0",
    "1",
    "-1",
    "2",
    "64",
    "1000000",
    "0x7fffffff",
    "1e308",
    "1e-3",
    "0.5",
    "170141183460469231731687303715884105727",
    "True",
    "None",
    "'a'",
    "\"%d %s\"",
    "'%5.3f'",
    "'%x'",
    "f'{x}'",
    "f'{",
    "}'",
    "f\"{y:>8}\"",
    "f'{x:#_.3}'",
    "'",
    "\"",
    "é",
    "\t",
    "\r\n",
    "\u{1f600}",
    "pass",
    "import ",
    ".",
    "1_0",
    "..",
];

const OPERATORS: &[&str] = &["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "<", "==", "&"];

const GOOD: &str = "
    x = 0x7fffffff # a comment
    if tcpi_rtt > 1000 and not x < 5:
        assert 5 <= tcpi_rtt <= x, 'srtt=%d us' % tcpi_rtt
    else:
        print(f'{x:#x}', [x, (1,)][1][0])
";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_tokens_do_no_harm(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..40)) {
        fuzz_code(tokens.concat().as_bytes());
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        fuzz_code(&bytes);
    }

    #[test]
    fn numbers_in_any_operation_do_no_harm(
        a in any::<i128>(), b in any::<i128>(), small in -130_i128..130, x in any::<f64>(),
        operation in prop::sample::select(OPERATORS),
        format in "[-+ #0]{0,2}[0-9]{0,3}(\\.[0-9]{1,2})?[dxXofeEgGsr]",
    ) {
        let (x, y) = (Value::Float(x).repr(), Value::Float(x.sqrt()).repr());
        let x = if x.contains(['n', 'i']) { format!("float('{x}')") } else { x };
        let y = if y.contains(['n', 'i']) { format!("float('{y}')") } else { y };
        for (left, right) in [(a, b), (a, small), (small, a), (small, small)] {
            fuzz_code(format!("y = ({left}) {operation} ({right}); '%{format}' % y").as_bytes());
            fuzz_code(format!("y = ({left}) {operation} {x}; round(y, {small}); int(y)").as_bytes());
            fuzz_code(format!("y = {x} {operation} ({right}); f'{{y:{format}}}'").as_bytes());
            fuzz_code(format!("round({left}, {right}); round({left}, -{right})").as_bytes());
            fuzz_code(format!("round({x}, {right}); round({x}, {left})").as_bytes());
        }
        fuzz_code(format!("y = {x} {operation} {y}; '%{format}' % y").as_bytes());
    }

    /// A valid block, some of which is replaced.
    #[test]
    fn damaged_blocks_do_no_harm(
        at in 0..GOOD.len(), cut in 0_usize..20, with in prop::sample::select(TOKENS),
    ) {
        let end = (at + cut).min(GOOD.len());
        fuzz_code([&GOOD[..at], with, &GOOD[end..]].concat().as_bytes());
    }
}
