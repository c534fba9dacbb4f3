//! The session's random numbers.

/// The state of xoroshiro128**, the generator PostgreSQL 15 uses, so that `setseed` leads to the same
/// numbers. Algorithm: David Blackman and Sebastiano Vigna, <https://prng.di.unimi.it/>; seeded
/// through splitmix64.
#[derive(Clone, Debug)]
pub struct RandomState {
    s0: u64,
    s1: u64,
}

impl RandomState {
    /// Seeded from the operating system.
    pub fn from_entropy() -> RandomState {
        RandomState::from_seed(rand::random())
    }

    /// Seeded with a number.
    pub fn from_seed(seed: u64) -> RandomState {
        let mut seed = seed;
        let mut state = RandomState { s0: split_mix(&mut seed), s1: split_mix(&mut seed) };
        if state.s0 == 0 && state.s1 == 0 {
            state = RandomState { s0: 0x5851_F42D_4C95_7F2D, s1: 0x1405_7B7E_F767_814F };
        }
        state
    }

    /// Seeded as `setseed` does: the number is spread over the 52 bits of its fraction.
    pub fn from_float(seed: f64) -> RandomState {
        let scaled = ((1_u64 << 52) - 1) as f64 * seed;
        RandomState::from_seed(scaled as i64 as u64)
    }

    /// Sixty-four random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s0 = self.s0;
        let mixed = self.s1 ^ s0;
        let result = s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        self.s0 = s0.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.s1 = mixed.rotate_left(37);
        result
    }

    /// A number in `[0, 1)`.
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 12) as f64 / (1_u64 << 52) as f64
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut value = *state;
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_numbers_postgresql_gives() {
        let mut state = RandomState::from_float(0.5);
        let numbers = [state.next_f64(), state.next_f64(), state.next_f64()];
        assert_eq!(numbers, [0.9851677175347999, 0.825301858027981, 0.12974610012450416]);
        assert_eq!(RandomState::from_float(-0.25).next_f64(), 0.5553213340039351);
    }
}
