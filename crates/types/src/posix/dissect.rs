//! Where a match ends and what its groups are, by the rules of POSIX with lazy quantifiers added.
//!
//! A pattern prefers short matches if the first quantifier in it that may repeat variously is lazy, and long ones
//! otherwise; alternatives prefer long ones always. So do its parts, each for itself, within what the whole has taken. A part's
//! possible ends are found by automata, which take no wrong turns: the text is cut from the left, and each cut is made only
//! where the rest still fits.

use std::cell::{Cell, OnceCell};
use std::ops::{Deref, Range};
use std::sync::Arc;

use base::{Error, Result};
use regex_syntax::ast::{self, Ast, GroupKind, RepetitionKind, RepetitionRange};

use super::automaton::{Automaton, Matches, QUICK_STATES_MAX};
use super::{NEST_MAX, Options, invalid_regex};

/// Bytes that may be looked at to find the groups of one match.
const WORK_BYTES_MAX: u64 = 1 << 28;

/// Work charged for building an automaton, per byte of its pattern: about the memory it takes.
const AUTOMATON_WORK_BYTES: u64 = 64;

/// The memory of the automata that a pattern keeps for further searches. Each part of a sequence has one for all that follows it, so
/// those of all parts take memory that grows with the square of their number.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// Levels of a pattern that are dissected on any stack.
const SHALLOW_LEVELS: usize = 32;

/// Facts about a pattern, known before any search.
#[derive(Debug)]
pub(super) struct Parsed {
    /// `None` where the library's own matches are right.
    pub dissector: Option<Dissector>,
    /// About how many states a search may look at for each byte of a text.
    pub weight: usize,
    /// The library's search builds so few states that it looks at one of them for each byte.
    pub has_few_states: bool,
}

/// Patterns with up to so many letters and classes of letters have few states.
const FEW_LETTERS: usize = 8;

/// Reads a pattern in the library's notation. 2201B
pub(super) fn parse(pattern: &str, options: Options) -> Result<Parsed> {
    let parsed = ast::parse::ParserBuilder::new()
        .nest_limit(NEST_MAX)
        .build()
        .parse(pattern)
        .map_err(|_| invalid_regex("invalid regexp"))?;
    let mut reader = Reader {
        pattern: Arc::from(pattern),
        options,
        groups: 0,
        is_plain: true,
        repeats_groups: false,
        is_literal: true,
        has_word_boundaries: false,
        variable: 0,
        level: 0,
        levels: 0,
    };
    let root = reader.node(&parsed);
    let weight = root.weight;
    // The automaton for a literal of n letters has n states, and each may stand for up to n states of the pattern: memory and time grow
    // with n². Word boundaries need states that the library can't build.
    let is_short_literal = reader.is_literal && weight.saturating_mul(weight) <= QUICK_STATES_MAX;
    let has_few_states = is_short_literal || root.letters <= FEW_LETTERS && !reader.has_word_boundaries;
    if reader.is_plain && reader.variable <= 1 && !reader.repeats_groups {
        return Ok(Parsed { dissector: None, weight, has_few_states });
    }
    let agrees_with_ends = reader.is_plain && !reader.repeats_groups;
    let is_shallow = reader.levels <= SHALLOW_LEVELS;
    let dissector = Dissector { root, groups: reader.groups, agrees_with_ends, is_shallow, kept_bytes: Cell::new(0) };
    Ok(Parsed { dissector: Some(dissector), weight, has_few_states })
}

/// Finds the ends and groups of a pattern's matches.
#[derive(Debug)]
pub(super) struct Dissector {
    root: Node,
    groups: usize,
    /// Where the engine ends a match at the same place, its groups are right, too.
    agrees_with_ends: bool,
    is_shallow: bool,
    /// The memory of the automata that its parts keep.
    kept_bytes: Cell<usize>,
}

/// The places of groups, the whole match being group 0.
pub(super) type Groups = Vec<Option<Range<usize>>>;

