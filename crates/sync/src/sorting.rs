//! Sorting that lets others run.

use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use base::{Error, Result};

use crate::time_slice::yield_point;

/// As the standard library's `sort_by`, with a [`yield_point`] at each comparison.
///
/// # Errors
/// Those of the yield point: the items are then in some order.
pub fn sort_by<T>(items: &mut [T], compare: impl FnMut(&T, &T) -> Ordering) -> Result<()> {
    sort_with(compare, |compare| items.sort_by(compare))
}

/// As the standard library's `sort_unstable_by`, with a [`yield_point`] at each comparison.
///
/// # Errors
/// As [`sort_by`].
pub fn sort_unstable_by<T>(items: &mut [T], compare: impl FnMut(&T, &T) -> Ordering) -> Result<()> {
    sort_with(compare, |compare| items.sort_unstable_by(compare))
}

/// A comparison can't fail, and one that lies may make the library panic. So an interrupted sort is left by unwinding; the
/// library keeps the items whole then.
fn sort_with<T>(
    mut compare: impl FnMut(&T, &T) -> Ordering,
    sort: impl FnOnce(&mut dyn FnMut(&T, &T) -> Ordering),
) -> Result<()> {
    let mut compare = |left: &T, right: &T| {
        if let Err(error) = yield_point() {
            resume_unwind(Box::new(Interrupted(error)));
        }
        compare(left, right)
    };
    catch_unwind(AssertUnwindSafe(|| sort(&mut compare))).or_else(|payload| match payload.downcast::<Interrupted>() {
        Ok(interrupted) => Err(interrupted.0),
        Err(payload) => resume_unwind(payload),
    })
}

/// The payload that an interrupted sort unwinds with.
struct Interrupted(Error);

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::{Interrupt, InterruptKind, with_interrupt};

    #[test]
    fn an_interrupt_ends_a_sort_and_loses_nothing() {
        let interrupt = Interrupt::new();
        let mut comparisons = 0;
        let mut items: Vec<u64> = (0..1000u64).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40).collect();
        let mut expected = items.clone();
        expected.sort_unstable();
        let result = with_interrupt(&interrupt, || {
            sort_by(&mut items, |left, right| {
                comparisons += 1;
                if comparisons == 500 {
                    interrupt.raise(InterruptKind::Cancel);
                }
                left.cmp(right)
            })
        });
        assert_eq!(result.unwrap_err().sqlstate().as_str(), "57014");
        assert_eq!(comparisons, 500);
        sort_unstable_by(&mut items, Ord::cmp).unwrap();
        assert_eq!(items, expected);
    }
}
