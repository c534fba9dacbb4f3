//! The choices that a generator makes, kept as numbers: the same numbers make the same statement again, and fewer or smaller ones a
//! simpler one. A fuzzer's bytes serve as well.

/// A source of choices that remembers them.
pub struct Choices {
    given: Vec<u32>,
    at: usize,
    /// The state of the random numbers behind what is given. Without it the simplest choice follows.
    state: Option<u64>,
    made: Vec<u32>,
}

impl Choices {
    /// Random ones.
    pub fn random(seed: u64) -> Choices {
        Choices { given: Vec::new(), at: 0, state: Some(seed ^ 0x9e37_79b9_7f4a_7c15), made: Vec::new() }
    }

    /// These, and the simplest ones behind them.
    pub fn given(given: Vec<u32>) -> Choices {
        Choices { given, at: 0, state: None, made: Vec::new() }
    }

    /// The choices that were made.
    pub fn into_made(self) -> Vec<u32> {
        self.made
    }

    /// A number below `count`. 0 is the simplest choice.
    pub fn below(&mut self, count: usize) -> usize {
        let number = match (self.given.get(self.at), &mut self.state) {
            (Some(number), _) => *number,
            (None, Some(state)) => (split_mix(state) >> 33) as u32,
            (None, None) => 0,
        };
        self.at += 1;
        let chosen = number as usize % count.max(1);
        self.made.push(chosen as u32);
        chosen
    }

    /// True in so many of a hundred cases; false is the simpler choice.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) >= 100 - percent
    }

    /// One of these; the first is the simplest.
    pub fn of<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        let index = self.below(items.len());
        &items[index]
    }

    /// A number between these, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }
}

/// The next number of SplitMix64, which needs no crate: a fuzz target includes this file.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Makes a failing list of choices shorter and smaller for as long as `still_fails` says so, in so many tries at most.
pub fn shrink(mut choices: Vec<u32>, tries_max: usize, still_fails: &mut dyn FnMut(&[u32]) -> bool) -> Vec<u32> {
    let mut tries = 0;
    loop {
        let before = choices.clone();
        let mut length = (choices.len() / 2).max(1);
        loop {
            let mut at = 0;
            while at < choices.len() && tries < tries_max {
                let end = (at + length).min(choices.len());
                let mut fewer = choices.clone();
                fewer.drain(at..end);
                let mut simpler = choices.clone();
                simpler[at..end].fill(0);
                tries += 2;
                if still_fails(&fewer) {
                    choices = fewer;
                } else if simpler != choices && still_fails(&simpler) {
                    choices = simpler;
                    at = end;
                } else {
                    at = end;
                }
            }
            if length == 1 {
                break;
            }
            length /= 2;
        }
        if choices == before || tries >= tries_max {
            return choices;
        }
    }
}
