//! `inet` and `cidr`: addresses of hosts and networks, kept as the text they are shown as.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::net::IpAddr;

use base::{Error, Oid, Result, sqlstate};
use ipnet::IpNet;

use super::oids;

/// PGSQL_AF_INET and PGSQL_AF_INET6
const FAMILIES: [u8; 2] = [2, 3];

/// Reads an address, and gives it as it is shown.
///
/// # Errors
/// 22P02 for what is no address; for `cidr` also if it has bits to the right of the network's.
pub fn parse(text: &str, oid: Oid) -> Result<String> {
    let name = if oid == oids::CIDR { "cidr" } else { "inet" };
    let plain = without_leading_zeros(text);
    let network = from_text(&plain).ok().or_else(|| completed(&plain, oid).parse().ok());
    let Some(network) = network else {
        let message = format!("invalid input syntax for type {name}: \"{text}\"");
        return Err(Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, message));
    };
    if oid == oids::CIDR && network.network() != network.addr() {
        return Err(Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, format!("invalid cidr value: \"{text}\""))
            .detail("Value has bits set to right of mask."));
    }
    Ok(shown(&network, oid))
}

/// Octets may begin with zeros; they are decimal nevertheless.
fn without_leading_zeros(text: &str) -> Cow<'_, str> {
    let (octets, bits) = text.split_once('/').map_or((text, None), |(octets, bits)| (octets, Some(bits)));
    let has_zeros = octets.split('.').any(|octet| octet.len() > 1 && octet.starts_with('0'));
    if !has_zeros || !octets.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Cow::Borrowed(text);
    }
    let shortened = |octet: &str| match octet.trim_start_matches('0') {
        "" if !octet.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    let octets = octets.split('.').map(shortened).collect::<Vec<_>>().join(".");
    Cow::Owned(bits.map_or_else(|| octets.clone(), |bits| format!("{octets}/{bits}")))
}

/// A network whose last octets are left out: they are zero. Without a length, as only `cidr` may be written, there are as
/// many bits as are needed for the octets, and for the network's class.
fn completed(text: &str, oid: Oid) -> String {
    let (octets, bits) = match text.split_once('/') {
        Some((octets, bits)) => (octets, Some(bits.to_owned())),
        None => (text, None),
    };
    let count = octets.split('.').count();
    let class_bits = || match octets.split('.').next().and_then(|first| first.parse::<u8>().ok())? {
        240.. => Some(32),
        // The class of multicast: its first address alone stands for all of it.
        224 if count == 1 => Some(4),
        192..=223 => Some(24),
        128..=191 => Some(16),
        _ => Some(8),
    };
    let bits = bits.or_else(|| {
        (oid == oids::CIDR)
            .then(class_bits)?
            .map(|bits: usize| if bits == 4 { bits } else { bits.max(count * 8) }.to_string())
    });
    // An address that is cut short must have all octets that its length counts.
    let is_covered = |bits: &str| oid == oids::CIDR || bits.parse::<usize>().is_ok_and(|bits| bits <= count * 8);
    match bits.filter(|bits| is_covered(bits)) {
        Some(bits) => format!("{octets}{}/{bits}", ".0".repeat(4_usize.saturating_sub(count))),
        None => text.to_owned(),
    }
}

/// Returns the address that a stored or written text stands for.
///
/// # Errors
/// 22P02 for a text that is no address.
pub fn from_text(text: &str) -> Result<IpNet> {
    match text.parse::<IpNet>() {
        Ok(network) => Ok(network),
        Err(_) => text.parse::<IpAddr>().map(IpNet::from).map_err(|_| {
            let message = format!("invalid input syntax for type inet: \"{text}\"");
            Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, message)
        }),
    }
}

/// Bytes whose `memcmp` order is that of addresses: the family, the network's bits, how many they are, all bits.
pub fn write_key(text: &str, out: &mut Vec<u8>) {
    // Every stored text was read by `parse`, so it is an address.
    let Ok(network) = from_text(text) else { return };
    match network {
        IpNet::V4(network) => {
            out.push(FAMILIES[0]);
            out.extend_from_slice(&network.network().octets());
            out.push(network.prefix_len());
            out.extend_from_slice(&network.addr().octets());
        }
        IpNet::V6(network) => {
            out.push(FAMILIES[1]);
            out.extend_from_slice(&network.network().octets());
            out.push(network.prefix_len());
            out.extend_from_slice(&network.addr().octets());
        }
    }
}

