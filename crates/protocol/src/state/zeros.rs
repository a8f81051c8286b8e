//! Large arrays of zeros that threads share.

#![allow(unsafe_code)] // Mapped memory is used as words.

use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use memmap2::MmapMut;

use super::store::StoreFull;

/// Arrays of this many bytes or more are mapped by themselves, in large pages if the system has
/// some to give. Smaller ones would waste them.
const LARGE: usize = 2 << 20;

/// Words that are 0 until they are written. They take memory only where they are touched.
pub(crate) struct Zeros {
    start: NonNull<AtomicU64>,
    many: usize,
    /// Owns the memory that `start` points to.
    _owner: Owner,
}

/// The owner of the memory.
enum Owner {
    Allocated { _words: Vec<AtomicU64> },
    Mapped { _map: MmapMut },
    Whole { _of: Arc<Zeros> },
}

// SAFETY: the words are atomic and owned, as in a `Vec<AtomicU64>`.
unsafe impl Send for Zeros {}
// SAFETY: as above.
unsafe impl Sync for Zeros {}

impl Zeros {
    /// So few that there is always memory for them.
    pub fn few(many: usize) -> Zeros {
        Zeros::allocated(bytemuck::allocation::zeroed_vec(many))
    }

    pub fn new(many: usize) -> Result<Zeros, StoreFull> {
        let bytes = many.checked_mul(8).ok_or(StoreFull::Memory)?;
        if bytes < LARGE {
            let words = bytemuck::allocation::try_zeroed_vec(many);
            return words.map(Zeros::allocated).map_err(|()| StoreFull::Memory);
        }
        let mut map = MmapMut::map_anon(bytes).map_err(|_| StoreFull::Memory)?;
        // Random accesses to many small pages wait for the table of pages. If there are no large
        // ones, small ones are as good as they were.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let start = NonNull::from(&mut map[..]).cast();
        Ok(Zeros {
            start,
            many,
            _owner: Owner::Mapped { _map: map },
        })
    }

    /// Some of them, which go on living as long as they are needed.
    pub fn part(whole: &Arc<Zeros>, range: Range<usize>) -> Zeros {
        Zeros {
            start: NonNull::from(&whole[range.clone()]).cast(),
            many: range.len(),
            _owner: Owner::Whole {
                _of: Arc::clone(whole),
            },
        }
    }

    fn allocated(mut words: Vec<AtomicU64>) -> Zeros {
        Zeros {
            // Not null, even if there are none.
            start: NonNull::from(words.as_mut_slice()).cast(),
            many: words.len(),
            _owner: Owner::Allocated { _words: words },
        }
    }
}

impl Deref for Zeros {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `start` is where the owner has `many` words that live as long as `self`: a
        // vector that is not touched any more, a map of eight times as many bytes, at the start
        // of a page, so aligned, or some words of another `Zeros` that lives on. All of them were
        // 0 at first, and all access is atomic.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.many) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn are_zeros_small_and_large() {
        for many in [0, 1, 1000, LARGE / 8, LARGE / 8 + 1, LARGE] {
            let Ok(zeros) = Zeros::new(many) else {
                panic!("{many} words are not too many");
            };
            assert_eq!(zeros.len(), many);
            for (place, word) in zeros.iter().enumerate() {
                assert_eq!(word.swap(place as u64 + 1, Ordering::Relaxed), 0);
            }
            let sum = |sum, word: &AtomicU64| sum + word.load(Ordering::Relaxed);
            let expected = many as u64 * (many as u64 + 1) / 2;
            assert_eq!(zeros.iter().fold(0, sum), expected);
        }
    }

    #[test]
    fn parts_outlive_the_whole() {
        let Ok(whole) = Zeros::new(LARGE / 4) else {
            panic!("there is memory for that");
        };
        let whole = Arc::new(whole);
        whole[7].store(5, Ordering::Relaxed);
        let parts = [Zeros::part(&whole, 0..7), Zeros::part(&whole, 7..LARGE / 4)];
        drop(whole);
        assert_eq!(parts.each_ref().map(|part| part.len()), [7, LARGE / 4 - 7]);
        assert_eq!(
            parts[0].iter().map(|w| w.load(Ordering::Relaxed)).max(),
            Some(0)
        );
        assert_eq!(parts[1][0].load(Ordering::Relaxed), 5);
    }

    #[test]
    fn too_many_are_refused() {
        assert!(matches!(Zeros::new(usize::MAX), Err(StoreFull::Memory)));
        assert!(matches!(Zeros::new(1 << 60), Err(StoreFull::Memory)));
    }
}
