//! Regular expressions as PostgreSQL has them.
//!
//! They run on the `regex` crate, in linear time whatever the pattern; its notation differs in details, which
//! [`translate`] evens out. It finds where a match begins. POSIX rules decide where the match ends, and where the groups
//! are. The match as a whole is the longest possible, or the shortest for a pattern that begins with a lazy quantifier.
//! Then each part from the left takes as much as it can, or as little. [`dissect`] applies these rules where they make a
//! difference. Where a search may take longer than a time slice, an [`automaton`] does it instead, because it can stop on
//! the way. Only patterns with back-references or look-around go to a backtracking engine, whose steps are limited.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use base::{Error, Result, sqlstate};
use rustc_hash::FxHashMap;
use sync::Work;

mod automaton;
mod backtracking;
mod dissect;
mod notation;
mod simulation;
mod translate;

use automaton::{Automaton, Backwards, Matches, QUICK_BYTES_MAX, QUICK_STATES_MAX};
use backtracking::Backtracking;
use dissect::{Dissector, Groups, Parsed};
use notation::Notation;
use translate::Translator;

/// Flags of a regular expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Options {
    any_case: bool,
    expanded: bool,
    literal: bool,
    notation: Notation,
    /// `.` and negated sets don't match a line break
    line_bound_dot: bool,
    /// `^` and `$` match at line breaks too
    line_anchors: bool,
}

impl Options {
    /// As for the operators `~*` and `!~*`.
    pub const ANY_CASE: Options = Options {
        any_case: true,
        expanded: false,
        literal: false,
        notation: Notation::Advanced,
        line_bound_dot: false,
        line_anchors: false,
    };

    /// Reads flags like `gi`; also tells whether `g` was among them. 22023.
    pub fn parse(flags: &str) -> Result<(Options, bool)> {
        let (mut options, global) = Options::read(flags)?;
        // PostgreSQL's flag `e` also clears REG_EXTENDED, so the pattern is read as a basic one. `(?e)` in a pattern really means extended.
        if options.notation == Notation::Extended {
            options.notation = Notation::Basic;
        }
        Ok((options, global))
    }

    /// The same, of flags that may stand within a pattern.
    fn read(flags: &str) -> Result<(Options, bool)> {
        let mut options = Options::default();
        let mut global = false;
        for flag in flags.chars() {
            match flag {
                'g' => global = true,
                'i' => options.any_case = true,
                'c' => options.any_case = false,
                'x' => options.expanded = true,
                't' => options.expanded = false,
                'q' => options.literal = true,
                'b' => (options.literal, options.notation) = (false, Notation::Basic),
                'e' => (options.literal, options.notation) = (false, Notation::Extended),
                's' => (options.line_bound_dot, options.line_anchors) = (false, false),
                'n' | 'm' => (options.line_bound_dot, options.line_anchors) = (true, true),
                'p' => (options.line_bound_dot, options.line_anchors) = (true, false),
                'w' => (options.line_bound_dot, options.line_anchors) = (false, true),
                other => {
                    return Err(Error::new(
                        sqlstate::INVALID_PARAMETER_VALUE,
                        format!("invalid regular expression option: \"{other}\""),
                    ));
                }
            }
        }
        Ok((options, global))
    }

    /// As [`Options::parse`], for functions that don't take `g`. 22023.
    pub fn parse_plain(flags: &str, function: &str) -> Result<Options> {
        let (options, global) = Options::parse(flags)?;
        if global {
            return Err(Error::new(
                sqlstate::INVALID_PARAMETER_VALUE,
                format!("{function} does not support the \"global\" option"),
            ));
        }
        Ok(options)
    }

    /// As [`Options::parse_plain`], for `regexp_match`. 22023.
    pub fn parse_match(flags: &str) -> Result<Options> {
        Options::parse_plain(flags, "regexp_match()").map_err(|error| {
            let is_global = error.message().ends_with("\"global\" option");
            if is_global { error.hint("Use the regexp_matches function instead.") } else { error }
        })
    }
}

