//! Numbers of any size: their wire, stored and key forms, and arithmetic on them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use types::Numeric;

fn check(number: &Numeric) {
    let mut stored = Vec::new();
    number.encode(&mut stored);
    let read = Numeric::decode(&stored).expect("what was written can be read");
    assert!(read.compare(number).is_eq());
    let mut wire = Vec::new();
    number.write_binary(&mut wire);
    assert!(Numeric::read_binary(&wire).expect("what was written can be read").compare(number).is_eq());
    let text = number.to_string();
    assert!(Numeric::parse(&text).expect("what was written can be read").compare(number).is_eq(), "{text}");
}

fuzz_target!(|bytes: &[u8]| {
    let [cut, rest @ ..] = bytes else { return };
    let _ = Numeric::decode(rest);
    let (left, right) = rest.split_at(usize::from(*cut).min(rest.len()));
    let Ok(left) = Numeric::read_binary(left) else { return };
    check(&left);
    let Ok(right) = Numeric::read_binary(right) else { return };
    check(&right);
    let (mut left_key, mut right_key) = (Vec::new(), Vec::new());
    left.encode_key(&mut left_key);
    right.encode_key(&mut right_key);
    assert_eq!(left_key.cmp(&right_key), left.compare(&right), "{left} {right}");
    for result in [left.add(&right), left.subtract(&right), left.multiply(&right)] {
        if let Ok(result) = result {
            check(&result);
        }
    }
    let _ = (left.divide(&right), left.remainder(&right));
});
