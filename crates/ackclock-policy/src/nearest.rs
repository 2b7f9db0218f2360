/// The known name closest to `met`; `None` when none is close.
///
/// Close means: at most about a third of the letters changed, added, dropped or swapped, or one name is a
/// prefix of the other.
pub fn nearest<'a>(met: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let met: String = met.chars().take(LONGEST).collect::<String>().to_lowercase().replace('_', "-");
    let plain = |name: &str| name.to_lowercase().replace('_', "-");
    let distance = |name: &str| {
        let name = plain(name);
        let begins = met.len() >= 2 && (name.starts_with(&met) || met.starts_with(&name));
        let slips = strsim::osa_distance(&met, &name);
        (if begins { slips.min(2) } else { slips }, name.len())
    };
    known
        .into_iter()
        .map(|name| (distance(name), name))
        .filter(|((d, len), _)| *d <= 1 + len / 3)
        .min_by_key(|((d, _), _)| *d)
        .map(|(_, name)| name)
}

/// Longer input is compared by its beginning: no name is nearly as long, and the comparison takes the product
/// of both lengths.
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_names_are_recognised_and_unrelated_ones_are_not() {
        let known = ["rfc793", "jacobson88", "jacobson88-ticks", "rfc6298"];
        assert_eq!(nearest("rfc6289", known), Some("rfc6298"));
        assert_eq!(nearest("Jacobson", known), Some("jacobson88"));
        assert_eq!(nearest("jacobson88_tick", known), Some("jacobson88-ticks"));
        assert_eq!(nearest("bananas", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest(&"x".repeat(1 << 20), known), None);
    }
}