impl Dissector {
    /// The groups of the match that begins at `start`, where there is one. `engine` finds those that the engine gives it.
    pub fn groups(
        &self,
        text: &str,
        start: usize,
        engine: &dyn Fn(Range<usize>) -> Result<Option<Groups>>,
    ) -> Result<Groups> {
        let dissect = || self.find_groups(text, start, engine);
        if self.is_shallow {
            return dissect();
        }
        sync::on_further_stack(dissect).map_err(|_| invalid_regex("out of memory"))?
    }

    fn find_groups(
        &self,
        text: &str,
        start: usize,
        engine: &dyn Fn(Range<usize>) -> Result<Option<Groups>>,
    ) -> Result<Groups> {
        let dissection = Dissection { work_bytes: Cell::new(0), kept_bytes: &self.kept_bytes };
        let end = dissection.end(&self.root, text, start..text.len(), self.root.is_short())?;
        let end = end.ok_or_else(|| Error::internal("a regular expression lost its match"))?;
        let mut groups = vec![None; self.groups + 1];
        groups[0] = Some(start..end);
        if self.groups == 0 {
            return Ok(groups);
        }
        if self.agrees_with_ends
            && let Some(found) = engine(start..end)?
            && found.first() == Some(&groups[0])
        {
            return Ok(found);
        }
        dissection.dissect(&self.root, text, start..end, &mut groups)?;
        Ok(groups)
    }
}

/// The search for the groups of one match.
struct Dissection<'a> {
    work_bytes: Cell<u64>,
    /// The pattern's.
    kept_bytes: &'a Cell<usize>,
}

