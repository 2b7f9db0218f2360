//! Differences of counters since an earlier state.

use crate::Duration;

/// A counter, or several of them.
pub trait Count {
    /// What was counted since the state `before`.
    #[must_use]
    fn since(&self, before: &Self) -> Self;
}

macro_rules! plain {
    ($($t:ty),*) => {$(
        impl Count for $t {
            fn since(&self, before: &Self) -> Self {
                *self - *before
            }
        }
    )*};
}

plain!(u32, u64, Duration);

impl<T: Count, const N: usize> Count for [T; N] {
    fn since(&self, before: &Self) -> Self {
        std::array::from_fn(|i| self[i].since(&before[i]))
    }
}

impl<T: Count> Count for Vec<T> {
    fn since(&self, before: &Self) -> Self {
        self.iter().zip(before).map(|(now, before)| now.since(before)).collect()
    }
}

impl<T: Count> Count for Option<T> {
    fn since(&self, before: &Self) -> Self {
        self.as_ref().zip(before.as_ref()).map(|(now, before)| now.since(before))
    }
}

impl<A: Count, B: Count> Count for (A, B) {
    fn since(&self, before: &Self) -> Self {
        (self.0.since(&before.0), self.1.since(&before.1))
    }
}

/// A `struct` of counters since an earlier state of them. Every field is in one of three lists: `counted`
/// fields are differences, `kept` fields are copied, `set` fields have their own expression.
///
/// ```
/// #[derive(Clone)]
/// struct Counters {
///     sent: u64,
///     longest: u32,
/// }
/// let (now, before) = (Counters { sent: 5, longest: 7 }, Counters { sent: 2, longest: 3 });
/// let since = ackclock_units::since!(Counters { now, before } counted { sent } kept { longest } set {});
/// assert_eq!((since.sent, since.longest), (3, 7));
/// ```
#[macro_export]
macro_rules! since {
    (
        $t:ident { $now:expr, $before:expr }
        counted { $($counted:ident),* $(,)? }
        kept { $($kept:ident),* $(,)? }
        set { $($set:ident: $value:expr),* $(,)? }
    ) => {
        $t {
            $($counted: $crate::Count::since(&$now.$counted, &$before.$counted),)*
            $($kept: $now.$kept.clone(),)*
            $($set: $value,)*
        }
    };
}
