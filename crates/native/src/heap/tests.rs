use super::*;

fn heap() -> Heap {
    Heap::new(Layout {
        owners: 8,
        region: 64 << 20,
        limit: 32 << 20,
        ..Layout::default()
    })
    .expect("addresses")
}

fn bytes(address: usize, size: usize) -> Vec<u8> {
    // SAFETY: the tests read blocks that are allocated.
    unsafe { std::slice::from_raw_parts(address as *const u8, size) }.to_vec()
}

fn write(address: usize, bytes: &[u8]) {
    // SAFETY: the tests write to blocks that are allocated, or next to them.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) };
}

#[test]
fn addresses_depend_on_the_owner_s_own_history_only() {
    let mut heap = heap();
    heap.seal();
    let mut apart = Vec::new();
    for owner in [1, 2] {
        for size in [1, 24, 100] {
            apart.push(heap.allocate(owner, size, 1, false, 0).unwrap());
        }
    }
    heap.begin_execution();
    let mut mixed = vec![0; 6];
    for (index, size) in [1, 24, 100].into_iter().enumerate() {
        for owner in [2, 1] {
            let pointer = heap.allocate(owner, size, 1, false, 0).unwrap();
            mixed[(owner as usize - 1) * 3 + index] = pointer;
            heap.release(owner, pointer, 0).unwrap();
        }
    }
    assert_eq!(apart, mixed);
}

#[test]
fn new_memory_does_not_depend_on_earlier_executions() {
    let mut heap = heap();
    heap.seal();
    for size in [0, 1, 8, 17, 100, 5000, LARGE, LARGE + 5000] {
        for round in 0..3 {
            heap.begin_execution();
            let pattern = heap.allocate(1, size, 16, false, 0).unwrap();
            let zeroed = heap.allocate(1, size, 64, true, 0).unwrap();
            let expected = if size >= LARGE { 0 } else { PATTERN };
            assert!(
                bytes(pattern, size).iter().all(|&byte| byte == expected),
                "size {size}, round {round}"
            );
            assert!(
                bytes(zeroed, size).iter().all(|&byte| byte == 0),
                "size {size}, round {round}"
            );
            // The bytes between blocks too, which only code that is not instrumented can write.
            assert_ne!(
                bytes(zeroed - 16, 16)[..],
                [0x77; 16],
                "size {size}, round {round}"
            );
            write(pattern, &vec![0x77; size]);
            write(zeroed - 16, &vec![0x77; size + 16]);
        }
    }
}

#[test]
fn alignment_is_as_asked_for() {
    let mut heap = heap();
    for align in [1, 2, 8, 16, 32, 64, 4096, 1 << 20] {
        let pointer = heap.allocate(3, 24, align, false, 0).unwrap();
        assert!(pointer.is_multiple_of(align.max(16)));
        assert_eq!(heap.check(pointer, 24), Ok(()));
    }
    assert_eq!(
        heap.allocate(3, 24, 24, false, 0),
        Err(AllocationError::Alignment(24))
    );
    assert_eq!(
        heap.allocate(3, 24, 0, false, 0),
        Err(AllocationError::Alignment(0))
    );
    assert!(heap.allocate(3, 24, 1 << 63, false, 0).is_err());
}

#[test]
fn every_access_is_judged_as_the_blocks_say() {
    let mut heap = heap();
    let mut blocks = Vec::new();
    for size in [1, 7, 8, 9, 16, 63, 64, 65, 200, 1000] {
        blocks.push((
            heap.allocate(1, size, 16, false, 0).unwrap(),
            size,
            size != 16 && size != 200,
        ));
    }
    for &(start, _, live) in &blocks {
        if !live {
            heap.release(1, start, 0).unwrap();
        }
    }
    let (first, last) = (blocks[0].0 - 16, blocks[9].0 + 1000 + 100);
    for address in first..last {
        for size in [0, 1, 2, 3, 4, 8, 16, 33, 100, 900] {
            let good = |byte: usize| {
                blocks
                    .iter()
                    .any(|&(start, size, live)| live && (start..start + size).contains(&byte))
            };
            let expected = (address..address + size).find(|&byte| !good(byte));
            let found = heap.check(address, size);
            assert_eq!(
                found.err().map(|bad| bad.address),
                expected,
                "{size} bytes at {address:#x}"
            );
            if let Err(bad) = found {
                let freed = blocks.iter().any(|&(start, size, live)| {
                    !live && (start..start + size).contains(&bad.address)
                });
                assert_eq!(bad.is_use_after_free(), freed);
            }
        }
    }
}

#[test]
fn an_access_off_the_range_or_far_from_blocks_is_judged() {
    let mut heap = heap();
    let (base, length) = heap.range();
    assert_eq!(heap.check(base - 8, 8), Ok(()));
    assert_eq!(heap.check(base + length, 8), Ok(()));
    assert_eq!(
        heap.check(base + length - 4, 16).unwrap_err().address,
        base + length - 4
    );
    assert_eq!(
        heap.check(base + 8, usize::MAX).unwrap_err(),
        BadAccess {
            address: base + 8,
            block: None
        }
    );
    let pointer = heap.allocate(7, 100, 16, false, 0).unwrap();
    let far = heap.check(pointer + 1000, 1).unwrap_err().block.unwrap();
    assert_eq!((far.start, far.place), (pointer, HeapPosition::Behind(900)));
}