/// A compiled regular expression.
#[derive(Debug)]
pub struct Regex {
    engine: Engine,
    /// Finds ends and groups, where the engine's own are not POSIX's.
    dissector: Option<Dissector>,
}

#[derive(Debug)]
enum Engine {
    /// Leftmost, first alternative first.
    Linear(Box<Linear>),
    /// For what only a backtracking engine can do.
    Backtracking(Backtracking),
}

#[derive(Debug)]
struct Linear {
    regex: regex::Regex,
    /// About how many states a search may look at for each byte of a text.
    weight: usize,
    has_few_states: bool,
    /// The same pattern in the library's notation, for searches that may take long.
    pattern: String,
    options: Options,
    stepped: OnceCell<Stepped>,
}

/// The most pairs of a state and a group in a search of the library. Each takes 32 bytes: its start and end, in two tables.
const QUICK_PLACES_MAX: usize = 1 << 18;
/// So many of these pairs take the memory that is counted for one state, 1 KiB.
const PLACES_PER_STATE: usize = 32;

/// Automata for searches that let others run.
#[derive(Debug)]
struct Stepped {
    forward: Automaton,
    backward: Backwards,
}

impl Linear {
    /// The automata, if the library's search of a text of so many bytes may take longer than a time slice, or too much memory. Groups take a search of their
    /// own, which looks at many states even if there are few.
    fn stepped(&self, text_bytes: usize, wants_groups: bool) -> Result<Option<&Stepped>> {
        let has_few_states = self.has_few_states && (!wants_groups || self.regex.captures_len() == 1);
        let is_quick = has_few_states || self.weight.saturating_mul(text_bytes) <= QUICK_STATES_MAX;
        if is_quick && text_bytes <= QUICK_BYTES_MAX && self.places_of_groups() <= QUICK_PLACES_MAX {
            return Ok(None);
        }
        if let Some(stepped) = self.stepped.get() {
            return Ok(Some(stepped));
        }
        let forward = Automaton::new(&self.pattern, self.options, Matches::LeftmostFirst)?;
        let backward = Backwards::new(&self.pattern, self.options)?;
        Ok(Some(self.stepped.get_or_init(|| Stepped { forward, backward })))
    }

    /// About how many pairs of a state and a group the library's search keeps, whether groups are asked for or not.
    fn places_of_groups(&self) -> usize {
        self.weight.saturating_mul(self.regex.captures_len())
    }

    fn is_match(&self, text: &str) -> Result<bool> {
        match self.stepped(text.len(), false)? {
            Some(stepped) => stepped.forward.is_match(text, 0),
            None => Ok(self.regex.is_match(text)),
        }
    }

    fn find_at(&self, text: &str, offset: usize) -> Result<Option<Range<usize>>> {
        match self.stepped(text.len() - offset, false)? {
            Some(stepped) => stepped.forward.find(&stepped.backward, text, offset),
            None => Ok(self.regex.find_at(text, offset).map(|found| found.range())),
        }
    }

    /// The groups of the first match at `offset` or later.
    fn groups_at(&self, text: &str, offset: usize) -> Result<Option<Groups>> {
        let Some(stepped) = self.stepped(text.len() - offset, true)? else {
            let groups = |found: regex::Captures<'_>| {
                (0..found.len()).map(|group| found.get(group).map(|part| part.range())).collect()
            };
            return Ok(self.regex.captures_at(text, offset).map(groups));
        };
        match stepped.forward.find(&stepped.backward, text, offset)? {
            None => Ok(None),
            Some(whole) if self.regex.captures_len() == 1 => Ok(Some(vec![Some(whole)])),
            Some(whole) => stepped.forward.groups(text, whole),
        }
    }
}

/// A match: the places of its groups, the whole match being group 0.
#[derive(Debug)]
pub struct Captures<'t> {
    text: &'t str,
    groups: Vec<Option<Range<usize>>>,
}

impl<'t> Captures<'t> {
    /// How many groups the pattern has, counting the whole match.
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// The whole match.
    pub fn whole(&self) -> Range<usize> {
        self.groups[0].clone().expect("a match has a whole")
    }

