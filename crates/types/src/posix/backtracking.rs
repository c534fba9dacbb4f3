//! Patterns with look-around or back-references.
//!
//! Their engine tries one way through the pattern after another, and counts its steps back. A search can't be stopped. It ends where its
//! limit of steps ends, which is a part of the compiled pattern. So there are several attempts, each with ten times the limit of the one
//! before. An attempt that certainly fits a time slice is made by the caller's thread, and the later ones by another thread.
//! That thread begins no further attempt once the session has left, and so goes on for no more than some ten times as long as it has
//! lasted until then.

use std::sync::{Arc, OnceLock};

use base::{Error, Result};
use fancy_regex::Expr;
use sync::Work;

use super::automaton::QUICK_STATES_MAX;
use super::dissect::{CLASS_WEIGHT, DOT_WEIGHT, Groups};
use super::{compile_anywhere, failed, invalid_regex, next_search};

/// The limits of one attempt after the other. A single step can take seconds, where it looks at a large text.
const LIMITS: [usize; 7] = [1, 10, 100, QUICK_LIMIT_MAX, 10_000, 100_000, 1_000_000];
/// The largest limit of an attempt that the caller's thread makes.
const QUICK_LIMIT_MAX: usize = 1_000;
/// A class of letters has this many states that are looked at for each byte. It has many more, but the byte tells which of them matter.
const CLASS_STATES: usize = 4;

/// A pattern that may go back a limited number of steps.
#[derive(Debug)]
pub(super) struct Backtracking {
    size: Size,
    attempts: Arc<Attempts>,
}

impl Backtracking {
    /// For a pattern in the library's notation, flags included. 2201B
    pub fn new(pattern: String) -> Result<Backtracking> {
        let tree = Expr::parse_tree(&pattern).map_err(|_| bad_pattern())?;
        let attempts = Attempts { pattern, regexes: Default::default() };
        // The others are compiled when they are wanted.
        let quick = LIMITS.iter().position(|limit| *limit == QUICK_LIMIT_MAX).expect("it is one of the limits");
        attempts.regex(quick)?;
        Ok(Backtracking { size: Size::of(&tree.expr), attempts: Arc::new(attempts) })
    }

    /// About how many states it has, all attempts together.
    pub fn weight(&self) -> usize {
        self.size.weight.saturating_mul(LIMITS.len())
    }

    /// Whether the pattern matches anywhere. 2201B if that is too hard to find out.
    pub fn is_match(&self, text: &str) -> Result<bool> {
        let mut first = 0;
        if let Some(quick) = self.quick_attempt(text.len()) {
            match self.attempts.regex_anywhere(quick)?.is_match(text) {
                Err(error) if exceeds_limit(&error) => first = quick + 1,
                found => return found.map_err(failed),
            }
        }
        let (attempts, text) = (Arc::clone(&self.attempts), text.to_owned());
        let search = move || attempts.search(first, |regex| regex.is_match(&text));
        sync::on_other_thread(Work::Long, search)?
    }

    /// Up to `most` matches from `offset` on, as [`Regex::matches`](super::Regex::matches) says. 2201B if that is too hard.
    pub fn matches(&self, text: &str, mut offset: usize, most: usize) -> Result<Vec<Groups>> {
        let mut found = Vec::new();
        let mut first = 0;
        if let Some(quick) = self.quick_attempt(text.len()) {
            let regex = self.attempts.regex_anywhere(quick)?;
            while found.len() < most && offset <= text.len() {
                sync::yield_point()?;
                match groups_at(regex, text, offset) {
                    Ok(None) => return Ok(found),
                    Ok(Some(groups)) => {
                        offset = next_search(text, &groups);
                        found.push(groups);
                    }
                    Err(error) if exceeds_limit(&error) => {
                        first = quick + 1;
                        break;
                    }
                    Err(error) => return Err(failed(error)),
                }
            }
            if found.len() >= most || offset > text.len() {
                return Ok(found);
            }
        }
        // All matches are found by the other thread at once, so the text is copied once.
        let (attempts, text) = (Arc::clone(&self.attempts), text.to_owned());
        let search = move || {
            while found.len() < most && offset <= text.len() {
                let Some(groups) = attempts.search(first, |regex| groups_at(regex, &text, offset))? else { break };
                offset = next_search(&text, &groups);
                found.push(groups);
            }
            Ok(found)
        };
        sync::on_other_thread(Work::Long, search)?
    }

