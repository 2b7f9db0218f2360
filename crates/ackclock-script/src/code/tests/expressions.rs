use super::*;

/// `tests/data/expressions.py` made the table; `!` stands for an exception.
#[test]
fn expressions_have_the_values_of_cpython() {
    let table = include_str!("../../../tests/data/expressions.tsv");
    let mut differences = Vec::new();
    for line in table.lines() {
        let (expression, expected) = line.split_once('\t').expect("a tab in each line");
        let met = printed(&format!("found = {expression}\nprint('%r' % (found,))"));
        let agrees = match &met {
            Ok(lines) => *lines == [expected],
            Err(_) => expected.starts_with('!'),
        };
        if !agrees {
            differences.push(format!("{expression}\n    CPython: {expected}\n    here: {met:?}"));
        }
    }
    assert!(table.lines().count() > 1500);
    assert!(differences.is_empty(), "{} of them:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn what_needs_more_than_128_bits_is_refused() {
    let largest = i128::MAX.to_string();
    assert_eq!(
        printed(&format!("print({largest}, -{largest} - 1)")).unwrap(),
        [format!("{largest} {}", i128::MIN)]
    );
    for expression in [
        "170141183460469231731687303715884105728",
        "2 ** 127",
        "2 ** 10 ** 6",
        "-2 ** 1000000000000000000000",
        "1 << 127",
        "1 << 10 ** 6",
        "-(-2 ** 126 * 2)",
        "abs(-2 ** 126 * 2)",
        "(-2 ** 126 * 2) // -1",
        "2 ** 126 + 2 ** 126",
        "-2 ** 126 - 2 ** 126 - 1",
        "2 ** 100 * 2 ** 100",
        "int('9' * 60000)",
        "int(1e39)",
        "round(1e39)",
        "round(2 ** 126 * 2 - 1 + 2 ** 126, -38)",
        "'%d' % 1e39",
    ] {
        assert!(error(&format!("print({expression})")).contains("128 bits"), "{expression}");
    }
    assert_eq!(printed("print((-2 ** 126 * 2) % -1, -2 ** 126 * 2 >> 127, -1 << 127)").unwrap().len(), 1);
}

#[test]
fn python_beyond_the_subset_is_refused() {
    for expression in [
        "(-8) ** 0.5",
        "1j",
        "{}",
        "{1}",
        "{'a': 1}",
        "lambda: 1",
        "[x for x in [1]]",
        "print",
        "x.y",
        "'a'.upper()",
        "[1, 2, 3][0:2]",
        "max([1], key=len)",
        "print(*[1])",
        "b'a'",
        "'''a'''",
        "(x := 1)",
        "f'{1:>{2}}'",
        "f'{1=}'",
        "1 is 1",
        "...",
        "é",
    ] {
        assert!(printed(&format!("found = {expression}")).is_err(), "{expression}");
    }
}