    /// The place of a group, if it took part.
    pub fn range(&self, group: usize) -> Option<Range<usize>> {
        self.groups.get(group).cloned().flatten()
    }

    /// The text of a group, if it took part.
    pub fn get(&self, group: usize) -> Option<&'t str> {
        self.range(group).map(|range| &self.text[range])
    }
}

#[cold]
fn failed(reason: impl std::fmt::Display) -> Error {
    Error::new(sqlstate::INVALID_REGULAR_EXPRESSION, format!("regular expression failed: {reason}"))
}

impl Regex {
    /// About how much memory it takes, counted in states of its automata.
    fn weight(&self) -> usize {
        match &self.engine {
            Engine::Linear(linear) => linear.weight.saturating_add(linear.places_of_groups() / PLACES_PER_STATE),
            Engine::Backtracking(regex) => regex.weight(),
        }
    }

    /// Whether it matches anywhere. 2201B if that is too hard to find out.
    pub fn is_match(&self, text: &str) -> Result<bool> {
        match &self.engine {
            Engine::Linear(linear) => linear.is_match(text),
            Engine::Backtracking(regex) => regex.is_match(text),
        }
    }

    /// The first match that begins at `offset` or later. 2201B if that is too hard to find out.
    pub fn captures_at<'t>(&self, text: &'t str, offset: usize) -> Result<Option<Captures<'t>>> {
        let groups = match &self.engine {
            Engine::Linear(linear) => match &self.dissector {
                None => linear.groups_at(text, offset)?,
                Some(dissector) => match linear.find_at(text, offset)? {
                    None => None,
                    Some(found) => {
                        let engine = |range: Range<usize>| linear.groups_at(text, range.start);
                        Some(dissector.groups(text, found.start, &engine)?)
                    }
                },
            },
            Engine::Backtracking(regex) => regex.matches(text, offset, 1)?.pop(),
        };
        Ok(groups.map(|groups| Captures { text, groups }))
    }

    /// The first match.
    pub fn captures<'t>(&self, text: &'t str) -> Result<Option<Captures<'t>>> {
        self.captures_at(text, 0)
    }

    /// Up to `most` matches from `offset` on. After an empty one the search goes on a character further.
    pub fn matches<'t>(&self, text: &'t str, mut offset: usize, most: usize) -> Result<Vec<Captures<'t>>> {
        if let Engine::Backtracking(regex) = &self.engine {
            let found = regex.matches(text, offset, most)?;
            return Ok(found.into_iter().map(|groups| Captures { text, groups }).collect());
        }
        let mut found = Vec::new();
        while found.len() < most && offset <= text.len() {
            sync::yield_point()?;
            let Some(captures) = self.captures_at(text, offset)? else { break };
            offset = next_search(text, &captures.groups);
            found.push(captures);
        }
        Ok(found)
    }
}

/// Where the search for the next match begins.
fn next_search(text: &str, groups: &Groups) -> usize {
    let whole = groups[0].clone().expect("a match has a whole");
    if !whole.is_empty() {
        return whole.end;
    }
    whole.end + text[whole.end..].chars().next().map_or(1, char::len_utf8)
}

thread_local! {
    /// Patterns compiled lately: a statement applies the same few to many rows.
    static COMPILED: RefCell<Compiled> = RefCell::new(Compiled::default());
}

/// Compiled patterns, as many as [`COMPILED_MAX`] and [`COMPILED_WEIGHT_MAX`] allow.
#[derive(Default)]
struct Compiled {
    patterns: FxHashMap<(String, Options), Rc<Regex>>,
    weight: usize,
}

const COMPILED_MAX: usize = 64;
/// The states that all compiled patterns of a thread have together. A state may take a kilobyte with what searches keep for it.
const COMPILED_WEIGHT_MAX: usize = 1 << 16;