    /// The attempt with the highest limit that fits a time slice: the engine may look at the whole text between two steps that it counts.
    fn quick_attempt(&self, text_bytes: usize) -> Option<usize> {
        let states_per_step = self.size.states_per_byte.saturating_mul(text_bytes);
        let is_quick =
            |limit: usize| limit <= QUICK_LIMIT_MAX && states_per_step.saturating_mul(limit) <= QUICK_STATES_MAX;
        LIMITS.iter().rposition(|limit| is_quick(*limit))
    }
}

fn groups_at(regex: &fancy_regex::Regex, text: &str, offset: usize) -> fancy_regex::Result<Option<Groups>> {
    let found = regex.captures_from_pos(text, offset)?;
    Ok(found.map(|found| (0..found.len()).map(|group| found.get(group).map(|part| part.range())).collect()))
}

/// The same pattern with each of the limits.
#[derive(Debug)]
struct Attempts {
    pattern: String,
    regexes: [OnceLock<fancy_regex::Regex>; LIMITS.len()],
}

impl Attempts {
    /// The pattern with limit number `number`, compiled by this thread.
    fn regex(&self, number: usize) -> Result<&fancy_regex::Regex> {
        if let Some(regex) = self.regexes[number].get() {
            return Ok(regex);
        }
        let made = compile(&self.pattern, LIMITS[number])?;
        Ok(self.regexes[number].get_or_init(|| made))
    }

    /// The same, compiled by another thread if that may take long.
    fn regex_anywhere(&self, number: usize) -> Result<&fancy_regex::Regex> {
        if let Some(regex) = self.regexes[number].get() {
            return Ok(regex);
        }
        let made = compile_anywhere(&self.pattern, move |pattern| compile(pattern, LIMITS[number]))?;
        Ok(self.regexes[number].get_or_init(|| made))
    }

    /// Makes attempts from number `first` on, until one is within its limit.
    fn search<R>(&self, first: usize, search: impl Fn(&fancy_regex::Regex) -> fancy_regex::Result<R>) -> Result<R> {
        for number in first..LIMITS.len() {
            sync::yield_point()?;
            match search(self.regex(number)?) {
                Err(error) if exceeds_limit(&error) && number + 1 < LIMITS.len() => {}
                found => return found.map_err(failed),
            }
        }
        Err(Error::internal("a regular expression's last attempt is not its last"))
    }
}

fn compile(pattern: &str, limit: usize) -> Result<fancy_regex::Regex> {
    fancy_regex::RegexBuilder::new(pattern).backtrack_limit(limit).build().map_err(|_| bad_pattern())
}

fn bad_pattern() -> Error {
    invalid_regex("invalid regexp (reg version 0.8)")
}

fn exceeds_limit(error: &fancy_regex::Error) -> bool {
    matches!(error, fancy_regex::Error::RuntimeError(fancy_regex::RuntimeError::BacktrackLimitExceeded))
}

/// The size of a pattern or of a part of one.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    /// About how many states it has.
    weight: usize,
    /// About how many of them may be looked at for each byte of a text.
    states_per_byte: usize,
}

impl Size {
    fn of(expr: &Expr) -> Size {
        let same = |weight: usize| Size { weight, states_per_byte: weight };
        match expr {
            Expr::Literal { val, casei } => same(val.len() << u32::from(*casei)),
            Expr::Any { .. } => Size { weight: DOT_WEIGHT, states_per_byte: CLASS_STATES },
            Expr::Delegate { .. } => Size { weight: CLASS_WEIGHT, states_per_byte: CLASS_STATES },
            Expr::Repeat { child, lo, hi, .. } => {
                let times = if *hi == usize::MAX { *lo } else { *hi };
                Size::of(child).repeated(times.max(1))
            }
            expr if expr.is_leaf_node() => same(1),
            expr => expr.children_iter().map(Size::of).fold(same(1), Size::plus),
        }
    }

