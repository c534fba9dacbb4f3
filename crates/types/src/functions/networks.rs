//! Functions of `inet` and `cidr`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base::{Error, Oid, Result, sqlstate};
use ipnet::IpNet;

use super::{FunctionDef, larger_by, mismatch, smaller_by};
use crate::network::{address_text, compare, from_text, shown, with_length};
use crate::oids::*;
use crate::value::Value;

fn network(value: &Value) -> Result<IpNet> {
    match value {
        Value::Text(text) => from_text(text),
        other => Err(mismatch(other)),
    }
}

fn value(network: IpNet, oid: Oid) -> Value {
    Value::text(shown(&network, oid))
}

/// An address alone, which as `inet` is a network of its own.
fn host(address: IpAddr) -> Value {
    Value::text(address_text(address))
}

fn is_v4(network: &IpNet) -> bool {
    matches!(network, IpNet::V4(_))
}

/// The address as a number.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

/// An address of the same family as `like`, with as long a prefix. 22003 for a number without such an address.
fn with_number(like: &IpNet, bits: u8, number: Option<u128>) -> Result<Value> {
    let out_of_range = || Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range");
    let number = number.ok_or_else(out_of_range)?;
    let address = match is_v4(like) {
        true => IpAddr::V4(Ipv4Addr::from(u32::try_from(number).map_err(|_| out_of_range())?)),
        false => IpAddr::V6(Ipv6Addr::from(number)),
    };
    Ok(value(IpNet::new(address, bits).map_err(|_| out_of_range())?, INET))
}

/// How many bits are the same at the beginning of both addresses.
fn common_bits(left: &IpNet, right: &IpNet) -> u8 {
    let differing = number(left.addr()) ^ number(right.addr());
    let unused = 128 - u32::from(left.max_prefix_len());
    (differing.leading_zeros() - unused) as u8
}

/// Whether `left` lies within `right`, by so many bits at least.
fn is_within(a: &[Value], more_bits: u8) -> Result<bool> {
    let (left, right) = (network(&a[0])?, network(&a[1])?);
    Ok(is_v4(&left) == is_v4(&right)
        && left.prefix_len() >= right.prefix_len().saturating_add(more_bits)
        && common_bits(&left, &right) >= right.prefix_len())
}

fn overlaps(a: &[Value]) -> Result<Value> {
    let (left, right) = (network(&a[0])?, network(&a[1])?);
    let bits = left.prefix_len().min(right.prefix_len());
    Ok(Value::Bool(is_v4(&left) == is_v4(&right) && common_bits(&left, &right) >= bits))
}

/// 22023 for addresses of different families.
fn of_one_family(a: &[Value], work: &str) -> Result<(IpNet, IpNet)> {
    let (left, right) = (network(&a[0])?, network(&a[1])?);
    if is_v4(&left) == is_v4(&right) {
        return Ok((left, right));
    }
    Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("cannot {work}")))
}

fn bitwise(a: &[Value], name: &str, work: fn(u128, u128) -> u128) -> Result<Value> {
    let (left, right) = of_one_family(a, &format!("{name} inet values of different sizes"))?;
    let bits = left.prefix_len().max(right.prefix_len());
    with_number(&left, bits, Some(work(number(left.addr()), number(right.addr()))))
}

fn inverted(a: &[Value]) -> Result<Value> {
    let network = network(&a[0])?;
    let all = u128::MAX >> (128 - u32::from(network.max_prefix_len()));
    with_number(&network, network.prefix_len(), Some(!number(network.addr()) & all))
}

fn subtract(address: &Value, count: &Value) -> Result<Value> {
    let Value::Int8(count) = count else { return Err(mismatch(count)) };
    // PostgreSQL adds the opposite; that of the smallest number is that number itself.
    add(address, &Value::Int8(count.wrapping_neg()))
}

fn add(address: &Value, count: &Value) -> Result<Value> {
    let Value::Int8(count) = count else { return Err(mismatch(count)) };
    let network = network(address)?;
    let sum = number(network.addr()).checked_add_signed(i128::from(*count));
    with_number(&network, network.prefix_len(), sum)
}