impl Compiled {
    fn keep(&mut self, key: (String, Options), regex: &Rc<Regex>) {
        // Another session may have compiled it meanwhile.
        if self.patterns.contains_key(&key) {
            return;
        }
        let weight = key.0.len().saturating_add(regex.weight());
        if self.patterns.len() >= COMPILED_MAX || self.weight.saturating_add(weight) > COMPILED_WEIGHT_MAX {
            *self = Compiled::default();
        }
        self.weight = self.weight.saturating_add(weight);
        self.patterns.insert(key, Rc::clone(regex));
    }
}

/// The compiled form of a pattern. 2201B for a bad one.
pub fn regex(pattern: &str, options: Options) -> Result<Rc<Regex>> {
    let key = (pattern.to_owned(), options);
    if let Some(regex) = COMPILED.with_borrow(|compiled| compiled.patterns.get(&key).cloned()) {
        return Ok(regex);
    }
    let regex = compile_anywhere(pattern, move |pattern| compile(pattern, options))?;
    let regex = Rc::new(regex);
    COMPILED.with_borrow_mut(|compiled| compiled.keep(key, &regex));
    Ok(regex)
}

/// Longer patterns are compiled by another thread.
const LONG_PATTERN_BYTES: usize = 256;
/// Patterns up to this length are compiled within seconds, since there is a limit of their size.
const VERY_LONG_PATTERN_BYTES: usize = 64 << 10;
/// So many classes of letters are compiled within a time slice.
const CLASSES_MAX: usize = 8;
/// The memory that a compiled pattern may take.
const SIZE_MAX_BYTES: usize = 1 << 24;

/// Compiles a pattern, on another thread if it may take long.
fn compile_anywhere<R: Send + 'static>(
    pattern: &str,
    compile: impl FnOnce(&str) -> Result<R> + Send + 'static,
) -> Result<R> {
    // Bounds of repetitions make a short pattern a large machine, and so do classes of letters.
    let classes = || pattern.bytes().filter(|byte| matches!(byte, b'\\' | b'[')).count();
    if pattern.len() > LONG_PATTERN_BYTES || pattern.contains('{') || classes() > CLASSES_MAX {
        let work = if pattern.len() > VERY_LONG_PATTERN_BYTES { Work::Long } else { Work::Bounded };
        let pattern = pattern.to_owned();
        return sync::on_other_thread(work, move || deep(|| compile(&pattern)))?;
    }
    deep(|| compile(pattern))
}

/// Levels of a pattern in the library's notation: groups, and what makes levels between them.
const NEST_MAX: u32 = 4 * 1000 + 100;

/// Runs what recurses as deep as a pattern is nested.
fn deep<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    sync::on_large_stack(work).map_err(|_| invalid_regex("out of memory"))?
}

fn invalid_regex(message: &str) -> Error {
    Error::new(sqlstate::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {message}"))
}

fn compile(pattern: &str, mut options: Options) -> Result<Regex> {
    let mut rest = pattern;
    if let Some(literal) = rest.strip_prefix("***=") {
        options.literal = true;
        rest = literal;
    } else if let Some(advanced) = rest.strip_prefix("***:") {
        (options.literal, options.notation) = (false, Notation::Advanced);
        rest = advanced;
    }
    if !options.literal
        && options.notation == Notation::Advanced
        && let Some((flags, after)) = embedded_flags(rest)
    {
        let (embedded, _) = Options::read(flags).map_err(|_| invalid_regex("invalid embedded option"))?;
        options = merge(options, embedded);
        rest = after;
    }
    let translated = if options.literal {
        regex::escape(rest)
    } else {
        let advanced = notation::advanced(rest, options.notation, options.expanded)?;
        // The rewritten pattern has no white space that means nothing.
        let expanded = options.expanded && options.notation == Notation::Advanced;
        let translated = Translator::new(&advanced, Options { expanded, ..options }).run()?;
        if translated.needs_backtracking {
            return compile_backtracking(&translated.text, options);
        }
        translated.text
    };
    let regex = regex::RegexBuilder::new(&translated)
        .case_insensitive(options.any_case)
        .dot_matches_new_line(!options.line_bound_dot)
        .multi_line(options.line_anchors)
        .size_limit(SIZE_MAX_BYTES)
        .nest_limit(NEST_MAX)
        .build()
        .map_err(|error| describe(&error))?;
    let Parsed { dissector, weight, has_few_states } = dissect::parse(&translated, options)?;
    let linear = Linear { regex, weight, has_few_states, pattern: translated, options, stepped: OnceCell::new() };
    Ok(Regex { engine: Engine::Linear(Box::new(linear)), dissector })
}

fn compile_backtracking(translated: &str, options: Options) -> Result<Regex> {
    let flags = [(options.any_case, 'i'), (!options.line_bound_dot, 's'), (options.line_anchors, 'm')];
    let flags: String = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| *flag).collect();
    let pattern = if flags.is_empty() { translated.to_owned() } else { format!("(?{flags}){translated}") };
    Ok(Regex { engine: Engine::Backtracking(Backtracking::new(pattern)?), dissector: None })
}

