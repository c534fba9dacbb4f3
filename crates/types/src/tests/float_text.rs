//! The text of large floats against its definition: the shortest decimal that lies strictly between the two points half-way to the
//! neighbours. These floats are whole numbers, so whole numbers of any size can tell.

use num_bigint::BigInt;
use proptest::prelude::*;

use crate::number_text::{write_float4, write_float8};

/// A float as a whole number, with its neighbours below and above.
struct Exact {
    below: BigInt,
    value: BigInt,
    above: BigInt,
}

impl Exact {
    fn has_strictly(&self, number: &BigInt) -> bool {
        number * 2 > &self.below + &self.value && number * 2 < &self.above + &self.value
    }

    /// The multiple of `unit` next to the value.
    fn nearest(&self, unit: &BigInt) -> BigInt {
        (&self.value * 2 + unit) / (unit * 2) * unit
    }

    /// Checks a text such as `1.25e+20`.
    fn check(&self, text: &str) -> Result<(), TestCaseError> {
        let (digits, exponent) = text.split_once("e+").unwrap_or((text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let exponent = exponent.parse::<u32>().unwrap();
        let unit = BigInt::from(10).pow(exponent - fraction.len() as u32);
        let number = format!("{whole}{fraction}").parse::<BigInt>().unwrap() * &unit;
        prop_assert!(self.has_strictly(&number), "{text} is no text of {}", self.value);
        prop_assert_eq!(&number, &self.nearest(&unit), "{} is not the nearest one", text);
        let shorter = self.nearest(&(unit * 10));
        prop_assert!(!self.has_strictly(&shorter), "{shorter} is shorter than {text}");
        Ok(())
    }
}

/// A double that is a whole number.
fn whole(value: f64) -> BigInt {
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1) | 1 << 52;
    let exponent = (bits >> 52) as i64 - 1023 - 52;
    if exponent < 0 { BigInt::from(fraction >> -exponent) } else { BigInt::from(fraction) << exponent }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn float8_has_the_shortest_text(exponent in 54_i32..300, fraction in 1_u64..(1 << 52), zeros in 0_u32..40) {
        // Floats with few digits set lie half-way to short decimals more often.
        let value = f64::from_bits(((1023 + exponent) as u64) << 52 | fraction >> zeros << zeros | 1 << zeros);
        let exact = Exact { below: whole(value.next_down()), value: whole(value), above: whole(value.next_up()) };
        let mut text = Vec::new();
        write_float8(value, 1, &mut text);
        exact.check(std::str::from_utf8(&text).unwrap())?;
    }

    #[test]
    fn float4_has_the_shortest_text(exponent in 25_i32..127, fraction in 1_u32..(1 << 23), zeros in 0_u32..16) {
        let value = f32::from_bits(((127 + exponent) as u32) << 23 | fraction >> zeros << zeros | 1 << zeros);
        let whole = |value: f32| whole(f64::from(value));
        let exact = Exact { below: whole(value.next_down()), value: whole(value), above: whole(value.next_up()) };
        let mut text = Vec::new();
        write_float4(value, 1, &mut text);
        exact.check(std::str::from_utf8(&text).unwrap())?;
    }
}