impl Dissection<'_> {
    /// The longest or the shortest end of a match of `node` that begins with `range`.
    fn end(&self, node: &Node, text: &str, range: Range<usize>, shortest: bool) -> Result<Option<usize>> {
        let automaton = self.own(node)?;
        self.end_by(&automaton, text, range, shortest)
    }

    /// The automaton of `node` by itself.
    fn own<'n>(&self, node: &'n Node) -> Result<Made<'n>> {
        self.made(&node.automaton, || self.automaton(node.pattern(), node.options))
    }

    /// An automaton that is kept for further searches, unless the pattern keeps many already.
    fn made<'n>(&self, place: &'n Lazy, make: impl FnOnce() -> Result<Automaton>) -> Result<Made<'n>> {
        if let Some(automaton) = place.0.get() {
            return Ok(Made::Kept(automaton));
        }
        let automaton = make()?;
        let bytes = self.kept_bytes.get().saturating_add(automaton.size_bytes());
        // Another search may have put its own there while this one was made.
        if bytes > KEPT_BYTES_MAX || place.0.get().is_some() {
            return Ok(Made::ForOnce(Box::new(automaton)));
        }
        self.kept_bytes.set(bytes);
        Ok(Made::Kept(place.0.get_or_init(|| automaton)))
    }

    /// Makes an automaton. It counts as work, and bounds the memory that those of all parts take.
    fn automaton(&self, pattern: &str, options: Options) -> Result<Automaton> {
        self.count_work(pattern.len() as u64 * AUTOMATON_WORK_BYTES)?;
        Automaton::new(pattern, options, Matches::All)
    }

    fn count_work(&self, bytes: u64) -> Result<()> {
        self.work_bytes.set(self.work_bytes.get() + bytes);
        if self.work_bytes.get() > WORK_BYTES_MAX {
            return Err(super::failed("regular expression is too complex"));
        }
        Ok(())
    }

    fn end_by(&self, automaton: &Automaton, text: &str, range: Range<usize>, shortest: bool) -> Result<Option<usize>> {
        self.count_work(range.len() as u64 + 1)?;
        automaton.end(text, range, shortest)
    }

    /// Finds the groups of `node`, which matches `range` as a whole.
    fn dissect(&self, node: &Node, text: &str, range: Range<usize>, groups: &mut [Option<Range<usize>>]) -> Result<()> {
        if !node.has_groups {
            return Ok(());
        }
        match &node.kind {
            Kind::Leaf => Ok(()),
            Kind::Group(number, inner) => {
                groups[*number] = Some(range.clone());
                self.dissect(inner, text, range, groups)
            }
            Kind::Plain(inner) => self.dissect(inner, text, range, groups),
            Kind::Alternatives(alternatives) => {
                for alternative in alternatives {
                    if self.end(alternative, text, range.clone(), false)? == Some(range.end) {
                        return self.dissect(alternative, text, range, groups);
                    }
                }
                Ok(())
            }
            Kind::Sequence(parts) => {
                let mut start = range.start;
                let wanted = parts.iter().rposition(|part| part.has_groups).map_or(0, |last| last + 1);
                for (index, part) in parts[..wanted].iter().enumerate() {
                    let end = match parts.get(index + 1) {
                        None => range.end,
                        Some(next) => {
                            let rest = self.made(&part.rest, || self.automaton(next.pattern_to_end(), node.options))?;
                            let own = self.own(part)?;
                            self.cut(&own, part.is_short(), &rest, text, start..range.end)?
                        }
                    };
                    self.dissect(part, text, start..end, groups)?;
                    start = end;
                }
                Ok(())
            }
            Kind::Repetition { inner, least: 0, most } => {
                self.dissect_optional(node, inner, *most, text, range, groups)
            }
            Kind::Repetition { inner, least, most } => {
                // Only the last round's groups matter: all rounds before it are one part, which comes first.
                let before = self.made(&node.before, || {
                    let most = most.map_or(String::new(), |most| (most - 1).to_string());
                    self.automaton(&format!("(?:{}){{{},{most}}}", inner.pattern(), least - 1), node.options)
                })?;
                let last = self.own(inner)?;
                let start = self.cut(&before, node.is_short(), &last, text, range.clone())?;
                self.dissect(inner, text, start..range.end, groups)
            }
        }
    }

    /// Finds the groups of the last round of a repetition that may have none.
    fn dissect_optional(
        &self,
        node: &Node,
        inner: &Node,
        most: Option<u32>,
        text: &str,
        range: Range<usize>,
        groups: &mut [Option<Range<usize>>],
    ) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let round = self.own(inner)?;
        let unbounded =
            self.made(&node.before, || self.automaton(&format!("(?:{})*", inner.pattern()), node.options))?;
        let mut start = range.start;
        let mut done = 0;
        let last = loop {
            done += 1;
            let bounded;
            let rest = match most {
                None => &unbounded,
                Some(most) => {
                    let left = most.saturating_sub(done);
                    bounded = self.automaton(&format!("(?:{}){{0,{left}}}", inner.pattern()), node.options)?;
                    &bounded
                }
            };
            let end = self.cut(&round, inner.is_short(), rest, text, start..range.end)?;
            if end == range.end || end == start {
                break start..end;
            }
            start = end;
        };
        self.dissect(inner, text, last, groups)
    }

    /// Where `part` ends so that `rest` fits from there to the end of `range`.
    fn cut(
        &self,
        part: &Automaton,
        is_short: bool,
        rest: &Automaton,
        text: &str,
        range: Range<usize>,
    ) -> Result<usize> {
        let fits =
            |end: usize| -> Result<bool> { Ok(self.end_by(rest, text, end..range.end, false)? == Some(range.end)) };
        if is_short {
            let first = self.end_by(part, text, range.clone(), true)?.unwrap_or(range.end);
            for (offset, _) in text[first..range.end].char_indices() {
                let end = first + offset;
                if self.end_by(part, text, range.start..end, false)? == Some(end) && fits(end)? {
                    return Ok(end);
                }
            }
            return Ok(range.end);
        }
        let mut limit = range.end;
        while let Some(end) = self.end_by(part, text, range.start..limit, false)? {
            if fits(end)? {
                return Ok(end);
            }
            match text[range.start..end].char_indices().next_back() {
                Some((offset, _)) => limit = range.start + offset,
                None => break,
            }
        }
        Ok(range.end)
    }
}