fn merge(outer: Options, embedded: Options) -> Options {
    Options {
        any_case: outer.any_case || embedded.any_case,
        expanded: outer.expanded || embedded.expanded,
        literal: embedded.literal,
        notation: embedded.notation,
        line_bound_dot: outer.line_bound_dot || embedded.line_bound_dot,
        line_anchors: outer.line_anchors || embedded.line_anchors,
    }
}

/// `(?flags)` at the start of a pattern.
fn embedded_flags(pattern: &str) -> Option<(&str, &str)> {
    let rest = pattern.strip_prefix("(?")?;
    let end = rest.find(')')?;
    let flags = &rest[..end];
    (!flags.is_empty() && flags.bytes().all(|byte| byte.is_ascii_alphabetic())).then(|| (flags, &rest[end + 1..]))
}

fn describe(error: &regex::Error) -> Error {
    let regex::Error::Syntax(text) = error else {
        return invalid_regex("regular expression is too complex");
    };
    let last = text.lines().last().unwrap_or("");
    let message = if last.contains("group") || last.contains("parenthes") {
        "parentheses () not balanced"
    } else if last.contains("class range") || last.contains("invalid range") || last.contains("character class range") {
        "invalid character range"
    } else if last.contains("unclosed character class") {
        "brackets [] not balanced"
    } else if last.contains("POSIX") || last.contains("character class") {
        "invalid character class"
    } else if last.contains("repetition operator missing") || last.contains("missing expression") {
        "quantifier operand invalid"
    } else if last.contains("repetition") {
        "invalid repetition count(s)"
    } else if last.contains("escape") {
        "invalid escape \\ sequence"
    } else {
        "invalid regexp (reg version 0.8)"
    };
    invalid_regex(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_large_patterns_are_kept_and_many_small_ones() {
        let kept = || COMPILED.with_borrow(|compiled| (compiled.patterns.len(), compiled.weight));
        for number in 1..=60 {
            regex(&format!("^[a-c]{number}$"), Options::default()).unwrap();
        }
        assert_eq!(kept().0, 60);
        for number in 1..=10 {
            regex(&format!("(x{{1,100}}{number}){{1,200}}"), Options::default()).unwrap();
            let (count, weight) = kept();
            assert!(count == 1 || weight <= COMPILED_WEIGHT_MAX, "{count} patterns of weight {weight}");
        }
        assert!(kept().0 <= 3);
    }

    #[test]
    fn a_pattern_that_is_kept_twice_is_weighed_once() {
        let regex = Rc::new(compile("a{100}", Options::default()).unwrap());
        let mut compiled = Compiled::default();
        compiled.keep(("a{100}".to_owned(), Options::default()), &regex);
        let weight = compiled.weight;
        compiled.keep(("a{100}".to_owned(), Options::default()), &regex);
        assert_eq!((compiled.patterns.len(), compiled.weight), (1, weight));
    }

    #[test]
    fn large_patterns_are_not_left_to_the_library_s_search() {
        let is_stepped = |pattern: &str, text_bytes: usize| match &regex(pattern, Options::default()).unwrap().engine {
            Engine::Linear(linear) => linear.stepped(text_bytes, false).unwrap().is_some(),
            Engine::Backtracking(_) => panic!("{pattern} needs no backtracking"),
        };
        assert!(!is_stepped(&"a".repeat(1000), 100_000) && is_stepped(&"a".repeat(30_000), 30_000));
        // The library would keep a table of places with a column for each group and a row for each state.
        assert!(!is_stepped(&"(b)|".repeat(20), 10) && is_stepped(&"(b)|".repeat(5000), 10));
    }

    #[test]
    fn regular_expressions_are_read_in_postgresql_s_notation() {
        let found = |text: &str, pattern: &str| regex(pattern, Options::default()).unwrap().is_match(text).unwrap();
        assert!(found("foo bar", r"\mbar\M"));
        assert!(found("a\nb", "a.b"));
        assert!(found("x{", "x{"));
        assert!(found("a]b", "a]b"));
        assert!(found("[", "[[]"));
        assert!(found("pg_class", "^(pg_class)$"));
        assert!(!found("a&&b", "^[a-z&]$"));
        assert_eq!(
            regex("(", Options::default()).unwrap_err().message(),
            "invalid regular expression: parentheses () not balanced"
        );
        assert_eq!(
            regex("*a", Options::default()).unwrap_err().message(),
            "invalid regular expression: quantifier operand invalid"
        );
    }

    /// The groups of the first match, `-` for those that took no part.
    fn groups(text: &str, pattern: &str) -> Vec<String> {
        let regex = regex(pattern, Options::default()).unwrap();
        let captures = regex.captures(text).unwrap().unwrap();
        (0..captures.group_count()).map(|group| captures.get(group).unwrap_or("-").to_owned()).collect()
    }

    #[test]
    fn a_match_is_the_longest_or_the_shortest_as_its_first_quantifier_says() {
        assert_eq!(groups("abc", "a|ab"), ["ab"]);
        assert_eq!(groups("abcd", "(a|ab)(c|bcd)"), ["abcd", "a", "bcd"]);
        assert_eq!(groups("ab", "a?(ab)?"), ["ab", "ab"]);
        assert_eq!(groups("XY1234Z", "Y*([0-9]{1,3})"), ["Y123", "123"]);
        assert_eq!(groups("XY1234Z", "Y*?([0-9]{1,3})"), ["Y1", "1"]);
        assert_eq!(groups("foobarbaz", "(?:(fo|foo)(.*?)){1,1}baz"), ["foobarbaz", "foo", "bar"]);
        assert_eq!(groups("ba", "(?:(a)|(b))*"), ["ba", "a", "-"]);
        assert_eq!(groups("abcabc", "(abc|ab|c)+"), ["abcabc", "c"]);
        assert_eq!(groups("abcabc", "(abc|ab|c)*"), ["abcabc", "abc"]);
        assert_eq!(groups("abc01234xyz", "(.*)(\\d+)(.*)"), ["abc01234xyz", "abc0123", "4", "xyz"]);
        assert_eq!(groups("abc01234xyz", "(.*?)(\\d+)(.*)"), ["abc0", "abc", "0", ""]);
        assert_eq!(groups("abc01234xyz", "(?:(.*?)(\\d+)(.*)){1,1}"), ["abc01234xyz", "abc", "01234", "xyz"]);
    }

    #[test]
    fn back_references_and_look_around_work_within_limits() {
        assert_eq!(groups("xabab", r"(ab)\1"), ["abab", "ab"]);
        assert_eq!(groups("foobar", "foo(?=(bar))"), ["foo"]);
        assert_eq!(groups("xbar foobar", "(?<=foo)bar"), ["bar"]);
        assert!(regex(r"\1", Options::default()).is_err());
        let hard = regex(r"^(a|aa)+(?!b)\1$", Options::default()).unwrap();
        let slow = hard.is_match(&format!("{}c", "a".repeat(200))).unwrap_err();
        assert!(slow.message().starts_with("regular expression failed"), "{slow:?}");
    }
}
