//! Automata whose searches let others run, and end when their session is interrupted.
//!
//! A search takes up to the product of the automaton's size and the text's. The library's own searches can't stop on the way, so they
//! are used only where that product is small. Otherwise the library's lazy automaton is stepped byte by byte, with a yield point before
//! a step may have to build a state. It gives up at letters that aren't ASCII if the pattern has word boundaries: then the
//! [simulation](super::simulation) takes over.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use base::Result;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind, PatternID};

use super::simulation::Simulation;
use super::{NEST_MAX, Options, SIZE_MAX_BYTES, compile_anywhere, invalid_regex};

/// Within a time slice a search of the library looks at so many states at least, counted once for each byte.
pub(super) const QUICK_STATES_MAX: usize = 1 << 21;
/// Within a time slice a search of the library looks at so many bytes, if it has few states: even if it builds one for each byte.
pub(super) const QUICK_BYTES_MAX: usize = 512 << 10;
/// So many states may be looked at between two yield points.
const STATES_BETWEEN_YIELDS: usize = 1 << 13;
/// The memory for the states of one automaton: what doesn't fit is built anew.
const CACHE_BYTES: usize = 2 << 20;
/// The memory for states that a thread keeps from search to search, for all automata.
const SPARE_BYTES_MAX: usize = 16 << 20;

thread_local! {
    /// The memory of the states that this thread keeps.
    static SPARE_BYTES: Cell<usize> = const { Cell::new(0) };
}

/// Which matches an automaton finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Matches {
    /// Those that begin at the first place, of these the one that the pattern prefers.
    LeftmostFirst,
    /// All that begin at one place.
    All,
}

/// A pattern, or a part of one, ready for searches.
#[derive(Debug)]
pub(super) struct Automaton {
    nfa: NFA,
    matches: Matches,
    lazy: Option<LazyAutomaton>,
}

/// The library's automaton, whose states are built when they are wanted.
#[derive(Debug)]
struct LazyAutomaton {
    dfa: DFA,
    bytes_between_yields: usize,
    /// The states of an earlier search. A search takes them, as other sessions may use the automaton while it lets them run.
    spare: RefCell<Option<Spare>>,
}

/// States that are kept for the next search.
#[derive(Debug)]
struct Spare {
    cache: Box<Cache>,
    bytes: usize,
}

impl Spare {
    /// Keeps the states, unless this thread keeps too many already.
    fn new(cache: Box<Cache>) -> Option<Spare> {
        let bytes = cache.memory_usage();
        let all_bytes = SPARE_BYTES.get() + bytes;
        if all_bytes > SPARE_BYTES_MAX {
            return None;
        }
        SPARE_BYTES.set(all_bytes);
        Some(Spare { cache, bytes })
    }

    fn take(self) -> Box<Cache> {
        SPARE_BYTES.set(SPARE_BYTES.get() - self.bytes);
        self.cache
    }
}

/// The outcome of a search by the lazy automaton.
enum Found {
    /// The end of a match, or its start when the search goes backwards.
    At(usize),
    Nothing,
    /// It can't tell.
    GaveUp,
}

impl Automaton {
    /// For a pattern in the library's notation, from left to right. It is compiled by another thread if that may take long. 2201B
    pub fn new(pattern: &str, options: Options, matches: Matches) -> Result<Automaton> {
        let captures = if matches == Matches::All { WhichCaptures::None } else { WhichCaptures::All };
        let nfa = compile(pattern, options, thompson::Config::new().which_captures(captures))?;
        let kind = if matches == Matches::All { MatchKind::All } else { MatchKind::LeftmostFirst };
        let lazy = LazyAutomaton::new(&nfa, kind);
        Ok(Automaton { nfa, matches, lazy })
    }

    /// The memory it takes, without the states of its searches.
    pub fn size_bytes(&self) -> usize {
        self.nfa.memory_usage() + size_of::<Automaton>()
    }

    /// The longest or the shortest end of a match that begins with `range` and lies within it.
    pub fn end(&self, text: &str, range: Range<usize>, shortest: bool) -> Result<Option<usize>> {
        debug_assert!(self.matches == Matches::All);
        let input = Input::new(text).range(range).anchored(Anchored::Yes).earliest(shortest);
        match self.search_lazily(&input)? {
            Found::At(end) => Ok(Some(end)),
            Found::Nothing => Ok(None),
            Found::GaveUp => Simulation::new(&self.nfa, &input, 0).longest_end(),
        }
    }