/// A part of a pattern.
#[derive(Debug)]
struct Node {
    kind: Kind,
    /// It prefers short matches, or long ones, if it has a preference.
    prefers_short: Option<bool>,
    has_groups: bool,
    /// About how many states it has.
    weight: usize,
    /// Its letters and classes of letters, each as often as it may be repeated.
    letters: usize,
    /// The whole pattern; where its own notation is in there, and where its sequence ends.
    whole: Arc<str>,
    span: Range<usize>,
    end_of_sequence: usize,
    options: Options,
    automaton: Lazy,
    /// The automaton of all parts behind it in its sequence.
    rest: Lazy,
    /// For a repetition, the automaton of all rounds but the last.
    before: Lazy,
}

#[derive(Debug)]
enum Kind {
    Leaf,
    Group(usize, Box<Node>),
    /// Parentheses without a number.
    Plain(Box<Node>),
    Sequence(Vec<Node>),
    Alternatives(Vec<Node>),
    Repetition {
        inner: Box<Node>,
        least: u32,
        most: Option<u32>,
    },
}

impl Kind {
    fn has_groups(&self) -> bool {
        match self {
            Kind::Leaf => false,
            Kind::Group(..) => true,
            Kind::Plain(inner) | Kind::Repetition { inner, .. } => inner.has_groups,
            Kind::Sequence(parts) | Kind::Alternatives(parts) => parts.iter().any(|part| part.has_groups),
        }
    }
}

impl Node {
    fn is_short(&self) -> bool {
        self.prefers_short == Some(true)
    }

    /// Its own notation.
    fn pattern(&self) -> &str {
        &self.whole[self.span.clone()]
    }

    /// That of it and of what follows in its sequence.
    fn pattern_to_end(&self) -> &str {
        &self.whole[self.span.start..self.end_of_sequence]
    }

    fn is_leaf(&self) -> bool {
        matches!(self.kind, Kind::Leaf)
    }
}

struct Reader {
    pattern: Arc<str>,
    options: Options,
    groups: usize,
    /// There are neither alternatives nor lazy quantifiers.
    is_plain: bool,
    /// A group is repeated.
    repeats_groups: bool,
    /// There are only letters and alternatives of them.
    is_literal: bool,
    has_word_boundaries: bool,
    /// Quantifiers that may repeat variously.
    variable: u32,
    /// Levels of the pattern around the part that is read, and the most of them.
    level: usize,
    levels: usize,
}

/// About how many states a search looks at for a class of letters. All its letters may have hundreds.
pub(super) const CLASS_WEIGHT: usize = 100;
/// The same for any letter.
pub(super) const DOT_WEIGHT: usize = 8;

impl Reader {
    fn node(&mut self, ast: &Ast) -> Node {
        let span = ast.span().start.offset..ast.span().end.offset;
        self.level += 1;
        self.levels = self.levels.max(self.level);
        let (kind, prefers_short) = match ast {
            Ast::Group(group) => self.group(group),
            Ast::Concat(concat) => self.sequence(concat, span.end),
            Ast::Alternation(alternation) => {
                self.is_plain = false;
                let alternatives = alternation.asts.iter().map(|alternative| self.node(alternative)).collect();
                (Kind::Alternatives(alternatives), Some(false))
            }
            Ast::Repetition(repetition) => self.repetition(repetition),
            _ => (Kind::Leaf, None),
        };
        self.level -= 1;
        let (weight, letters) = self.weight_and_letters(&kind, ast);
        let has_groups = kind.has_groups();
        Node {
            kind,
            prefers_short,
            has_groups,
            weight,
            letters,
            whole: Arc::clone(&self.pattern),
            end_of_sequence: span.end,
            span,
            options: self.options,
            automaton: Lazy::default(),
            rest: Lazy::default(),
            before: Lazy::default(),
        }
    }

    fn group(&mut self, group: &ast::Group) -> (Kind, Option<bool>) {
        let number = match group.kind {
            GroupKind::CaptureIndex(number) => Some(number as usize),
            _ => None,
        };
        self.groups = self.groups.max(number.unwrap_or(0));
        let inner = Box::new(self.node(&group.ast));
        let prefers = inner.prefers_short;
        let kind = match number {
            Some(number) => Kind::Group(number, inner),
            None => Kind::Plain(inner),
        };
        (kind, prefers)
    }

