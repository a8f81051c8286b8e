//! Where everything is while a test runs.
//!
//! Cells, results, start times and the state of the loop lie in one mapping below 2 GiB, so that
//! code names them by 32-bit addresses and pointers fit 32-bit registers. A *slot* has one instance
//! of the test's locations.

use fencepost_litmus::code::{Register, Width};
use fencepost_litmus::test::{Observable, Test};

use crate::addresses::{AddressUse, address_use, constants};
use crate::error::Refusal;
use crate::instruction::OffsetOf;

/// Bytes of a cache line.
pub(crate) const LINE: u64 = 64;
const PAGE: u64 = 4096;

/// The most memory that a test gets, and the most slots.
const MOST_BYTES: u64 = 48 << 20;
pub(crate) const MOST_SLOTS: u64 = 4096;
/// The most contents of a final state, and the most locations.
const MOST_CONTENTS: usize = 4096;

/// How far locations are from each other: neighbours in a line, neighbouring lines, pairs of lines.
pub(crate) const SPACINGS: [u64; 3] = [64, 128, 8];

/// Where the mapping may be.
const PLACES: [u64; 5] = [
    0x6000_0000,
    0x4000_0000,
    0x2000_0000,
    0x5800_0000,
    0x3800_0000,
];

/// The words of the state of a thread's loop, by their offset.
pub(crate) mod context {
    /// The slot that comes next.
    pub const CELLS: u64 = 0;
    /// Bytes from slot to slot.
    pub const STRIDE: u64 = 8;
    /// The result that comes next.
    pub const RESULT: u64 = 16;
    /// Where results end.
    pub const RESULT_END: u64 = 24;
    /// The start time that comes next, an offset from `ORIGIN`.
    pub const STARTS: u64 = 32;
    /// The counter at which the batch begins.
    pub const ORIGIN: u64 = 40;
    /// A thread that is later than this skips a slot.
    pub const LATE: u64 = 48;
    /// The stack pointer of the harness.
    pub const STACK: u64 = 56;
    pub const BYTES: u64 = 64;
}

/// A location or an array: cells that lie together.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The address of its first cell in the test.
    pub address: u64,
    pub bytes: u64,
    /// Its cells, as indices.
    pub cells: std::ops::Range<usize>,
}

/// How locations lie in a slot.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// By group, the offset in the slot.
    pub offsets: Vec<u64>,
    /// Bytes of a slot.
    pub bytes: u64,
    /// The groups' addresses in the test, with their bytes and offsets, both in order.
    spans: Vec<(u64, u64, u64)>,
}

impl OffsetOf for Layout {
    fn offset_of(&self, address: u64) -> Option<i64> {
        let after = self.spans.partition_point(|(first, ..)| *first <= address);
        let (first, bytes, offset) = self.spans[..after].last()?;
        (address - first < *bytes).then(|| (offset + (address - first)) as i64)
    }
}

impl Layout {
    /// The address in the test of what is at an offset in a slot.
    pub fn address_at(&self, at: u64) -> Option<u64> {
        let after = self.spans.partition_point(|(.., offset)| *offset <= at);
        let (first, bytes, offset) = self.spans[..after].last()?;
        (at - offset < *bytes).then(|| first + (at - offset))
    }
}

/// Where a content of a final state is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// A word of a thread's result.
    Result {
        thread: usize,
        word: usize,
        width: Width,
    },
    /// The flags, in a word of a thread's result.
    Flags { thread: usize, word: usize },
    /// A cell.
    Cell {
        group: usize,
        offset: u64,
        width: Width,
    },
}