fn difference(a: &[Value]) -> Result<Value> {
    let (left, right) = of_one_family(a, "subtract inet values of different sizes")?;
    let (left, right) = (number(left.addr()), number(right.addr()));
    let out_of_range = |_| Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range");
    // The distance as a number of 128 bits: a larger one is out of range anyway.
    let distance = i64::try_from(left.abs_diff(right) as i128).map_err(out_of_range)?;
    Ok(Value::Int8(if left < right { -distance } else { distance }))
}

fn set_masklen(a: &[Value], oid: Oid) -> Result<Value> {
    let [_, Value::Int4(bits)] = a else { return Err(mismatch(&a[1])) };
    let network = network(&a[0])?;
    let wanted = if *bits == -1 { Ok(network.max_prefix_len()) } else { u8::try_from(*bits) };
    let changed = wanted.ok().and_then(|bits| IpNet::new(network.addr(), bits).ok());
    let Some(changed) = changed else {
        return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, format!("invalid mask length: {bits}")));
    };
    Ok(value(if oid == CIDR { changed.trunc() } else { changed }, oid))
}

/// The smallest network that both are in.
fn merged(a: &[Value]) -> Result<Value> {
    let (left, right) = of_one_family(a, "merge addresses from different families")?;
    let bits = common_bits(&left, &right).min(left.prefix_len()).min(right.prefix_len());
    let merged = IpNet::new(left.addr(), bits).map_err(|_| Error::internal("a prefix that is too long"))?;
    Ok(value(merged.trunc(), CIDR))
}

/// A network without what is zero beyond its prefix.
fn abbreviated(network: &IpNet) -> String {
    let bits = network.prefix_len();
    let address = match network.addr() {
        IpAddr::V4(address) => {
            let count = usize::from(bits.div_ceil(8)).max(1);
            let octets: Vec<String> = address.octets()[..count].iter().map(u8::to_string).collect();
            octets.join(".")
        }
        IpAddr::V6(address) => {
            if let Some(mapped) = address.to_ipv4_mapped().filter(|_| bits > 96) {
                // The last octet is left out if the network doesn't reach it.
                let [a, b, c, d] = mapped.octets();
                let last = if bits > 120 { format!(".{d}") } else { String::new() };
                let third = if bits > 112 { format!(".{c}{last}") } else { String::new() };
                return format!("::ffff:{a}.{b}{third}/{bits}");
            }
            let words = &address.segments()[..usize::from(bits.div_ceil(16))];
            let zeros = longest_zeros(words);
            let shown = |words: &[u16]| words.iter().map(|word| format!("{word:x}")).collect::<Vec<_>>().join(":");
            match zeros {
                _ if words.iter().all(|word| *word == 0) => "::".to_owned(),
                Some((from, to)) => format!("{}::{}", shown(&words[..from]), shown(&words[to..])),
                None => shown(words),
            }
        }
    };
    format!("{address}/{bits}")
}

/// The first of the longest runs of two zeros and more.
fn longest_zeros(words: &[u16]) -> Option<(usize, usize)> {
    let mut longest: Option<(usize, usize)> = None;
    let mut from = 0;
    for to in 1..=words.len() {
        if words[to - 1] != 0 {
            from = to;
        } else if to - from >= 2 && longest.is_none_or(|(start, end)| to - from > end - start) {
            longest = Some((from, to));
        }
    }
    longest
}

fn order(left: &Value, right: &Value) -> Result<std::cmp::Ordering> {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => Ok(compare(left, right)),
        (other, _) => Err(mismatch(other)),
    }
}

