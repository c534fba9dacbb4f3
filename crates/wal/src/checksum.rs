//! CRC32C of short stretches of bytes, as fast as the processor's instruction for it: records are short, and `crc32c`'s
//! three-way interleaving costs more than it gains below a few hundred bytes.
#![allow(unsafe_code)]

/// Longer stretches are `crc32c`'s.
const SHORT_BYTES: usize = 512;

/// The checksum of what `checksum` covers followed by `bytes`. 0 covers nothing.
#[inline]
pub(crate) fn extend(checksum: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() <= SHORT_BYTES && std::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instructions.
        return unsafe { extend_short(checksum, bytes) };
    }
    crc32c::crc32c_append(checksum, bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn extend_short(checksum: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u32, _mm_crc32_u64};
    let (words, rest) = bytes.as_chunks::<8>();
    let mut long = u64::from(!checksum);
    for word in words {
        long = _mm_crc32_u64(long, u64::from_le_bytes(*word));
    }
    let mut state = long as u32;
    let (half, rest) = match rest.split_first_chunk::<4>() {
        Some((half, rest)) => (Some(half), rest),
        None => (None, rest),
    };
    if let Some(half) = half {
        state = _mm_crc32_u32(state, u32::from_le_bytes(*half));
    }
    for byte in rest {
        state = _mm_crc32_u8(state, *byte);
    }
    !state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_stretches_have_the_same_checksum_however_they_are_cut() {
        let bytes: Vec<u8> = (0..1200_u32).map(|number| ((number * 7919) >> 3) as u8).collect();
        for length in (0..70).chain([511, 512, 513, 1200]) {
            let expected = crc32c::crc32c(&bytes[..length]);
            for cut in [0, length / 3, length / 2, length] {
                assert_eq!(extend(extend(0, &bytes[..cut]), &bytes[cut..length]), expected, "{length} cut at {cut}");
            }
        }
        // The check value of the algorithm's catalogues.
        assert_eq!(extend(0, b"123456789"), 0xE306_9283);
    }
}