/// Where everything is.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    pub groups: Vec<Group>,
    /// The layouts to choose from; one if locations are at fixed addresses.
    pub layouts: Vec<Layout>,
    pub address_use: AddressUse,
    /// Whether locations are where the test has them.
    pub is_fixed: bool,
    /// By thread, the registers that are in its result, from its second word on.
    pub captured: Vec<Vec<Register>>,
    pub sources: Vec<Source>,
    /// The base of the mapping, and its bytes.
    pub base: u64,
    pub bytes: u64,
    /// By thread.
    pub results: Vec<u64>,
    pub starts: Vec<u64>,
    pub cells: u64,
    /// Bytes that there are for cells.
    pub cell_bytes: u64,
    /// The most slots of a batch.
    pub slots: u64,
}

impl Geometry {
    /// Plans a test. `must_fix` has locations where the test has them, whatever it does.
    pub fn new(test: &Test, must_fix: bool) -> Result<Self, Refusal> {
        let address_use = address_use(test);
        let is_fixed = must_fix || address_use == AddressUse::Numbers;
        let groups = groups(test);
        let layouts = match is_fixed {
            true => vec![fixed_layout(&groups)],
            false => SPACINGS
                .iter()
                .map(|spacing| layout(&groups, *spacing))
                .collect(),
        };
        if test.observables().count() > MOST_CONTENTS {
            let what = "contents of a final state";
            return Err(Refusal::TooLarge {
                what,
                most: MOST_CONTENTS as u64,
            });
        }
        let (captured, sources) = capture(test, &groups);
        let mut geometry = Geometry {
            groups,
            layouts,
            address_use,
            is_fixed,
            captured,
            sources,
            base: 0,
            bytes: 0,
            results: Vec::new(),
            starts: Vec::new(),
            cells: 0,
            cell_bytes: 0,
            slots: 1,
        };
        geometry.place(test)?;
        Ok(geometry)
    }

    /// Bytes of a result of a thread: a mark, and the captured registers.
    pub fn result_bytes(&self, thread: usize) -> u64 {
        8 * (1 + self.captured[thread].len() as u64)
    }

    /// The state of a thread's loop.
    pub fn context(&self, thread: usize) -> u64 {
        self.base + context::BYTES * thread as u64
    }

    /// The pages on which the test has its cells; none if it has no cells.
    pub fn fixed_range(&self) -> Option<(u64, u64)> {
        let groups = || self.groups.iter();
        let first = groups().map(|group| group.address).min()?;
        let last = groups().map(|group| group.address + group.bytes).max()?;
        Some((first & !(PAGE - 1), last.next_multiple_of(PAGE)))
    }

    /// Chooses how many slots there are, and gives everything its address.
    fn place(&mut self, test: &Test) -> Result<(), Refusal> {
        let threads = test.threads.len() as u64;
        let contexts = (context::BYTES * threads).next_multiple_of(PAGE);
        let results: u64 = (0..test.threads.len())
            .map(|thread| self.result_bytes(thread))
            .sum();
        let widest = self
            .layouts
            .iter()
            .map(|layout| layout.bytes)
            .max()
            .unwrap_or(LINE);
        // Results and start times of a thread begin at a page of their own; slots may be twice as
        // far apart as they have bytes.
        let cells = if self.is_fixed { 0 } else { 2 * widest };
        let per_slot = results + 8 * threads + cells;
        let fixed = contexts + 2 * PAGE * threads + PAGE;
        if fixed + per_slot > MOST_BYTES {
            return Err(Refusal::TooLarge {
                what: "bytes",
                most: MOST_BYTES,
            });
        }
        self.slots = match self.is_fixed {
            true => 1,
            false => ((MOST_BYTES - fixed) / per_slot).min(MOST_SLOTS),
        };
        let mut next = contexts;
        let mut take = |bytes: u64| {
            let at = next;
            next = (next + bytes).next_multiple_of(PAGE);
            at
        };
        for thread in 0..test.threads.len() {
            self.results
                .push(take(self.result_bytes(thread) * self.slots));
            self.starts.push(take(8 * self.slots));
        }
        self.cell_bytes = cells * self.slots;
        self.cells = take(self.cell_bytes);
        self.bytes = next;
        self.settle(test)
    }