/// The order of two stored texts.
pub fn compare(left: &str, right: &str) -> Ordering {
    let key = |text: &str| {
        let mut key = Vec::with_capacity(34);
        write_key(text, &mut key);
        key
    };
    key(left).cmp(&key(right))
}

/// A single host is shown without the length of its network, except as `cidr`.
pub fn shown(network: &IpNet, oid: Oid) -> String {
    match oid == oids::CIDR || network.prefix_len() != network.max_prefix_len() {
        true => with_length(network),
        false => address_text(network.addr()),
    }
}

/// An address and how long its network's prefix is.
pub fn with_length(network: &IpNet) -> String {
    format!("{}/{}", address_text(network.addr()), network.prefix_len())
}

/// An address. The last 32 bits of one that has nothing before them are shown as those of the older family.
pub fn address_text(address: IpAddr) -> String {
    match address {
        IpAddr::V6(v6) if v6.octets()[..12].iter().all(|byte| *byte == 0) && v6.segments()[6] != 0 => {
            let [.., a, b, c, d] = v6.octets();
            format!("::{a}.{b}.{c}.{d}")
        }
        address => address.to_string(),
    }
}

/// Appends the binary form: family, bits, whether it is a network, the address's length, the address.
///
/// # Errors
/// 22P02 for a text that [`parse`] would not have given.
pub fn write_binary(text: &str, oid: Oid, out: &mut Vec<u8>) -> Result<()> {
    let network = from_text(text)?;
    let is_network = u8::from(oid == oids::CIDR);
    match network.addr() {
        IpAddr::V4(address) => {
            out.extend_from_slice(&[FAMILIES[0], network.prefix_len(), is_network, 4]);
            out.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            out.extend_from_slice(&[FAMILIES[1], network.prefix_len(), is_network, 16]);
            out.extend_from_slice(&address.octets());
        }
    }
    Ok(())
}

/// Reads the binary form, and gives the address as it is shown.
///
/// # Errors
/// 22P03 for what is no address.
pub fn read_binary(bytes: &[u8], oid: Oid) -> Result<String> {
    let invalid = || {
        let name = if oid == oids::CIDR { "cidr" } else { "inet" };
        Error::new(sqlstate::INVALID_BINARY_REPRESENTATION, format!("invalid address in external \"{name}\" value"))
    };
    let (address, bits) = match bytes {
        [2, bits, _, 4, address @ ..] => (<[u8; 4]>::try_from(address).ok().map(IpAddr::from), *bits),
        [3, bits, _, 16, address @ ..] => (<[u8; 16]>::try_from(address).ok().map(IpAddr::from), *bits),
        _ => return Err(invalid()),
    };
    let network = IpNet::new(address.ok_or_else(invalid)?, bits).map_err(|_| invalid())?;
    parse(&network.to_string(), oid).map_err(|_| invalid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_in_one_way_and_survive_the_binary_form() {
        for (text, oid, expected) in [
            ("10.0.0.1", oids::INET, "10.0.0.1"),
            ("10.0.0.1/32", oids::INET, "10.0.0.1"),
            ("10.0.0.1/8", oids::INET, "10.0.0.1/8"),
            ("::FFFF", oids::INET, "::ffff"),
            ("2001:db8::1/64", oids::INET, "2001:db8::1/64"),
            ("10.0.0.0/8", oids::CIDR, "10.0.0.0/8"),
            ("10.0.0.1", oids::CIDR, "10.0.0.1/32"),
        ] {
            let parsed = parse(text, oid).unwrap();
            assert_eq!(parsed, expected);
            let mut bytes = Vec::new();
            write_binary(&parsed, oid, &mut bytes).unwrap();
            assert_eq!(read_binary(&bytes, oid).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", " ::1", "1.2.3.4 ", "abc", "10.0.0", "10.0.0.256", "10.0.0.1/33", "::1/129", "10.0.0.1/"] {
            assert_eq!(
                parse(text, oids::INET).unwrap_err().sqlstate(),
                sqlstate::INVALID_TEXT_REPRESENTATION,
                "{text}"
            );
        }
        assert!(parse("10.0.0.1/8", oids::CIDR).is_err());
        for bytes in
            [&[][..], &[2, 32, 0, 4, 1, 2, 3], &[2, 33, 0, 4, 1, 2, 3, 4], &[9, 32, 0, 4, 1, 2, 3, 4], &[3, 0, 0, 16]]
        {
            assert!(read_binary(bytes, oids::INET).is_err(), "{bytes:?}");
        }
    }
}
