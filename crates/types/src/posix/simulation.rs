//! A search that follows all ways through a pattern at once, and lets others run.
//!
//! It takes as long for each byte as the pattern is large, whatever the text, and does what the lazy automaton can't: word boundaries
//! among all letters, and groups. It is the library's `PikeVM` with yield points. It keeps the places of groups for the ways that are
//! open only, so a pattern with many groups takes little memory in most texts.

use std::ops::Range;

use base::Result;
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;
use regex_automata::{Anchored, Input};

/// The place of a group's edge that has not been passed.
const NOWHERE: usize = usize::MAX;

/// The most places of groups that are kept for the open ways.
const SLOTS_MAX: usize = 8 << 20;

pub(super) struct Simulation<'a> {
    nfa: &'a NFA,
    input: &'a Input<'a>,
    /// Two for each group that is wanted.
    slot_count: usize,
    current: Ways,
    next: Ways,
    /// The rest of a closure, which is still to be done.
    stack: Vec<Task>,
    /// The groups' edges of the way that is followed.
    slots: Vec<usize>,
}

/// The ways that are open at a place of the text, the preferred ones first.
struct Ways {
    /// All states that ways have come to here.
    seen: Vec<StateID>,
    /// The place of each state in `seen`, if it is there.
    places: Vec<u32>,
    /// Those of them that wait for a byte, or are a match.
    states: Vec<StateID>,
    /// The groups' edges that the way of each of these has passed.
    slots: Vec<usize>,
}

enum Task {
    Follow(StateID),
    Restore { slot: usize, place: usize },
}

impl Ways {
    fn new(state_count: usize) -> Ways {
        Ways { seen: Vec::new(), places: vec![0; state_count], states: Vec::new(), slots: Vec::new() }
    }

    fn clear(&mut self) {
        self.seen.clear();
        self.states.clear();
        self.slots.clear();
    }

    /// Whether the state was not seen before.
    fn see(&mut self, state: StateID) -> bool {
        let place = self.places[state.as_usize()] as usize;
        if self.seen.get(place) == Some(&state) {
            return false;
        }
        self.places[state.as_usize()] = self.seen.len() as u32;
        self.seen.push(state);
        true
    }
}

