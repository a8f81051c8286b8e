//! The memory of compiled code besides the state, and its callbacks.
//!
//! A context is one block of memory: fields at fixed places, then a counter for each point of the
//! model, then the local variables of all routines. Routines never call themselves, so each has
//! its variables at one fixed place.

#![allow(unsafe_code)] // Compiled code calls back with the address of the context.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::layout::Layout;
use crate::model::types::{TypeId, TypeKind, Types};

/// Offsets of the fields, in bytes.
pub(super) mod field {
    pub const FUEL: i32 = 0;
    pub const SITE: i32 = 8;
    pub const CURSOR: i32 = 16;
    pub const END: i32 = 24;
    pub const SAVED: i32 = 32;
    pub const ONE: i32 = 40;
    pub const OWNER: i32 = 48;
    pub const HITS: i32 = 56;
}

/// The status that a routine returns.
pub(crate) mod status {
    /// Done; for conditions, false.
    pub const DONE: i64 = 0;
    /// The condition is true.
    pub const TRUE: i64 = 1;
    /// `assume` was false.
    pub const ASSUMPTION: i64 = 2;
    /// A runtime error of the model; the context has its code.
    pub const FAULT: i64 = 3;
    /// The search was stopped.
    pub const STOPPED: i64 = 4;
}

/// The loop iterations between two checks of the stop flag.
const FUEL: u64 = 1 << 16;

/// The memory that compiled code works on.
pub(crate) struct Context {
    /// Boxed, because compiled code keeps its address.
    words: Box<[u64]>,
    /// The enabled instances: for each the number of its rule and its parameters.
    enabled: Vec<i64>,
    saved: Box<[u64]>,
    stop: Arc<AtomicBool>,
    points: usize,
}

impl Context {
    /// `bytes` is the size that the program says.
    pub fn new(
        bytes: usize,
        state_words: usize,
        points: usize,
        stop: Arc<AtomicBool>,
    ) -> Box<Self> {
        let mut context = Box::new(Context {
            words: vec![0; bytes.div_ceil(8)].into(),
            enabled: vec![0; 1024],
            saved: vec![0; state_words].into(),
            stop,
            points,
        });
        let owner = std::ptr::from_mut(&mut *context) as u64;
        context.words[field::OWNER as usize / 8] = owner;
        context.words[field::ONE as usize / 8] = 1;
        context.words[field::FUEL as usize / 8] = FUEL;
        context.words[field::SAVED as usize / 8] = context.saved.as_ptr() as u64;
        context.forget();
        context
    }

    pub fn pointer(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    /// The fault, as encoded by [`FaultCode::site`](super::FaultCode::site).
    #[cfg(test)]
    pub fn site(&self) -> u64 {
        self.words[field::SITE as usize / 8]
    }

    pub fn hits(&self) -> &[u64] {
        &self.words[field::HITS as usize / 8..][..self.points]
    }

    pub fn hits_mut(&mut self) -> &mut [u64] {
        &mut self.words[field::HITS as usize / 8..][..self.points]
    }

    /// Saves a state that guards may change.
    pub fn save(&mut self, state: &[u64]) {
        self.saved.copy_from_slice(state);
    }

    /// Restores the saved state.
    pub fn restore(&self, state: &mut [u64]) {
        state.copy_from_slice(&self.saved);
    }

    /// Clears the enabled instances.
    pub fn forget(&mut self) {
        let start = self.enabled.as_ptr() as u64;
        self.words[field::CURSOR as usize / 8] = start;
        self.words[field::END as usize / 8] = start + 8 * self.enabled.len() as u64;
    }

    /// Takes the buffer of enabled instances, with its used length, while rules are fired.
    pub fn take_enabled(&mut self) -> (Vec<i64>, usize) {
        let used = self.enabled().len();
        (std::mem::take(&mut self.enabled), used)
    }

    /// Returns the buffer that was taken.
    pub fn put_back(&mut self, enabled: Vec<i64>) {
        self.enabled = enabled;
        self.forget();
    }

    /// The enabled instances.
    pub fn enabled(&self) -> &[i64] {
        let start = self.enabled.as_ptr() as u64;
        let used = (self.words[field::CURSOR as usize / 8] - start) / 8;
        &self.enabled[..used as usize]
    }

    fn grow(&mut self) -> i64 {
        let used = self.enabled().len();
        let more = self.enabled.len();
        if self.enabled.try_reserve_exact(more).is_err() {
            return status::STOPPED;
        }
        self.enabled.resize(2 * more, 0);
        let start = self.enabled.as_ptr() as u64;
        self.words[field::CURSOR as usize / 8] = start + 8 * used as u64;
        self.words[field::END as usize / 8] = start + 8 * self.enabled.len() as u64;
        status::DONE
    }
}

/// The context whose memory this is.
///
/// # Safety
/// `words` is what [`Context::pointer`] gave, and the context is not borrowed.
unsafe fn owner<'c>(words: *mut u64) -> &'c mut Context {
    // SAFETY: the caller promises that the memory is that of a context, which wrote its own
    // address there. Only the routine that called back uses the context now.
    unsafe { &mut *(*words.add(field::OWNER as usize / 8) as *mut Context) }
}

/// Called when the fuel is used up.
pub(super) unsafe extern "C" fn refuel(words: *mut u64) -> i64 {
    // SAFETY: compiled code passes the address of its context.
    let context = unsafe { owner(words) };
    context.words[field::FUEL as usize / 8] = FUEL;
    match context.stop.load(Ordering::Relaxed) {
        true => status::STOPPED,
        false => status::DONE,
    }
}

/// Called when there is no room for another instance.
pub(super) unsafe extern "C" fn grow(words: *mut u64) -> i64 {
    // SAFETY: compiled code passes the address of its context.
    unsafe { owner(words) }.grow()
}

/// Copies; the two are the same or apart.
pub(super) unsafe extern "C" fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: compiled code passes two places of types with this many bytes.
    unsafe { std::ptr::copy(from, to, bytes) }
}

