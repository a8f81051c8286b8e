//! Leaks: heap blocks of an execution that no pointer leads to when it has ended.

use fencepost_runtime::LeakedBlocks;

use crate::memory::heap;
use crate::state::{State, state};

/// The blocks that the execution has leaked, by where they were allocated. As in LeakSanitizer, a block to which a global or
/// thread-local variable leads is none. A thread that is still there may have pointers in its registers and on its
/// stack, and so may one that has called `exit`: then no block is said to be leaked.
pub(crate) fn leaked_blocks() -> Vec<LeakedBlocks> {
    if heap().leaks().next().is_none() {
        return Vec::new();
    }
    let mut state = state();
    if state.has_exited || state.has_running_threads() {
        return Vec::new();
    }
    let mut roots = Vec::new();
    let State {
        image,
        layout,
        blocks,
        ..
    } = &mut *state;
    image.for_used(|start, end| roots.push((start, end)));
    for block in blocks.iter() {
        roots.extend(block.ranges(layout));
    }
    let mut heap = heap();
    // SAFETY: the memory of global variables was mapped when it was captured, that of thread-local ones is never freed.
    let leaks = unsafe { heap.unreachable(roots.into_iter()) };
    let mut places: Vec<(usize, LeakedBlocks)> = Vec::new();
    for leak in leaks {
        match places.iter_mut().find(|(pc, _)| *pc == leak.pc) {
            Some((_, known)) => {
                known.count += 1;
                known.bytes += leak.size as u64;
            }
            None => {
                let first = LeakedBlocks {
                    location: None,
                    count: 1,
                    bytes: leak.size as u64,
                };
                places.push((leak.pc, first));
            }
        }
    }
    let located = places.into_iter().map(|(pc, blocks)| LeakedBlocks {
        location: Some(state.location(pc).into()),
        ..blocks
    });
    located.collect()
}