    /// Chooses where the mapping is: not where the test has locations, and where no constant of the
    /// test could be taken for an address in it.
    fn settle(&mut self, test: &Test) -> Result<(), Refusal> {
        let constants = constants(test);
        let cells = self.fixed_range().filter(|_| self.is_fixed);
        let is_free = |base: &&u64| {
            let end = **base + self.bytes;
            let is_apart =
                cells.is_none_or(|(first, last)| end + PAGE < first || **base > last + PAGE);
            let low = |value: u64| value & 0xffff_ffff;
            let is_hit = |value: &u64| low(*value) >= **base && low(*value) < end;
            is_apart && !constants.iter().any(is_hit)
        };
        let Some(base) = PLACES.iter().find(is_free) else {
            return Err(Refusal::Memory(
                "constants of the test are in the way".into(),
            ));
        };
        self.base = *base;
        for address in self.results.iter_mut().chain(&mut self.starts) {
            *address += base;
        }
        self.cells += base;
        Ok(())
    }
}

/// The locations of a test. Elements of an array are neighbours and have its name.
pub(crate) fn groups(test: &Test) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let array = |name: &str| name.split_once('[').map(|(array, _)| array.to_owned());
    let mut last_array = None;
    for (index, cell) in test.cells.iter().enumerate() {
        let this_array = array(&cell.name);
        let is_same = this_array.is_some() && this_array == last_array;
        last_array = this_array;
        match groups.last_mut() {
            Some(group) if is_same && group.address + group.bytes == cell.address => {
                group.bytes += cell.width.bytes();
                group.cells.end = index + 1;
            }
            _ => groups.push(Group {
                address: cell.address,
                bytes: cell.width.bytes(),
                cells: index..index + 1,
            }),
        }
    }
    groups
}

fn layout(groups: &[Group], spacing: u64) -> Layout {
    let mut offsets = Vec::new();
    let mut next = 0;
    for group in groups {
        offsets.push(next);
        next += group.bytes.next_multiple_of(spacing);
    }
    with_spans(groups, offsets, next.next_multiple_of(LINE).max(LINE))
}

fn fixed_layout(groups: &[Group]) -> Layout {
    let offsets = groups.iter().map(|group| group.address).collect();
    with_spans(groups, offsets, 0)
}

fn with_spans(groups: &[Group], offsets: Vec<u64>, bytes: u64) -> Layout {
    let both = groups.iter().zip(&offsets);
    let spans = both.map(|(group, offset)| (group.address, group.bytes, *offset));
    Layout {
        spans: spans.collect(),
        offsets,
        bytes,
    }
}