#[test]
fn bad_frees_say_what_is_wrong() {
    let mut heap = heap();
    let block = heap.allocate(1, 40, 16, false, 0x100).unwrap();
    let other = heap.allocate(1, 0, 16, false, 0x110).unwrap();
    assert_ne!(block, other);
    assert_eq!(heap.usable_size(block), Some(40));
    assert_eq!(heap.release(2, 4096, 0), Err(BadFree::NotOurs));
    let Err(BadFree::NotStart(Some(inside))) = heap.release(2, block + 8, 0) else {
        panic!("freed")
    };
    assert_eq!(
        (inside.start, inside.place),
        (block, HeapPosition::Inside(8))
    );
    let freed = heap.release(2, block, 0x200).unwrap();
    assert_eq!(
        (
            freed.size,
            freed.owner,
            freed.ordinal,
            freed.pc,
            freed.freed
        ),
        (40, 1, 0, 0x100, None)
    );
    let Err(BadFree::Twice(twice)) = heap.release(3, block, 0x300) else {
        panic!("freed")
    };
    assert_eq!(
        twice.freed,
        Some(Freed {
            owner: 2,
            pc: 0x200
        })
    );
    assert_eq!(heap.usable_size(block), None);
    assert_eq!(heap.release(1, other, 0).unwrap().ordinal, 1);
    assert_eq!(
        heap.release(1, heap.range().0 + (128 << 20), 0),
        Err(BadFree::NotStart(None))
    );
    assert!(matches!(
        heap.reallocate(1, block, 8, 0),
        Err(ReallocationError::Free(BadFree::Twice(_)))
    ));
}

#[test]
fn the_nearest_block_is_named_for_an_address_between_two() {
    let mut heap = heap();
    let first = heap.allocate(1, 16, 16, false, 0).unwrap();
    let second = heap.allocate(1, 16, 16, false, 0).unwrap();
    let place = |address| {
        heap.block_at(address)
            .map(|block| (block.ordinal, block.place))
    };
    assert_eq!(place(first - 1), Some((0, HeapPosition::Before(1))));
    assert_eq!(place(first + 15), Some((0, HeapPosition::Inside(15))));
    assert_eq!(place(first + 16), Some((0, HeapPosition::Behind(0))));
    assert_eq!(place(second - 1), Some((1, HeapPosition::Before(1))));
    assert_eq!(place(second + 20), Some((1, HeapPosition::Behind(4))));
    assert_eq!(place(0), None);
}

#[test]
fn reallocation_keeps_what_fits_and_always_moves() {
    let mut heap = heap();
    let old = heap.allocate(1, 20, 16, false, 0).unwrap();
    write(old, &[1; 20]);
    let more = heap.reallocate(2, old, 30, 7).unwrap();
    assert_eq!(bytes(more, 30), [&[1; 20][..], &[PATTERN; 10]].concat());
    let less = heap.reallocate(1, more, 5, 8).unwrap();
    assert_eq!(bytes(less, 5), [1; 5]);
    assert!(heap.check(old, 1).unwrap_err().is_use_after_free());
    assert_eq!(
        heap.block_at(more).unwrap().freed,
        Some(Freed { owner: 1, pc: 8 })
    );
    let too_much = heap.reallocate(1, less, usize::MAX, 0);
    assert!(matches!(too_much, Err(ReallocationError::Allocation(_))));
    assert_eq!(heap.check(less, 5), Ok(()), "the old block stays");
}

#[test]
fn the_initial_heap_is_put_back() {
    let mut heap = heap();
    let kept = heap.allocate(0, 13, 16, true, 1).unwrap();
    let gone = heap.allocate(0, 16, 16, true, 2).unwrap();
    let large = heap.allocate(0, 3 << 20, 16, true, 3).unwrap();
    heap.release(0, gone, 4).unwrap();
    write(kept, b"before main()");
    write(large + 12345, b"far in");
    heap.seal();
    for _ in 0..3 {
        let new = heap.allocate(0, 16, 16, true, 5).unwrap();
        write(kept, b"in main()....");
        write(large + 12345, b"changed");
        write(large, b"changed");
        heap.release(1, kept, 6).unwrap();
        heap.release(1, large, 6).unwrap();
        assert!(heap.check(kept, 1).is_err());
        heap.begin_execution();
        assert_eq!(bytes(kept, 13), b"before main()");
        assert_eq!(bytes(large + 12345, 7), b"far in\0");
        assert_eq!(bytes(large, 7), [0; 7]);
        assert_eq!(heap.check(kept, 13), Ok(()));
        assert_eq!(heap.check(kept, 14).unwrap_err().address, kept + 13);
        assert_eq!(heap.check(large, 3 << 20), Ok(()));
        assert!(heap.check(gone, 1).unwrap_err().is_use_after_free());
        assert!(heap.check(new, 1).is_err());
        let again = heap.block_at(kept).unwrap();
        assert!(again.is_initial && again.freed.is_none());
        assert_eq!(heap.blocks_of(0), 3);
    }
}