    /// Whether there is a match from `offset` on.
    pub fn is_match(&self, text: &str, offset: usize) -> Result<bool> {
        let input = Input::new(text).range(offset..).earliest(true);
        match self.search_lazily(&input)? {
            Found::At(_) => Ok(true),
            Found::Nothing => Ok(false),
            Found::GaveUp => Ok(Simulation::new(&self.nfa, &input, 0).first_match()?.is_some()),
        }
    }

    /// The first match that begins at `offset` or later.
    pub fn find(&self, backwards: &Backwards, text: &str, offset: usize) -> Result<Option<Range<usize>>> {
        let input = Input::new(text).range(offset..);
        let end = match self.search_lazily(&input)? {
            Found::At(end) => end,
            Found::Nothing => return Ok(None),
            Found::GaveUp => return self.simulate(&input),
        };
        match backwards.start(text, offset..end)? {
            Some(start) => Ok(Some(start..end)),
            None => self.simulate(&input),
        }
    }

    fn simulate(&self, input: &Input<'_>) -> Result<Option<Range<usize>>> {
        let groups = Simulation::new(&self.nfa, input, 1).first_match()?;
        Ok(groups.and_then(|groups| groups.into_iter().next().flatten()))
    }

    /// The groups of the match that is exactly `range`, which [`Automaton::find`] has found.
    pub fn groups(&self, text: &str, range: Range<usize>) -> Result<Option<Vec<Option<Range<usize>>>>> {
        let input = Input::new(text).range(range).anchored(Anchored::Yes);
        let group_count = self.nfa.group_info().group_len(PatternID::ZERO);
        Simulation::new(&self.nfa, &input, group_count).first_match()
    }

    fn search_lazily(&self, input: &Input<'_>) -> Result<Found> {
        let Some(lazy) = &self.lazy else { return Ok(Found::GaveUp) };
        if self.nfa.states().len().saturating_mul(input.get_range().len()) > QUICK_STATES_MAX {
            return lazy.with_cache(|cache| lazy.step_forward(cache, input));
        }
        sync::yield_point()?;
        lazy.with_cache(|cache| {
            Ok(match lazy.dfa.try_search_fwd(cache, input) {
                Ok(found) => found.map_or(Found::Nothing, |found| Found::At(found.offset())),
                Err(_) => Found::GaveUp,
            })
        })
    }
}

/// The reverse of a pattern: finds where a match begins whose end is known.
#[derive(Debug)]
pub(super) struct Backwards(Option<LazyAutomaton>);

impl Backwards {
    /// For a pattern in the library's notation. 2201B
    pub fn new(pattern: &str, options: Options) -> Result<Backwards> {
        let config = thompson::Config::new().which_captures(WhichCaptures::None).reverse(true);
        let nfa = compile(pattern, options, config)?;
        Ok(Backwards(LazyAutomaton::new(&nfa, MatchKind::All)))
    }

    /// The first start of a match that ends with `range`. `None` if the automaton can't tell.
    fn start(&self, text: &str, range: Range<usize>) -> Result<Option<usize>> {
        let Some(lazy) = &self.0 else { return Ok(None) };
        let input = Input::new(text).range(range).anchored(Anchored::Yes);
        match lazy.with_cache(|cache| lazy.step_backward(cache, &input))? {
            Found::At(start) => Ok(Some(start)),
            Found::Nothing | Found::GaveUp => Ok(None),
        }
    }
}

/// By another thread if it may take long.
fn compile(pattern: &str, options: Options, config: thompson::Config) -> Result<NFA> {
    let config = config.nfa_size_limit(Some(SIZE_MAX_BYTES));
    let compile = move |pattern: &str| {
        let notation = syntax::Config::new()
            .case_insensitive(options.any_case)
            .dot_matches_new_line(!options.line_bound_dot)
            .multi_line(options.line_anchors)
            .nest_limit(NEST_MAX);
        thompson::Compiler::new()
            .configure(config)
            .syntax(notation)
            .build(pattern)
            .map_err(|_| invalid_regex("regular expression is too complex"))
    };
    compile_anywhere(pattern, compile)
}

impl Drop for LazyAutomaton {
    fn drop(&mut self) {
        self.forget_spare();
    }
}

