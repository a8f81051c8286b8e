use std::path::PathBuf;

use super::*;
use crate::compiled::{Folder, Library};

const SOURCE: &str = r#"
int counter = 7;
static int hidden = 8;
int *hidden_address(void) { return &hidden; }
char small_bss[100];
int relocated_target;
int *const relocated = &relocated_target;
int *pointer = &counter;
_Alignas(64) char table[300000] = { 1, 2, 3 };
char large[64 << 20];
__thread int local = 5;
__thread char zeros[100];
int *local_address(void) { return &local; }
"#;

/// Memory of the library that the test loaded.
fn get<T: Copy>(address: usize) -> T {
    // SAFETY: the test reads variables of the library by the types that they have there.
    unsafe { (address as *const T).read_volatile() }
}

fn set<T>(address: usize, value: T) {
    // SAFETY: as in `get`.
    unsafe { (address as *mut T).write_volatile(value) }
}

fn load(folder: &Folder, flags: &[&str]) -> Option<(Library, PathBuf)> {
    let path = folder.compile("gcc", "image.c", SOURCE, flags)?;
    Some((Library::load(&path), path))
}

#[test]
fn what_the_program_wrote_is_undone() {
    let folder = Folder::new();
    for flags in [
        &["-Wl,-z,relro,-z,now"][..],
        &["-Wl,-z,lazy"],
        &["-Wl,-z,norelro"],
    ] {
        let Some((library, path)) = load(&folder, flags) else {
            return;
        };
        let symbol = |name| library.symbol(name);
        // SAFETY: a function of the library with this type.
        let hidden: extern "C" fn() -> usize =
            unsafe { std::mem::transmute(symbol("hidden_address")) };
        let (counter, table, large, bss) = (
            symbol("counter"),
            symbol("table"),
            symbol("large"),
            symbol("small_bss"),
        );
        set(large + (20 << 20), 3u8);
        let mut image = Image::capture(|object| object != path);
        let (dense, sparse) = image.size();
        assert!(
            (300_000..1 << 20).contains(&dense),
            "{dense} bytes are copied"
        );
        assert!(sparse > 63 << 20, "{sparse} bytes are not");
        for round in 0..3 {
            set(counter, 70 + round);
            set(hidden(), 80 + round);
            set(symbol("pointer"), 0usize);
            let changed = [
                bss,
                bss + 99,
                table,
                table + 4095,
                table + 4096,
                table + 299_999,
            ];
            let changed = changed.into_iter().chain([
                large,
                large + (10 << 20) + 77,
                large + (20 << 20),
                large + (64 << 20) - 1,
            ]);
            for address in changed.clone() {
                set(address, 9u8);
            }
            image.restore();
            assert_eq!(
                (
                    get::<i32>(counter),
                    get::<i32>(hidden()),
                    get::<usize>(symbol("pointer"))
                ),
                (7, 8, counter)
            );
            let values: Vec<u8> = changed.map(get).collect();
            assert_eq!(values, [0, 0, 1, 0, 0, 0, 0, 0, 3, 0]);
        }
        assert_eq!(
            get::<usize>(symbol("relocated")),
            symbol("relocated_target")
        );
    }
}

#[test]
fn without_the_page_map_nothing_is_missed() {
    let folder = Folder::new();
    let Some((library, path)) = load(&folder, &["-DOTHER"]) else {
        return;
    };
    let large = library.symbol("large");
    let mut image = Image::capture(|object| object != path);
    // Reading it fails.
    image.pagemap = File::open("/dev/null").ok();
    set(large + (30 << 20) + 1, 9u8);
    image.restore();
    assert_eq!(get::<u8>(large + (30 << 20) + 1), 0);
}

#[test]
fn segments_and_thread_local_variables_are_described() {
    let folder = Folder::new();
    let Some((library, path)) = load(&folder, &["-DTHIRD"]) else {
        return;
    };
    let symbol = |name| library.symbol(name);
    // The first use gives this thread its copy.
    // SAFETY: a function of the library with this type.
    let local: extern "C" fn() -> usize = unsafe { std::mem::transmute(symbol("local_address")) };
    assert_eq!(get::<i32>(local()), 5);
    let image = Image::capture(|object| object != path);
    let object = image.object_at(symbol("counter")).expect("the library");
    assert_eq!(object.path, path);
    assert_eq!(image.object_at(8), None);
    let is_root = |address: usize| {
        image
            .segments()
            .iter()
            .any(|segment| segment.range.contains(&address))
    };
    assert!(
        is_root(symbol("counter"))
            && is_root(symbol("large") + (64 << 20) - 1)
            && is_root(symbol("small_bss"))
    );
    assert!(
        !is_root(symbol("relocated")),
        "what is read-only is no root"
    );
    assert!(!is_root(symbol("hidden_address")), "code is not");
    let index = image.segments()[0].object;
    let tls = image.tls_image(index).expect("thread-local variables");
    assert_eq!(get::<i32>(tls.address + tls.file_size - 4), 5);
    assert!(
        tls.file_size >= 4
            && tls.memory_size >= tls.file_size + 100
            && tls.alignment >= 4
            && tls.module > 0
    );
    let pointer: usize;
    // SAFETY: reads the thread pointer.
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer) };
    let copy = pointer.wrapping_add_signed(tls.offset.expect("this thread has a copy"));
    assert!((copy..copy + tls.memory_size).contains(&local()));
    assert_eq!(image.tls_image(usize::MAX), None);
}

#[test]
fn lines_of_the_list_of_mappings_are_read() {
    let parsed = |line| parse_mapping(line).map(|mapping| (mapping.range, mapping.is_anonymous));
    assert_eq!(
        parsed("1000-3000 rw-p 00000000 00:00 0 "),
        Some((0x1000..0x3000, true))
    );
    assert_eq!(
        parsed("1000-3000 rw-p 00001000 08:01 77   /a b"),
        Some((0x1000..0x3000, false))
    );
    assert_eq!(
        parsed("1000-3000 rw-s 00000000 00:01 0 "),
        Some((0x1000..0x3000, false))
    );
    for line in [
        "1000-3000 r--p 00000000 00:00 0",
        "",
        "x-y rw-p 0 0 0",
        "1000 rw-p",
        "1000-3000 rw-p 0",
    ] {
        assert_eq!(parsed(line), None, "{line}");
    }
}

#[test]
fn a_part_is_taken_out_of_a_range() {
    let rest = |start, end| {
        let ranges = crate::objects::without(&(10..20), &(start..end));
        ranges
            .map(|range| (range.start, range.end))
            .collect::<Vec<_>>()
    };
    assert_eq!(rest(12, 15), [(10, 12), (15, 20)]);
    assert_eq!(rest(5, 15), [(15, 20)]);
    assert_eq!(rest(15, 25), [(10, 15)]);
    assert_eq!(rest(5, 25), []);
    for (start, end) in [(0, 10), (20, 30), (12, 12), (0, 0)] {
        assert_eq!(rest(start, end), [(10, 20)]);
    }
}