#[test]
fn the_limit_and_the_region_are_typed_errors() {
    let mut heap = heap();
    heap.seal();
    let limit = 32 << 20;
    for _ in 0..3 {
        heap.begin_execution();
        let pointer = heap.allocate(1, limit / 2, 16, false, 0).unwrap();
        heap.release(1, pointer, 0).unwrap();
        let used = heap.used();
        let error = heap.allocate(2, limit / 2, 16, false, 0).unwrap_err();
        assert_eq!(
            error,
            AllocationError::Limit {
                requested: limit / 2,
                used,
                limit
            }
        );
        assert!(heap.allocate(2, 64, 16, false, 0).is_ok());
    }
    for size in [usize::MAX, usize::MAX - 15, isize::MAX as usize, 64 << 20] {
        assert!(
            matches!(
                heap.allocate(3, size, 16, false, 0),
                Err(AllocationError::Limit { .. })
            ),
            "{size:#x}"
        );
    }
    assert_eq!(
        heap.allocate(8, 1, 16, false, 0),
        Err(AllocationError::Owner {
            owner: 8,
            owners: 8
        })
    );
    let mut small = Heap::new(Layout {
        owners: 1,
        region: 256 << 10,
        ..Layout::default()
    })
    .unwrap();
    while let Ok(pointer) = small.allocate(0, 1000, 16, false, 0) {
        assert_eq!(small.check(pointer, 1000), Ok(()));
    }
    assert_eq!(
        small.allocate(0, 1000, 16, false, 0),
        Err(AllocationError::Region { requested: 1000 })
    );
    assert!(small.blocks_of(0) > 200);
}

#[test]
fn leaks_are_told_from_what_is_reached() {
    let mut heap = heap();
    let initial = heap.allocate(0, 16, 16, true, 1).unwrap();
    let unrelated = heap.allocate(0, 16, 16, true, 1).unwrap();
    heap.seal();
    for _ in 0..2 {
        heap.begin_execution();
        let node = |heap: &mut Heap, owner, pc| heap.allocate(owner, 24, 16, true, pc).unwrap();
        let (root, next, by_initial) = (
            node(&mut heap, 1, 10),
            node(&mut heap, 2, 11),
            node(&mut heap, 1, 12),
        );
        let (lost, of_lost, freed) = (
            node(&mut heap, 1, 13),
            node(&mut heap, 2, 14),
            node(&mut heap, 1, 15),
        );
        let only_by_freed = node(&mut heap, 1, 16);
        let link = |from: usize, to: usize| write(from, &to.to_ne_bytes());
        link(root + 16, next + 23);
        link(next, root);
        link(initial + 8, by_initial);
        link(lost, of_lost);
        link(of_lost, lost);
        link(freed, only_by_freed);
        heap.release(1, freed, 0).unwrap();
        let roots = [0, root, 7, next + 24];
        let range = (
            roots.as_ptr() as usize,
            roots.as_ptr() as usize + size_of_val(&roots),
        );
        assert_eq!(
            heap.leaks().map(|leak| leak.pc).collect::<Vec<_>>(),
            [10, 12, 13, 16, 11, 14]
        );
        // SAFETY: the range is that of the array.
        let found: Vec<_> = unsafe { heap.unreachable([range].into_iter()) }
            .map(|leak| (leak.pc, leak.size))
            .collect();
        assert_eq!(found, [(13, 24), (16, 24), (14, 24)]);
        // A word that is cut off by the end of the range is none.
        // SAFETY: as above.
        let cut = unsafe { heap.unreachable([(range.0 + 1, range.0 + 15)].into_iter()) }.count();
        assert_eq!(cut, 5);
    }
    assert!(heap.usable_size(unrelated).is_some());
}

#[test]
fn heaps_of_one_process_do_not_meet_and_bad_layouts_are_refused() {
    let heaps: Vec<_> = (0..3).map(|_| heap()).collect();
    for (index, one) in heaps.iter().enumerate() {
        assert!(
            heaps
                .iter()
                .skip(index + 1)
                .all(|other| !one.contains(other.range().0))
        );
    }
    let layout = |base, owners, region| {
        Heap::new(Layout {
            base,
            owners,
            region,
            limit: 1,
        })
        .map(|_| ())
    };
    for (base, owners, region) in [
        (0, 1, 1 << 20),
        (1 << 44, 0, 1 << 20),
        (1 << 44, 1, 1000),
        (1 << 44, u32::MAX, 1 << 50),
    ] {
        assert!(matches!(
            layout(base, owners, region),
            Err(ReserveError::Layout { .. })
        ));
    }
    assert!(matches!(
        layout(1 << 44, 1024, 1 << 40),
        Err(ReserveError::Refused { .. })
    ));
}
