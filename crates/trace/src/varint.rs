//! Numbers of variable length: LEB128, seven bits per byte, the lowest first.
//!
//! Every number has exactly one encoding: the shortest.

/// Why bytes are not a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VarintError {
    /// The bytes end before the number does.
    CutOff,
    /// A shorter encoding exists.
    Overlong,
    /// The number does not fit 64 bits.
    TooLarge,
}

/// Appends the encoding of `value`.
#[inline]
pub(crate) fn push(output: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        output.push(value as u8 | 0x80);
        value >>= 7;
    }
    output.push(value as u8);
}

/// The number at the beginning of `bytes`, and its length.
#[inline]
pub(crate) fn decode(bytes: &[u8]) -> Result<(u64, usize), VarintError> {
    match bytes.first() {
        Some(&byte) if byte < 0x80 => Ok((u64::from(byte), 1)),
        _ => decode_long(bytes),
    }
}

fn decode_long(bytes: &[u8]) -> Result<(u64, usize), VarintError> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte holds only the highest of 64 bits.
        if index == 9 && byte > 1 {
            return Err(VarintError::TooLarge);
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            return match byte == 0 && index > 0 {
                true => Err(VarintError::Overlong),
                false => Ok((value, index + 1)),
            };
        }
    }
    Err(VarintError::CutOff)
}

/// The number of at most four bytes at the beginning of the little-endian `word`, and
/// its length, without branching on the length. `None` if it is longer or overlong.
#[inline]
pub(crate) fn decode_short(word: u32) -> Option<(u32, usize)> {
    let stops = !word & 0x8080_8080;
    if stops == 0 {
        return None;
    }
    // Keeps the bytes up to and including the first one whose top bit is clear.
    let kept = word & (stops ^ (stops - 1));
    let length = (stops.trailing_zeros() / 8 + 1) as usize;
    let value = (kept & 0x7f)
        | (kept >> 1 & 0x7f << 7)
        | (kept >> 2 & 0x7f << 14)
        | (kept >> 3 & 0x7f << 21);
    match length > 1 && value >> (7 * (length - 1)) == 0 {
        true => None,
        false => Some((value, length)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_memory::Random;

    #[test]
    fn numbers_survive_and_the_two_decoders_agree() {
        let mut random = Random::new(1);
        for bits in 0..=64 {
            for _ in 0..200 {
                let value = match bits {
                    0 => 0,
                    _ => random.next_u64() >> (64 - bits),
                };
                let mut bytes = Vec::new();
                push(&mut bytes, value);
                assert_eq!(decode(&bytes), Ok((value, bytes.len())));
                for end in 0..bytes.len() {
                    assert_eq!(decode(&bytes[..end]), Err(VarintError::CutOff));
                }
                bytes.extend([random.next_u64() as u8; 4]);
                let word = u32::from_le_bytes(*bytes.first_chunk().unwrap());
                let short = decode_short(word);
                match value < 1 << 28 {
                    true => assert_eq!(short, Some((value as u32, bytes.len() - 4))),
                    false => assert_eq!(short, None),
                }
            }
        }
    }

    #[test]
    fn only_the_shortest_encoding_counts() {
        assert_eq!(decode(&[0x80, 0]), Err(VarintError::Overlong));
        assert_eq!(decode(&[0xff, 0x80, 0]), Err(VarintError::Overlong));
        assert_eq!(decode_short(u32::from_le_bytes([0x80, 0, 1, 1])), None);
        assert_eq!(decode_short(u32::from_le_bytes([0x80, 0x80, 0, 1])), None);
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(decode(&most), Ok((u64::MAX, 10)));
        most[9] = 2;
        assert_eq!(decode(&most), Err(VarintError::TooLarge));
        assert_eq!(decode(&[0x80; 20]), Err(VarintError::TooLarge));
    }
}
