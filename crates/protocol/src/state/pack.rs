//! States without the bits that are always 0.
//!
//! Processors have an instruction that collects chosen bits of a word (PEXT) and one that spreads
//! them again (PDEP); where they are missing, a loop does the same.

#![allow(unsafe_code)] // The instructions exist on some processors only.

use crate::compile::Layout;

/// Packs and unpacks states of one layout.
#[derive(Clone, Debug)]
pub(crate) struct Packer {
    masks: Vec<u64>,
    words: usize,
    is_fast: bool,
}

impl Packer {
    pub fn new(layout: &Layout) -> Packer {
        #[cfg(target_arch = "x86_64")]
        let is_fast = std::arch::is_x86_feature_detected!("bmi2");
        #[cfg(not(target_arch = "x86_64"))]
        let is_fast = false;
        Packer {
            masks: layout.masks.clone(),
            words: layout.bits().div_ceil(64).max(1),
            is_fast,
        }
    }

    /// How many words a packed state takes.
    pub fn words(&self) -> usize {
        self.words
    }

    pub fn pack(&self, state: &[u64], packed: &mut [u64]) {
        assert!(packed.len() == self.words && state.len() == self.masks.len());
        #[cfg(target_arch = "x86_64")]
        if self.is_fast {
            // SAFETY: the processor has the instruction.
            unsafe { pack_fast(&self.masks, state, packed) };
            return;
        }
        pack(&self.masks, state, packed, collect);
    }

    pub fn unpack(&self, packed: &[u64], state: &mut [u64]) {
        assert!(packed.len() == self.words && state.len() == self.masks.len());
        #[cfg(target_arch = "x86_64")]
        if self.is_fast {
            // SAFETY: the processor has the instruction.
            unsafe { unpack_fast(&self.masks, packed, state) };
            return;
        }
        unpack(&self.masks, packed, state, spread);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2,popcnt")]
fn pack_fast(masks: &[u64], state: &[u64], packed: &mut [u64]) {
    pack(masks, state, packed, |word, mask| std::arch::x86_64::_pext_u64(word, mask));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2,popcnt")]
fn unpack_fast(masks: &[u64], packed: &[u64], state: &mut [u64]) {
    unpack(masks, packed, state, |word, mask| std::arch::x86_64::_pdep_u64(word, mask));
}

#[inline(always)]
fn pack(masks: &[u64], state: &[u64], packed: &mut [u64], collect: impl Fn(u64, u64) -> u64) {
    let mut full = 0;
    let (mut word, mut used) = (0_u64, 0);
    for (&mask, &of_state) in masks.iter().zip(state) {
        let bits = collect(of_state, mask);
        let many = mask.count_ones();
        word |= bits << used;
        used += many;
        if used >= 64 {
            packed[full] = word;
            full += 1;
            used -= 64;
            // What did not fit; all of it, if it began at a whole word.
            word = match many - used {
                64 => 0,
                fitted => bits >> fitted,
            };
        }
    }
    if full < packed.len() {
        packed[full] = word;
    }
}

#[inline(always)]
fn unpack(masks: &[u64], packed: &[u64], state: &mut [u64], spread: impl Fn(u64, u64) -> u64) {
    let (mut at, mut used) = (0, 0);
    for (&mask, of_state) in masks.iter().zip(state) {
        let many = mask.count_ones();
        let mut bits = match packed.get(at) {
            Some(word) => word >> used,
            None => 0,
        };
        used += many;
        if used >= 64 {
            used -= 64;
            at += 1;
            let fitted = many - used;
            if used > 0 && fitted < 64 {
                bits |= packed[at] << fitted;
            }
        }
        *of_state = spread(bits, mask);
    }
}

/// The bits of a word that are in the mask, side by side.
fn collect(word: u64, mut mask: u64) -> u64 {
    let (mut bits, mut at) = (0, 0);
    while mask != 0 {
        let lowest = mask.trailing_zeros();
        bits |= (word >> lowest & 1) << at;
        at += 1;
        mask &= mask - 1;
    }
    bits
}

/// The lowest bits of a word, put where the mask is.
fn spread(word: u64, mut mask: u64) -> u64 {
    let (mut bits, mut at) = (0, 0);
    while mask != 0 {
        let lowest = mask.trailing_zeros();
        bits |= (word >> at & 1) << lowest;
        at += 1;
        mask &= mask - 1;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::Packer;

    /// All masks, all states within them: what is unpacked is what was packed, by either way.
    #[test]
    fn packing_loses_nothing() {
        let mut random = 1_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        for length in 0..12 {
            for round in 0..200 {
                let masks: Vec<u64> = (0..length)
                    .map(|_| match round % 4 {
                        0 => next() & next(),
                        1 => u64::MAX,
                        2 => next() | next(),
                        _ => next() & 0x0707_0307_0103_0f01,
                    })
                    .collect();
                let bits: u32 = masks.iter().map(|mask| mask.count_ones()).sum();
                let words = (bits as usize).div_ceil(64).max(1);
                let state: Vec<u64> = masks.iter().map(|mask| next() & mask).collect();
                let mut all_packed = Vec::new();
                for is_fast in [false, true] {
                    let is_fast = is_fast && std::arch::is_x86_feature_detected!("bmi2");
                    let packer = Packer {
                        masks: masks.clone(),
                        words,
                        is_fast,
                    };
                    let mut packed = vec![0; words];
                    packer.pack(&state, &mut packed);
                    let mut unpacked = vec![u64::MAX; state.len()];
                    packer.unpack(&packed, &mut unpacked);
                    assert_eq!(unpacked, state);
                    all_packed.push(packed);
                }
                assert_eq!(all_packed[0], all_packed[1]);
            }
        }
    }
}
