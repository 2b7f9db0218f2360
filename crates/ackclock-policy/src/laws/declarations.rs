use super::for_all_defaults;
use crate::{EachKind, ParamKind, Registry, Role};

/// Keywords of Python (its reference, section 2.3.1).
const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
    "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not",
    "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// No two policies of a kind have one name, and names are of small letters, digits and dashes.
pub fn names_are_unique_and_easy_to_type(registry: &Registry) {
    let all = registry.declarations();
    for d in &all {
        assert_eq!(
            all.iter().filter(|o| (o.kind, o.name) == (d.kind, d.name)).count(),
            1,
            "{} {}",
            d.kind,
            d.name
        );
        assert!(
            d.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
            "{}",
            d.name
        );
    }
}

/// Every policy and parameter has a description, and every default is within its range and reads back.
pub fn everything_is_described_and_every_default_is_valid(registry: &Registry) {
    for d in registry.declarations() {
        assert!(
            d.about.ends_with('.') && !d.source.is_empty(),
            "{} {}: a description and a source are missing",
            d.kind,
            d.name
        );
        for p in d.params {
            let place = format!("{} {}.{}", d.kind, d.name, p.name);
            assert!(
                !KEYWORDS.contains(&p.name),
                "{place}: a keyword of Python cannot be a parameter of its classes"
            );
            assert!(
                !p.about.is_empty()
                    && p.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
                "{place}"
            );
            assert_eq!(p.check(p.default).as_ref(), Ok(&p.default), "{place}");
            assert_eq!(
                p.parse(&p.default.to_string()).as_ref(),
                Ok(&p.default),
                "{place}: written, it reads back"
            );
            assert!(p.min <= p.max || matches!(p.kind, ParamKind::Choice(_)), "{place}");
        }
    }
}

/// The name that a policy returns is that of its declaration.
pub fn a_policy_returns_its_name(registry: &Registry) {
    struct Names<'a>(&'a Registry);
    impl EachKind for Names<'_> {
        fn kind<T: Role + ?Sized>(&mut self) {
            for_all_defaults::<T>(self.0, |c, _| assert_eq!(c.build().name(), c.name()));
        }
    }
    Registry::each_kind(&mut Names(registry));
}

#[cfg(test)]
mod tests {
    use crate::laws::{built_in, for_all_defaults};
    use crate::{CongestionControl, Family, Registry};

    #[test]
    fn a_policy_of_ones_own_is_registered_beside_the_others() {
        static OWN: crate::Entry<dyn crate::Backoff> = crate::Entry {
            name: "own",
            about: "Adds the timeout once more at each expiry.",
            source: "a test",
            params: &[],
            build: |_| Box::new(Linear),
        };
        #[derive(Debug)]
        struct Linear;
        impl crate::Policy for Linear {
            fn name(&self) -> &str {
                OWN.name
            }
        }
        impl crate::Backoff for Linear {
            fn timeout(
                &self,
                rto: ackclock_units::Duration,
                expiries: u32,
                _: &mut ackclock_units::Rng,
            ) -> ackclock_units::Duration {
                rto * u64::from(expiries + 1)
            }
            fn give_up(&self, _: u32, _: ackclock_units::Duration) -> bool {
                false
            }
        }
        let mut registry = Registry::builtin();
        registry.register(&OWN).expect("a new name");
        assert_eq!(registry.choose::<dyn crate::Backoff>("own").expect("registered").build().name(), "own");
        assert_eq!(
            registry.register(&OWN).expect_err("twice").to_string(),
            "`own` is the name of another backoff already"
        );
        assert!(Registry::builtin().find::<dyn crate::Backoff>("own").is_err(), "nothing is global");
    }

    #[test]
    fn policies_are_small() {
        // Ten thousand flows have two of each (a flow may take 5 kB).
        macro_rules! check {
            ($($role:ident: $most:literal),*) => {
                $(for_all_defaults::<dyn crate::$role>(&Registry::builtin(), |c, _| {
                    let size = size_of_val(&*c.build());
                    println!("{} {size}", c.name());
                    assert!(size <= $most, "{} takes {size} bytes", c.name());
                });)*
            };
        }
        check!(RttEstimator: 192, Backoff: 32, RetransmissionTimer: 16, LossRecovery: 72, SpuriousTimeout: 16, SlowStart: 32, Reduction: 32, Framing: 16, AckPolicy: 32);
        for_all_defaults::<dyn CongestionControl>(&Registry::builtin(), |c, _| {
            // A model of the path is a few hundred bytes more.
            let (policy, most) = (c.build(), [176, 576]);
            let most = most[usize::from(policy.family() == Family::ModelBased)];
            assert!(size_of_val(&*policy) <= most, "{} takes {} bytes", c.name(), size_of_val(&*policy));
        });
    }

    #[test]
    fn the_policy_in_the_readme_is_compiled_and_keeps_the_laws() {
        let readme = include_str!("../../../../README.md");
        assert!(
            shown(readme) == include_str!("fixed.rs"),
            "README.md and crates/ackclock-policy/src/laws/fixed.rs differ"
        );
        let found = built_in().find::<dyn crate::CongestionControl>("fixed").expect("it is registered");
        assert_eq!((found.name, found.params[0].name), ("fixed", "cwnd"));
        for name in ["scenario files take `window = { kind = \"fixed\", cwnd", "`ac.window.Fixed(cwnd="] {
            assert!(readme.contains(name), "{name}");
        }
    }

    #[test]
    fn the_policy_in_the_guide_is_compiled_and_keeps_the_laws() {
        assert!(
            shown(include_str!("../../../../docs/own-policy.md")) == include_str!("gentle.rs"),
            "docs/own-policy.md and crates/ackclock-policy/src/laws/gentle.rs differ"
        );
        let found = built_in().find::<dyn crate::CongestionControl>("gentle").expect("it is registered");
        assert_eq!((found.params[0].name, found.params[1].name), ("increase", "decrease"));
    }

    /// The Rust code that a page shows first.
    fn shown(page: &str) -> &str {
        let code = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
        code.expect("the page shows a policy")
    }
}