/// Which registers each thread leaves in its result, and where each content is found.
fn capture(test: &Test, groups: &[Group]) -> (Vec<Vec<Register>>, Vec<Source>) {
    let mut captured: Vec<Vec<Register>> = vec![Vec::new(); test.threads.len()];
    for observable in test.observables() {
        if let Observable::Register {
            thread, register, ..
        } = observable
            && !captured[*thread].contains(register)
        {
            captured[*thread].push(*register);
        }
    }
    // The flags come last, because to get them a register is needed.
    for registers in &mut captured {
        registers.sort_by_key(|register| *register == Register::FLAGS);
    }
    let source = |observable: &Observable| match observable {
        Observable::Register {
            thread,
            register,
            width,
            ..
        } => {
            let found = captured[*thread].iter().position(|other| other == register);
            let (thread, word) = (*thread, 1 + found.unwrap_or(0));
            match *register {
                Register::FLAGS => Source::Flags { thread, word },
                _ => Source::Result {
                    thread,
                    word,
                    width: *width,
                },
            }
        }
        Observable::Cell { cell, .. } => {
            let group = groups.partition_point(|group| group.cells.end <= cell.index());
            let cell = &test.cells[cell.index()];
            let offset = cell.address - groups[group].address;
            Source::Cell {
                group,
                offset,
                width: cell.width,
            }
        }
    };
    let sources = test.observables().map(source).collect();
    (captured, sources)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use fencepost_litmus::{Limits, parse};

    /// The geometry of store buffering.
    pub(crate) fn store_buffering() -> Geometry {
        geometry(
            "X86 SB\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n\
             exists (0:EAX=0 /\\ 1:EAX=0)",
        )
    }

    fn geometry(source: &str) -> Geometry {
        let test = parse(source.as_bytes(), &Limits::default());
        let test = test.unwrap_or_else(|error| panic!("{}", error.render("test")));
        Geometry::new(&test, false).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    #[test]
    fn nothing_overlaps() {
        let many = format!(
            "X86_64 T\n{{ int x[{}]; y=1; 0:rbx=x; }}\n P0 | P1 | P2 ;\n movl $1,(x) | movl (y),%eax | movl $2,(y) ;\n\
             locations [y; 0:rbx; 1:rax;]",
            20_000
        );
        for geometry in [store_buffering(), geometry(&many)] {
            let threads = geometry.results.len();
            let mut parts = vec![(
                geometry.base,
                geometry.base + context::BYTES * threads as u64,
            )];
            for thread in 0..threads {
                let results = geometry.results[thread];
                parts.push((
                    results,
                    results + geometry.result_bytes(thread) * geometry.slots,
                ));
                let starts = geometry.starts[thread];
                parts.push((starts, starts + 8 * geometry.slots));
            }
            for layout in &geometry.layouts {
                assert!(2 * layout.bytes * geometry.slots <= geometry.cell_bytes);
            }
            parts.push((geometry.cells, geometry.cells + geometry.cell_bytes));
            parts.sort_unstable();
            for pair in parts.windows(2) {
                assert!(pair[0].1 <= pair[1].0, "{parts:x?}");
            }
            assert!(
                parts
                    .last()
                    .is_some_and(|last| last.1 <= geometry.base + geometry.bytes)
            );
            assert!(geometry.base + geometry.bytes < 1 << 31);
        }
    }

    #[test]
    fn an_array_stays_together_and_addresses_go_both_ways() {
        let geometry = geometry(
            "X86_64 T\n{ int x[4]={1,2,3,4}; y=5; z=6; }\n P0 ;\n movl $1,(y) ;\nlocations [x[1]; y; z;]",
        );
        assert_eq!(geometry.groups.len(), 3);
        assert_eq!(geometry.groups[0].cells, 0..4);
        for layout in &geometry.layouts {
            for group in &geometry.groups {
                for at in [group.address, group.address + group.bytes - 1] {
                    let offset = layout.offset_of(at).expect("a location");
                    assert_eq!(layout.address_at(offset as u64), Some(at));
                }
            }
            assert_eq!(layout.offset_of(1), None);
        }
    }

    #[test]
    fn numbers_of_addresses_are_noticed() {
        let use_of = |source: &str| geometry(source).address_use;
        let with = |init: &str, code: &str| {
            format!("X86_64 T\n{{ {init} }}\n P0 ;\n {code} ;\nlocations [x;]")
        };
        assert_eq!(use_of(&with("x=1;", "addl $1,(x)")), AddressUse::None);
        assert_eq!(
            use_of(&with("0:rbx=x;", "movl (%rbx),%eax")),
            AddressUse::Moved
        );
        assert_eq!(
            use_of(&with("0:rbx=x;", "movq %rbx,%rax ;\n addq $1,%rax")),
            AddressUse::Numbers
        );
        assert_eq!(
            use_of(&with("0:rbx=x;", "cmpq %rbx,%rax")),
            AddressUse::Numbers
        );
        assert_eq!(use_of(&with("", "movq $x,%rax")), AddressUse::Numbers);
        assert_eq!(
            use_of(&with("p=x;", "movq (p),%rax ;\n xorq %rax,%rax")),
            AddressUse::Numbers
        );
    }
}