    fn sequence(&mut self, concat: &ast::Concat, end: usize) -> (Kind, Option<bool>) {
        let mut parts: Vec<Node> = Vec::new();
        for ast in &concat.asts {
            let mut part = self.node(ast);
            part.end_of_sequence = end;
            // Letters in a row are one part: they fit a text in one way.
            match parts.last_mut() {
                Some(last) if last.is_leaf() && part.is_leaf() => {
                    last.span.end = part.span.end;
                    last.weight = last.weight.saturating_add(part.weight);
                    last.letters = last.letters.saturating_add(part.letters);
                }
                _ => parts.push(part),
            }
        }
        let prefers = parts.iter().find_map(|part| part.prefers_short);
        (Kind::Sequence(parts), prefers)
    }

    fn repetition(&mut self, repetition: &ast::Repetition) -> (Kind, Option<bool>) {
        let before = self.groups;
        let inner = Box::new(self.node(&repetition.ast));
        let (least, most, is_exact) = match &repetition.op.kind {
            RepetitionKind::ZeroOrOne => (0, Some(1), false),
            RepetitionKind::ZeroOrMore => (0, None, false),
            RepetitionKind::OneOrMore => (1, None, false),
            RepetitionKind::Range(RepetitionRange::Exactly(count)) => (*count, Some(*count), true),
            RepetitionKind::Range(RepetitionRange::AtLeast(least)) => (*least, None, false),
            RepetitionKind::Range(RepetitionRange::Bounded(least, most)) => (*least, Some(*most), false),
        };
        self.repeats_groups |= self.groups > before;
        let prefers = if is_exact {
            inner.prefers_short
        } else {
            self.is_plain &= repetition.greedy;
            self.variable += 1;
            Some(!repetition.greedy)
        };
        (Kind::Repetition { inner, least, most }, prefers)
    }

    fn weight_and_letters(&mut self, kind: &Kind, ast: &Ast) -> (usize, usize) {
        match kind {
            Kind::Leaf => (self.leaf_weight(ast), 1),
            Kind::Group(_, inner) | Kind::Plain(inner) => (inner.weight, inner.letters),
            Kind::Sequence(parts) | Kind::Alternatives(parts) => {
                parts.iter().fold((0, 0), |(weight, letters): (usize, usize), part| {
                    (weight.saturating_add(part.weight), letters.saturating_add(part.letters))
                })
            }
            Kind::Repetition { inner, least, most } => {
                self.is_literal = false;
                let times = most.unwrap_or(*least).max(1) as usize;
                (inner.weight.saturating_mul(times), inner.letters.saturating_mul(times))
            }
        }
    }

    fn leaf_weight(&mut self, leaf: &Ast) -> usize {
        match leaf {
            Ast::Literal(_) | Ast::Empty(_) | Ast::Flags(_) => 1 + usize::from(self.options.any_case),
            Ast::Assertion(assertion) => {
                use ast::AssertionKind::{EndLine, EndText, StartLine, StartText};
                self.is_literal = false;
                self.has_word_boundaries |= !matches!(assertion.kind, StartLine | EndLine | StartText | EndText);
                1
            }
            Ast::Dot(_) => {
                self.is_literal = false;
                DOT_WEIGHT
            }
            _ => {
                self.is_literal = false;
                CLASS_WEIGHT
            }
        }
    }
}

/// An automaton that is made when it is wanted first.
#[derive(Debug, Default)]
struct Lazy(OnceCell<Automaton>);

/// An automaton that was made now or before.
enum Made<'n> {
    Kept(&'n Automaton),
    ForOnce(Box<Automaton>),
}

impl Deref for Made<'_> {
    type Target = Automaton;

    fn deref(&self) -> &Automaton {
        match self {
            Made::Kept(automaton) => automaton,
            Made::ForOnce(automaton) => automaton,
        }
    }
}