impl<'a> Simulation<'a> {
    /// A search for which so many groups are wanted; the whole match is the first of them.
    pub fn new(nfa: &'a NFA, input: &'a Input<'a>, group_count: usize) -> Simulation<'a> {
        let (state_count, slot_count) = (nfa.states().len(), 2 * group_count);
        let ways = || Ways::new(state_count);
        let slots = vec![NOWHERE; slot_count];
        Simulation { nfa, input, slot_count, current: ways(), next: ways(), stack: Vec::new(), slots }
    }

    /// The longest end of a match that begins with the range; the first one, if the input asks for the earliest.
    pub fn longest_end(mut self) -> Result<Option<usize>> {
        let range = self.input.get_range();
        self.follow(self.nfa.start_anchored(), range.start)?;
        let mut end = None;
        for at in range.start..=range.end {
            std::mem::swap(&mut self.current, &mut self.next);
            self.next.clear();
            if self.current.states.is_empty() {
                break;
            }
            for index in 0..self.current.states.len() {
                if self.step(index, at)? {
                    end = Some(at);
                    if self.input.get_earliest() {
                        return Ok(end);
                    }
                }
            }
        }
        Ok(end)
    }

    /// The first match: of those that begin at the first place, the one that the pattern prefers.
    pub fn first_match(mut self) -> Result<Option<Vec<Option<Range<usize>>>>> {
        let range = self.input.get_range();
        let is_anchored = self.input.get_anchored() == Anchored::Yes || self.nfa.is_always_start_anchored();
        let mut found: Option<Vec<usize>> = None;
        for at in range.start..=range.end {
            std::mem::swap(&mut self.current, &mut self.next);
            self.next.clear();
            if self.current.states.is_empty() && (found.is_some() || (is_anchored && at > range.start)) {
                break;
            }
            if found.is_none() && (!is_anchored || at == range.start) {
                // A match that begins here comes after those that began before.
                std::mem::swap(&mut self.current, &mut self.next);
                self.slots.fill(NOWHERE);
                self.follow(self.nfa.start_anchored(), at)?;
                std::mem::swap(&mut self.current, &mut self.next);
            }
            for index in 0..self.current.states.len() {
                if self.step(index, at)? {
                    let first = index * self.slot_count;
                    found = Some(self.current.slots[first..first + self.slot_count].to_vec());
                    // The ways after this one are not preferred to it.
                    break;
                }
            }
            if found.is_some() && self.input.get_earliest() {
                break;
            }
        }
        let place = |edges: &[usize]| (edges[0] != NOWHERE && edges[1] != NOWHERE).then(|| edges[0]..edges[1]);
        Ok(found.map(|slots| slots.chunks(2).map(place).collect()))
    }

    /// Takes a way a byte further. True if it is a match up to here.
    fn step(&mut self, index: usize, at: usize) -> Result<bool> {
        sync::yield_point()?;
        let state = self.current.states[index];
        let text = self.input.haystack();
        let byte = if at < self.input.end() { text.get(at) } else { None };
        let next = match (self.nfa.state(state), byte) {
            (State::Match { .. }, _) => return Ok(true),
            (State::ByteRange { trans }, Some(byte)) => trans.matches_byte(*byte).then_some(trans.next),
            (State::Sparse(transitions), Some(byte)) => transitions.matches_byte(*byte),
            (State::Dense(transitions), Some(byte)) => transitions.matches_byte(*byte),
            _ => None,
        };
        if let Some(next) = next {
            let first = index * self.slot_count;
            self.slots.copy_from_slice(&self.current.slots[first..first + self.slot_count]);
            self.follow(next, at + 1)?;
        }
        Ok(false)
    }

    /// Adds a state, and those that it leads to without a byte, to the next ones.
    fn follow(&mut self, state: StateID, at: usize) -> Result<()> {
        self.stack.push(Task::Follow(state));
        while let Some(task) = self.stack.pop() {
            match task {
                Task::Restore { slot, place } => self.slots[slot] = place,
                Task::Follow(state) => {
                    sync::yield_point()?;
                    self.follow_one(state, at);
                    // A single closure may open as many ways as the pattern has alternatives.
                    if self.next.slots.len() > SLOTS_MAX {
                        return Err(super::failed("regular expression is too complex"));
                    }
                }
            }
        }
        Ok(())
    }

    fn follow_one(&mut self, mut state: StateID, at: usize) {
        loop {
            if !self.next.see(state) {
                return;
            }
            state = match self.nfa.state(state) {
                State::Look { look, next } => {
                    if !self.nfa.look_matcher().matches(*look, self.input.haystack(), at) {
                        return;
                    }
                    *next
                }
                State::Union { alternates } => {
                    let Some((first, others)) = alternates.split_first() else { return };
                    self.stack.extend(others.iter().rev().map(|other| Task::Follow(*other)));
                    *first
                }
                State::BinaryUnion { alt1, alt2 } => {
                    self.stack.push(Task::Follow(*alt2));
                    *alt1
                }
                State::Capture { next, slot, .. } => {
                    let slot = slot.as_usize();
                    if slot < self.slot_count {
                        self.stack.push(Task::Restore { slot, place: self.slots[slot] });
                        self.slots[slot] = at;
                    }
                    *next
                }
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Match { .. } | State::Fail => {
                    self.next.states.push(state);
                    self.next.slots.extend_from_slice(&self.slots);
                    return;
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_with_many_groups_is_refused_before_their_places_take_much_memory() {
        let alternatives: Vec<String> = (0..4000).map(|number| format!("({number})")).collect();
        let nfa = NFA::new(&alternatives.join("|")).unwrap();
        let input = Input::new("3999");
        let mut simulation = Simulation::new(&nfa, &input, alternatives.len() + 1);
        let refused = simulation.follow(nfa.start_anchored(), 0);
        assert_eq!(refused.unwrap_err().message(), "regular expression failed: regular expression is too complex");
        assert!(simulation.next.slots.len() <= SLOTS_MAX + simulation.slot_count);
    }
}
