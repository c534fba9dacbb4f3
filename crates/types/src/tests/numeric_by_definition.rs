//! `numeric` against its definition: whole numbers of any size with a scale. The engine's short cuts for numbers of at most 64 bits
//! have their edges where the number of digits, the scale, or the difference of two scales crosses 18 or 19. Cases gather there.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use proptest::prelude::*;

use crate::Numeric;

/// A decimal number as it is defined: `unscaled / 10^scale`.
#[derive(Clone, Debug)]
struct Exact {
    unscaled: BigInt,
    scale: u32,
}

fn ten_to(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// The quotient, cut off towards zero, or rounded half away from zero.
fn quotient(dividend: &BigInt, divisor: &BigInt, is_rounded: bool) -> BigInt {
    let whole = dividend / divisor;
    let rest = dividend - &whole * divisor;
    let is_half = rest.magnitude() * 2_u8 >= *divisor.magnitude();
    if !is_rounded || !is_half {
        return whole;
    }
    let is_negative = (dividend.sign() == Sign::Minus) != (divisor.sign() == Sign::Minus);
    if is_negative { whole - 1 } else { whole + 1 }
}

impl Exact {
    fn numeric(&self) -> Numeric {
        Numeric::from_parts(self.unscaled.clone(), self.scale).unwrap()
    }

    /// The digits at `scale`, which is not below its own.
    fn at(&self, scale: u32) -> BigInt {
        &self.unscaled * ten_to(scale - self.scale)
    }

    /// With `scale` digits after the point. Before the point zeros take the places that a negative scale names.
    fn rescaled(&self, scale: i64, is_rounded: bool) -> Exact {
        let shown = scale.max(0) as u32;
        if scale >= i64::from(self.scale) {
            return Exact { unscaled: self.at(shown), scale: shown };
        }
        let dropped = (i64::from(self.scale) - scale) as u32;
        let kept = quotient(&self.unscaled, &ten_to(dropped), is_rounded);
        Exact { unscaled: kept * ten_to((-scale).max(0) as u32), scale: shown }
    }

    fn text(&self) -> String {
        let digits = self.unscaled.magnitude().to_string();
        let scale = self.scale as usize;
        let digits = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let sign = if self.unscaled.sign() == Sign::Minus { "-" } else { "" };
        if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    }
}

/// Numbers with 0 to 40 digits: any, those of one digit, halves, and the neighbours of powers of ten.
fn exact() -> impl Strategy<Value = Exact> {
    let digits = prop_oneof![3 => 17_u32..21, 2 => 0_u32..20, 1 => 0_u32..41];
    let scale = prop_oneof![3 => 17_u32..21, 2 => 0_u32..8, 2 => 0_u32..41];
    (digits, scale, any::<u128>(), 0_u8..6, any::<bool>()).prop_map(|(digits, scale, random, kind, is_negative)| {
        let limit = ten_to(digits);
        let magnitude = match kind {
            0 => BigInt::from(random % 10) * &limit / 10,
            1 => &limit / 2,
            2 => (&limit / 2) - 1,
            3 => &limit - 1,
            4 => BigInt::from(i64::MAX) - BigInt::from(random % 3) + 1,
            _ => BigInt::from(random) % limit,
        };
        Exact { unscaled: if is_negative { -magnitude } else { magnitude }, scale }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn a_number_takes_any_scale(number in exact(), scale in prop_oneof![-3_i64..4, -22_i64..45]) {
        let value = number.numeric();
        prop_assert_eq!(value.to_string(), number.text());
        prop_assert_eq!(value.round(scale).unwrap().to_string(), number.rescaled(scale, true).text());
        prop_assert_eq!(value.truncate(scale).unwrap().to_string(), number.rescaled(scale, false).text());
        prop_assert_eq!(Numeric::parse(&number.text()).unwrap().to_string(), number.text());
    }

    #[test]
    fn whole_numbers_are_those_beside_it(number in exact()) {
        let value = number.numeric();
        let rounded = number.rescaled(0, true).unscaled;
        let fits = i64::try_from(&rounded).ok();
        prop_assert_eq!(value.to_integer("bigint", i64::MIN..=i64::MAX).ok(), fits);
        prop_assert_eq!(value.to_big_integer(), Some(rounded));
        let cut = number.rescaled(0, false);
        let is_whole = cut.at(number.scale) == number.unscaled;
        let below = if is_whole || number.unscaled.sign() == Sign::Plus { cut.unscaled } else { cut.unscaled - 1 };
        prop_assert_eq!(value.floor().unwrap().to_string(), below.to_string());
        let above = if is_whole { below } else { below + 1 };
        prop_assert_eq!(value.ceil().unwrap().to_string(), above.to_string());
        prop_assert_eq!(value.to_f64(), number.text().parse::<f64>().unwrap());
    }

    #[test]
    fn two_numbers_make_a_third(left in exact(), right in exact()) {
        let (a, b) = (left.numeric(), right.numeric());
        let scale = left.scale.max(right.scale);
        let (x, y) = (left.at(scale), right.at(scale));
        let text = |unscaled: BigInt, scale: u32| Exact { unscaled, scale }.text();
        prop_assert_eq!(a.add(&b).unwrap().to_string(), text(&x + &y, scale));
        prop_assert_eq!(a.subtract(&b).unwrap().to_string(), text(&x - &y, scale));
        let product = text(&left.unscaled * &right.unscaled, left.scale + right.scale);
        prop_assert_eq!(a.multiply(&b).unwrap().to_string(), product);
        prop_assert_eq!(a.compare(&b), x.cmp(&y));
        if y.sign() == Sign::NoSign {
            return Ok(());
        }
        prop_assert_eq!(a.divide_truncated(&b).unwrap().to_string(), quotient(&x, &y, false).to_string());
        prop_assert_eq!(a.remainder(&b).unwrap().to_string(), text(&x % &y, scale));
        // The scale of a quotient is PostgreSQL's choice; its last digit is rounded.
        let divided = a.divide(&b).unwrap();
        let places = divided.scale().unwrap();
        prop_assert_eq!(divided.to_string(), text(quotient(&(x * ten_to(places)), &y, true), places));
    }

    #[test]
    fn a_number_survives_its_stored_forms(left in exact(), right in exact()) {
        let value = left.numeric();
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        prop_assert_eq!(Numeric::decode(&bytes).unwrap().to_string(), left.text());
        bytes.clear();
        value.write_binary(&mut bytes);
        prop_assert_eq!(Numeric::read_binary(&bytes).unwrap().to_string(), left.text());
        let key = |number: &Exact| {
            let mut bytes = Vec::new();
            number.numeric().encode_key(&mut bytes);
            bytes
        };
        let scale = left.scale.max(right.scale);
        let by_value: Ordering = left.at(scale).cmp(&right.at(scale));
        prop_assert_eq!(key(&left).cmp(&key(&right)), by_value);
        prop_assert_eq!(value.trim_scale().compare(&value), Ordering::Equal);
    }
}