#[rustfmt::skip]
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::plain(598, "abbrev", &[INET], TEXT, |_, a| Ok(value(network(&a[0])?, INET))),
    FunctionDef::plain(599, "abbrev", &[CIDR], TEXT, |_, a| Ok(Value::text(abbreviated(&network(&a[0])?)))),
    FunctionDef::plain(698, "broadcast", &[INET], INET, |_, a| { let of = network(&a[0])?; with_number(&of, of.prefix_len(), Some(number(of.broadcast()))) }),
    FunctionDef::plain(1715, "cidr", &[INET], CIDR, |_, a| Ok(value(network(&a[0])?.trunc(), CIDR))),
    FunctionDef::plain(711, "family", &[INET], INT4, |_, a| Ok(Value::Int4(if is_v4(&network(&a[0])?) { 4 } else { 6 }))),
    FunctionDef::plain(699, "host", &[INET], TEXT, |_, a| Ok(host(network(&a[0])?.addr()))),
    FunctionDef::plain(1362, "hostmask", &[INET], INET, |_, a| Ok(host(network(&a[0])?.hostmask()))),
    FunctionDef::plain(697, "masklen", &[INET], INT4, |_, a| Ok(Value::Int4(i32::from(network(&a[0])?.prefix_len())))),
    FunctionDef::plain(696, "netmask", &[INET], INET, |_, a| Ok(host(network(&a[0])?.netmask()))),
    FunctionDef::plain(683, "network", &[INET], CIDR, |_, a| Ok(value(network(&a[0])?.trunc(), CIDR))),
    FunctionDef::plain(605, "set_masklen", &[INET, INT4], INET, |_, a| set_masklen(a, INET)),
    FunctionDef::plain(635, "set_masklen", &[CIDR, INT4], CIDR, |_, a| set_masklen(a, CIDR)),
    FunctionDef::plain(730, "text", &[INET], TEXT, |_, a| Ok(Value::text(with_length(&network(&a[0])?)))),
    FunctionDef::plain(4063, "inet_merge", &[INET, INET], CIDR, |_, a| merged(a)),
    FunctionDef::plain(4071, "inet_same_family", &[INET, INET], BOOL, |_, a| Ok(Value::Bool(is_v4(&network(&a[0])?) == is_v4(&network(&a[1])?)))),
    FunctionDef::plain(2627, "inetnot", &[INET], INET, |_, a| inverted(a)),
    FunctionDef::plain(2628, "inetand", &[INET, INET], INET, |_, a| bitwise(a, "AND", |left, right| left & right)),
    FunctionDef::plain(2629, "inetor", &[INET, INET], INET, |_, a| bitwise(a, "OR", |left, right| left | right)),
    FunctionDef::plain(2630, "inetpl", &[INET, INT8], INET, |_, a| add(&a[0], &a[1])),
    FunctionDef::plain(2631, "int8pl_inet", &[INT8, INET], INET, |_, a| add(&a[1], &a[0])),
    FunctionDef::plain(2632, "inetmi_int8", &[INET, INT8], INET, |_, a| subtract(&a[0], &a[1])),
    FunctionDef::plain(2633, "inetmi", &[INET, INET], INT8, |_, a| difference(a)),
    FunctionDef::plain(927, "network_sub", &[INET, INET], BOOL, |_, a| Ok(Value::Bool(is_within(a, 1)?))),
    FunctionDef::plain(928, "network_subeq", &[INET, INET], BOOL, |_, a| Ok(Value::Bool(is_within(a, 0)?))),
    FunctionDef::plain(929, "network_sup", &[INET, INET], BOOL, |_, a| Ok(Value::Bool(is_within(&[a[1].clone(), a[0].clone()], 1)?))),
    FunctionDef::plain(930, "network_supeq", &[INET, INET], BOOL, |_, a| Ok(Value::Bool(is_within(&[a[1].clone(), a[0].clone()], 0)?))),
    FunctionDef::plain(3551, "network_overlap", &[INET, INET], BOOL, |_, a| overlaps(a)),
    FunctionDef::plain(926, "network_cmp", &[INET, INET], INT4, |_, a| Ok(Value::Int4(order(&a[0], &a[1])? as i32))),
    FunctionDef::plain(3562, "network_larger", &[INET, INET], INET, |_, a| Ok(larger_by(order(&a[0], &a[1])?, a))),
    FunctionDef::plain(3563, "network_smaller", &[INET, INET], INET, |_, a| Ok(smaller_by(order(&a[0], &a[1])?, a))),
];