impl LazyAutomaton {
    fn new(nfa: &NFA, kind: MatchKind) -> Option<LazyAutomaton> {
        let config = Config::new()
            .match_kind(kind)
            .unicode_word_boundary(true)
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa.clone()).ok()?;
        let bytes_between_yields = (STATES_BETWEEN_YIELDS / nfa.states().len().max(1)).max(1);
        Some(LazyAutomaton { dfa, bytes_between_yields, spare: RefCell::new(None) })
    }

    fn with_cache<R>(&self, search: impl FnOnce(&mut Cache) -> Result<R>) -> Result<R> {
        let spare = self.spare.borrow_mut().take();
        let mut cache = spare.map_or_else(|| Box::new(self.dfa.create_cache()), Spare::take);
        let found = search(&mut cache);
        // Another search may have put its own there meanwhile.
        self.forget_spare();
        *self.spare.borrow_mut() = Spare::new(cache);
        found
    }

    fn forget_spare(&self) {
        self.spare.borrow_mut().take().map(Spare::take);
    }

    /// As the library's `try_search_fwd`. A match shows one byte after its end.
    fn step_forward(&self, cache: &mut Cache, input: &Input<'_>) -> Result<Found> {
        let (text, range) = (input.haystack(), input.get_range());
        let Ok(mut state) = self.dfa.start_state_forward(cache, input) else { return Ok(Found::GaveUp) };
        let mut found = Found::Nothing;
        let mut at = range.start;
        while at < range.end {
            sync::yield_point()?;
            for _ in 0..self.bytes_between_yields.min(range.end - at) {
                let Ok(next) = self.dfa.next_state(cache, state, text[at]) else { return Ok(Found::GaveUp) };
                state = next;
                if state.is_tagged() {
                    if state.is_match() {
                        found = Found::At(at);
                        if input.get_earliest() {
                            return Ok(found);
                        }
                    } else if state.is_dead() {
                        return Ok(found);
                    } else if state.is_quit() {
                        return Ok(Found::GaveUp);
                    }
                }
                at += 1;
            }
        }
        self.last_step(cache, state, text.get(range.end), range.end, found)
    }

    /// As the library's `try_search_rev`.
    fn step_backward(&self, cache: &mut Cache, input: &Input<'_>) -> Result<Found> {
        let (text, range) = (input.haystack(), input.get_range());
        let Ok(mut state) = self.dfa.start_state_reverse(cache, input) else { return Ok(Found::GaveUp) };
        let mut found = Found::Nothing;
        let mut at = range.end;
        while at > range.start {
            sync::yield_point()?;
            for _ in 0..self.bytes_between_yields.min(at - range.start) {
                let Ok(next) = self.dfa.next_state(cache, state, text[at - 1]) else { return Ok(Found::GaveUp) };
                state = next;
                if state.is_tagged() {
                    if state.is_match() {
                        found = Found::At(at);
                    } else if state.is_dead() {
                        return Ok(found);
                    } else if state.is_quit() {
                        return Ok(Found::GaveUp);
                    }
                }
                at -= 1;
            }
        }
        let before = range.start.checked_sub(1).map(|at| &text[at]);
        self.last_step(cache, state, before, range.start, found)
    }

    /// The step that shows a match up to the end of the range, by the byte that lies there, or by the text's end.
    fn last_step(
        &self,
        cache: &mut Cache,
        state: LazyStateID,
        byte: Option<&u8>,
        end: usize,
        found: Found,
    ) -> Result<Found> {
        let last = match byte {
            Some(byte) => self.dfa.next_state(cache, state, *byte),
            None => self.dfa.next_eoi_state(cache, state),
        };
        Ok(match last {
            Ok(state) if state.is_match() => Found::At(end),
            Ok(state) if !state.is_quit() => found,
            _ => Found::GaveUp,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_states_that_automata_keep_take_bounded_memory() {
        let before = SPARE_BYTES.get();
        let mut state = 1u64;
        let mut letter = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            if state >> 63 == 0 { 'a' } else { 'b' }
        };
        let text: String = (0..20_000).map(|_| letter()).collect();
        let automata: Vec<Automaton> = (0..30)
            .map(|number| {
                let pattern = format!("(?:a|b)*a(?:a|b){{{}}}c", 12 + number % 4);
                let automaton = Automaton::new(&pattern, OPTIONS, Matches::All).unwrap();
                assert_eq!(automaton.end(&text, 0..text.len(), false).unwrap(), None);
                automaton
            })
            .collect();
        assert!((SPARE_BYTES_MAX / 2..=SPARE_BYTES_MAX).contains(&SPARE_BYTES.get()), "{}", SPARE_BYTES.get());
        assert!(automata.iter().any(|automaton| automaton.lazy.as_ref().unwrap().spare.borrow().is_none()));
        drop(automata);
        assert_eq!(SPARE_BYTES.get(), before);
    }

    const OPTIONS: Options = Options { any_case: false, ..Options::ANY_CASE };

    /// Patterns in the library's notation.
    fn patterns() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            6 => prop::sample::select(vec!["a", "b", "é", ".", "[ab]", "[^a]", "\\w", "ab", "x*"]),
            1 => prop::sample::select(vec!["^", "$", "\\b", "\\B", "\\b{start}", "\\b{end}", "\\z"]),
        ];
        leaf.prop_map(str::to_owned).prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
                prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
                inner.clone().prop_map(|part| format!("({part})")),
                (inner, prop::sample::select(vec!["*", "+", "?", "*?", "+?", "??", "{0,3}", "{2}", "{1,5}?"]))
                    .prop_map(|(part, times)| format!("(?:{part}){times}")),
            ]
        })
    }

    fn texts() -> impl Strategy<Value = String> {
        let letter = prop::sample::select(vec!["a", "a", "b", "é", " ", "x", "\n"]);
        prop::collection::vec(letter, 0..40).prop_map(|letters| letters.concat())
    }

    /// The first match by the stepped automata; `None` if they give up.
    fn stepped(forward: &Automaton, backward: &Backwards, text: &str, offset: usize) -> Option<Option<Range<usize>>> {
        let lazy = forward.lazy.as_ref()?;
        let input = Input::new(text).range(offset..);
        match lazy.with_cache(|cache| lazy.step_forward(cache, &input)).unwrap() {
            Found::At(end) => Some(Some(backward.start(text, offset..end).unwrap()?..end)),
            Found::Nothing => Some(None),
            Found::GaveUp => None,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn all_ways_to_search_find_what_the_library_finds(pattern in patterns(), text in texts(), skipped in 0usize..6) {
            let library = regex::RegexBuilder::new(&pattern).dot_matches_new_line(true).build().unwrap();
            let forward = Automaton::new(&pattern, OPTIONS, Matches::LeftmostFirst).unwrap();
            let backward = Backwards::new(&pattern, OPTIONS).unwrap();
            let offset = text.char_indices().nth(skipped).map_or(0, |(offset, _)| offset);
            let expected = library.captures_at(&text, offset);
            let whole = expected.as_ref().and_then(|found| found.get(0)).map(|whole| whole.range());
            if let Some(found) = stepped(&forward, &backward, &text, offset) {
                prop_assert_eq!(&found, &whole);
            }
            let input = Input::new(&text).range(offset..);
            prop_assert_eq!(&forward.simulate(&input).unwrap(), &whole);
            prop_assert_eq!(&forward.find(&backward, &text, offset).unwrap(), &whole);
            prop_assert_eq!(forward.is_match(&text, offset).unwrap(), whole.is_some());
            if let (Some(expected), Some(whole)) = (expected, whole) {
                let groups = (0..expected.len()).map(|group| expected.get(group).map(|part| part.range())).collect();
                prop_assert_eq!(forward.groups(&text, whole).unwrap(), Some(groups));
            }
        }

        #[test]
        fn the_ends_of_matches_are_those_that_the_library_finds(pattern in patterns(), text in texts(), shortest: bool) {
            let all = Automaton::new(&pattern, OPTIONS, Matches::All).unwrap();
            let library = regex_automata::nfa::thompson::pikevm::PikeVM::builder()
                .configure(regex_automata::nfa::thompson::pikevm::PikeVM::config().match_kind(MatchKind::All))
                // Without groups it would tell no ends.
                .build_from_nfa(compile(&pattern, OPTIONS, thompson::Config::new()).unwrap())
                .unwrap();
            let input = Input::new(&text).anchored(Anchored::Yes).earliest(shortest);
            let mut slots = [None; 2];
            library.search_slots(&mut library.create_cache(), &input, &mut slots);
            let expected = slots[1].map(|end| end.get());
            prop_assert_eq!(all.end(&text, 0..text.len(), shortest).unwrap(), expected);
            prop_assert_eq!(Simulation::new(&all.nfa, &input, 0).longest_end().unwrap(), expected);
            let lazy = all.lazy.as_ref().unwrap();
            match lazy.with_cache(|cache| lazy.step_forward(cache, &input)).unwrap() {
                Found::At(end) => prop_assert_eq!(Some(end), expected),
                Found::Nothing => prop_assert_eq!(None, expected),
                Found::GaveUp => {}
            }
        }
    }
}
