//! Functions of `macaddr` and `macaddr8`.

use base::Result;

use super::{FunctionDef, mismatch};
use crate::compare::compare_values;
use crate::mac_address::{narrowed, widened};
use crate::oids::*;
use crate::value::Value;

/// The same with each octet changed.
fn octets(a: &[Value], change: fn(usize, u8) -> u8) -> Result<Value> {
    let changed = |place: usize, octet: &mut u8| *octet = change(place, *octet);
    match &a[0] {
        Value::MacAddr(address) => {
            let mut address = *address;
            address.iter_mut().enumerate().for_each(|(place, octet)| changed(place, octet));
            Ok(Value::MacAddr(address))
        }
        Value::MacAddr8(address) => {
            let mut address = *address;
            address.iter_mut().enumerate().for_each(|(place, octet)| changed(place, octet));
            Ok(Value::MacAddr8(address))
        }
        other => Err(mismatch(other)),
    }
}

/// Each octet of two addresses combined.
fn combined(a: &[Value], combine: fn(u8, u8) -> u8) -> Result<Value> {
    match a {
        [Value::MacAddr(left), Value::MacAddr(right)] => {
            Ok(Value::MacAddr(std::array::from_fn(|place| combine(left[place], right[place]))))
        }
        [Value::MacAddr8(left), Value::MacAddr8(right)] => {
            Ok(Value::MacAddr8(std::array::from_fn(|place| combine(left[place], right[place]))))
        }
        _ => Err(mismatch(&a[0])),
    }
}

/// The manufacturer's octets alone.
fn truncated(a: &[Value]) -> Result<Value> {
    octets(a, |place, octet| if place < 3 { octet } else { 0 })
}

fn to_wide(a: &[Value]) -> Result<Value> {
    take!(a; MacAddr address);
    Ok(Value::MacAddr8(widened(*address)))
}

fn to_narrow(a: &[Value]) -> Result<Value> {
    take!(a; MacAddr8 address);
    Ok(Value::MacAddr(narrowed(*address)?))
}

fn order(a: &[Value]) -> Result<Value> {
    Ok(Value::Int4(compare_values(&a[0], &a[1]) as i32))
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(753, "trunc", &[MACADDR], MACADDR, |_, a| truncated(a)),
    FunctionDef::plain(836, "macaddr_cmp", &[MACADDR, MACADDR], INT4, |_, a| order(a)),
    FunctionDef::plain(3144, "macaddr_not", &[MACADDR], MACADDR, |_, a| octets(a, |_, octet| !octet)),
    FunctionDef::plain(3145, "macaddr_and", &[MACADDR, MACADDR], MACADDR, |_, a| combined(a, |left, right| left & right)),
    FunctionDef::plain(3146, "macaddr_or", &[MACADDR, MACADDR], MACADDR, |_, a| combined(a, |left, right| left | right)),
    FunctionDef::plain(4112, "trunc", &[MACADDR8], MACADDR8, |_, a| truncated(a)),
    FunctionDef::plain(4119, "macaddr8_cmp", &[MACADDR8, MACADDR8], INT4, |_, a| order(a)),
    FunctionDef::plain(4120, "macaddr8_not", &[MACADDR8], MACADDR8, |_, a| octets(a, |_, octet| !octet)),
    FunctionDef::plain(4121, "macaddr8_and", &[MACADDR8, MACADDR8], MACADDR8, |_, a| combined(a, |left, right| left & right)),
    FunctionDef::plain(4122, "macaddr8_or", &[MACADDR8, MACADDR8], MACADDR8, |_, a| combined(a, |left, right| left | right)),
    FunctionDef::plain(4123, "macaddr8", &[MACADDR], MACADDR8, |_, a| to_wide(a)),
    FunctionDef::plain(4124, "macaddr", &[MACADDR8], MACADDR, |_, a| to_narrow(a)),
    FunctionDef::plain(4125, "macaddr8_set7bit", &[MACADDR8], MACADDR8, |_, a| octets(a, |place, octet| if place == 0 { octet | 2 } else { octet })),
];