    fn repeated(self, times: usize) -> Size {
        let states_per_byte = self.states_per_byte.saturating_mul(times);
        Size { weight: self.weight.saturating_mul(times), states_per_byte }
    }

    fn plus(self, other: Size) -> Size {
        let states_per_byte = self.states_per_byte.saturating_add(other.states_per_byte);
        Size { weight: self.weight.saturating_add(other.weight), states_per_byte }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use base::sqlstate;

    use super::*;

    fn backtracking(pattern: &str) -> Backtracking {
        Backtracking::new(pattern.to_owned()).unwrap()
    }

    fn exceeded() -> fancy_regex::Error {
        fancy_regex::Error::RuntimeError(fancy_regex::RuntimeError::BacktrackLimitExceeded)
    }

    #[test]
    fn a_search_whose_session_has_left_begins_no_further_attempt() {
        let regex = backtracking("a(?=b)");
        let made = Cell::new(0);
        let interrupt = Arc::new(sync::Interrupt::new());
        let search = |first: usize, leaves_after: usize| {
            made.set(0);
            sync::with_interrupt(&interrupt, || {
                regex.attempts.search(first, |_| -> fancy_regex::Result<()> {
                    made.set(made.get() + 1);
                    if made.get() == leaves_after {
                        interrupt.raise(sync::InterruptKind::Cancel);
                    }
                    Err(exceeded())
                })
            })
        };
        assert_eq!(search(0, 2).unwrap_err().sqlstate().as_str(), "57014");
        assert_eq!(made.get(), 2);
        assert_eq!(search(0, usize::MAX).unwrap_err().sqlstate(), sqlstate::INVALID_REGULAR_EXPRESSION);
        assert_eq!(made.get(), LIMITS.len());
        // Attempts with a lower limit than one that was exceeded can't succeed.
        assert_eq!(search(4, usize::MAX).unwrap_err().sqlstate(), sqlstate::INVALID_REGULAR_EXPRESSION);
        assert_eq!(made.get(), LIMITS.len() - 4);
    }

    #[test]
    fn a_search_that_fits_a_time_slice_is_made_at_once() {
        let quick_limit = |pattern: &str, text_bytes: usize| {
            backtracking(pattern).quick_attempt(text_bytes).map(|number| LIMITS[number])
        };
        // A bound makes a pattern as large as its parts are, and no larger.
        for pattern in ["(?!xx)ab1", "(?!x{2})ab1", r"^(?=.*\d)(?=.*[a-z]).{8}$"] {
            assert_eq!(quick_limit(pattern, 32), Some(1000), "{pattern}");
        }
        assert_eq!(quick_limit("(?!xx)ab1", 2000), Some(100));
        assert_eq!(quick_limit(r"(?!\w{200})ab1", 2000), Some(1));
        assert_eq!(quick_limit("(?!(?:[a-z]{20}){60})ab1", 2000), None);
        assert_eq!(quick_limit("(?!xx)ab1", 10_000_000), None);
    }

    #[test]
    fn the_weight_is_that_of_all_attempts() {
        let [one, many] = ["(?!x{20})a", "(?!(x{20}){20})a"].map(|pattern| backtracking(pattern).weight());
        assert!(one >= 20 * LIMITS.len() && many >= 400 * LIMITS.len(), "{one}, {many}");
    }

    #[test]
    fn all_matches_are_found_by_whoever_searches() {
        let regex = backtracking(r"(a|é)\1|(?<=b)");
        let ends = |text: &str, offset: usize, most: usize| {
            let found = regex.matches(text, offset, most).unwrap();
            found.iter().map(|groups| groups[0].clone().unwrap().end).collect::<Vec<_>>()
        };
        let long = format!("{}{}", "aaéébé", " ".repeat(1 << 22));
        assert!(regex.quick_attempt(long.len()).is_none() && regex.quick_attempt(6).is_some());
        for text in ["aaéébé", long.as_str()] {
            assert_eq!(ends(text, 0, 3), [2, 6, 7], "{} bytes", text.len());
            assert_eq!(ends(text, 1, 1), [6]);
        }
    }
}