/// Fills with zeros.
pub(super) unsafe extern "C" fn zero(to: *mut u8, bytes: usize) {
    // SAFETY: compiled code passes a place of a type with this many bytes.
    unsafe { std::ptr::write_bytes(to, 0, bytes) }
}

/// The first element that is not there, or the number of elements if all are.
pub(super) unsafe extern "C" fn first_free(at: *const u8, length: usize, stride: usize) -> usize {
    // SAFETY: compiled code passes a multiset with these sizes.
    let flag = |number: usize| unsafe { *at.add(number * stride) };
    (0..length)
        .find(|&number| flag(number) == 0)
        .unwrap_or(length)
}

/// The sizes for comparing values with multisets.
pub(super) struct Comparer {
    pub sizes: Arc<(Types, Layout)>,
    pub id: TypeId,
}

/// Whether two variables are equal, with the elements of multisets in any order.
pub(super) unsafe extern "C" fn same(
    comparer: *const Comparer,
    left: *const u8,
    right: *const u8,
) -> i64 {
    // SAFETY: compiled code passes a comparer that lives as long as the code, and two variables
    // of its type.
    let (comparer, left, right) = unsafe {
        let comparer = &*comparer;
        let bytes = comparer.sizes.1.shape(comparer.id).bytes as usize;
        (
            comparer,
            std::slice::from_raw_parts(left, bytes),
            std::slice::from_raw_parts(right, bytes),
        )
    };
    i64::from(comparer.same(comparer.id, left, right))
}

impl Comparer {
    fn same(&self, id: TypeId, left: &[u8], right: &[u8]) -> bool {
        let (types, layout) = &*self.sizes;
        let shape = layout.shape(id);
        let bytes = shape.bytes as usize;
        if !shape.has_multiset {
            return left[..bytes] == right[..bytes];
        }
        match &types[id].kind {
            TypeKind::Record(fields) => fields.iter().zip(&shape.fields).all(|(field, &at)| {
                self.same(field.type_id, &left[at as usize..], &right[at as usize..])
            }),
            TypeKind::Array { element, .. } => (0..shape.length).all(|number| {
                let at = (number * shape.stride) as usize;
                self.same(*element, &left[at..], &right[at..])
            }),
            TypeKind::Multiset { element, .. } => {
                let element_at = |number: u32| (number * shape.stride) as usize;
                let mut matched = vec![false; shape.length as usize];
                let is_there = |side: &[u8], number| side[element_at(number)] != 0;
                let present = (0..shape.length).filter(|&number| is_there(left, number));
                let mut many = 0;
                for number in present {
                    let of_left = &left[element_at(number) + 1..];
                    let twin = (0..shape.length).find(|&other| {
                        is_there(right, other)
                            && !matched[other as usize]
                            && self.same(*element, of_left, &right[element_at(other) + 1..])
                    });
                    match twin {
                        Some(twin) => matched[twin as usize] = true,
                        None => return false,
                    }
                    many += 1;
                }
                many == (0..shape.length)
                    .filter(|&number| is_there(right, number))
                    .count()
            }
            _ => left[..bytes] == right[..bytes],
        }
    }
}
