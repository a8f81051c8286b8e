use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSymbol};

use super::*;
use crate::compiled::Folder;

const C: &str = r#"#include <stdatomic.h>
#include <stdbool.h>
struct node { struct node *next; int value; };
struct slot { _Atomic long head; struct node *next; union { int i; float f; }; unsigned low : 3, high : 5; bool flag; };
enum color { RED, GREEN };
struct { char *name; struct { double weight; } inner; enum color color; } queue;
struct slot slots[4];
static int grid[3][4][5];
volatile unsigned char bytes[7];
char text[2];
long double big = 1;
_Thread_local int per_thread = 3;
struct tail { int count; short items[]; } tail = { 2, { 1, 2 } };
__attribute__((noinline)) static int *counter(void) {
    static int calls;
    return &calls;
}
static inline __attribute__((always_inline)) void
inner(int k) {
    bytes[1] = k;
}
void outer(int k) {
    inner(k + 1);
    *counter() += grid[1][2][3] + per_thread;
}
void *addresses[] = { grid, counter };
"#;

const CPP: &str = r#"#include <atomic>
namespace ns {
struct Base { int base; virtual ~Base() {} };
template <class T> struct Stack : Base {
    std::atomic<T *> top;
    std::atomic<int> size;
    std::atomic<bool> closed;
    static int instances;
    int push(T value);
};
template <class T> int Stack<T>::instances = 4;
template <class T> __attribute__((noinline)) int Stack<T>::push(T value) {
    static std::atomic<int> pushes;
    return pushes += value;
}
Stack<int> stack;
}
namespace {
int counter = 1;
struct Pair { int a, b; } pairs[2];
}
class Config { static long limit; public: static long get() { return limit; } };
long Config::limit = 9;
thread_local int depth = 3;
int run() {
    counter += pairs[1].b++ + depth;
    return ns::stack.push(ns::Stack<int>::instances) + (int)Config::get();
}
"#;

const COMPILERS: [(&str, &str); 2] = [("gcc", "g++"), ("clang", "clang++")];

/// A library as it would be loaded at its own addresses, and the addresses of its symbols.
struct Built {
    symbols: Symbols,
    path: PathBuf,
    table: Vec<(String, u64, u64)>,
}

impl Built {
    fn new(path: PathBuf, folder: &Folder) -> Self {
        let contents = fs::read(&path).expect("the library");
        let elf = object::File::parse(&*contents).expect("the library is one");
        let table = elf.symbols().filter(|symbol| symbol.is_definition());
        let table = table
            .map(|symbol| {
                (
                    symbol.name().unwrap_or("").to_owned(),
                    symbol.address(),
                    symbol.size(),
                )
            })
            .collect();
        Built {
            symbols: at_its_own_address(&path).relative_to(folder.0.clone()),
            path,
            table,
        }
    }

    fn range(&self, symbol: &str) -> Range<usize> {
        // Compilers add numbers, or the function.
        let (after, before) = (format!("{symbol}."), format!(".{symbol}"));
        let is_it =
            |name: &str| name == symbol || name.starts_with(&after) || name.ends_with(&before);
        let found = self.table.iter().find(|(name, ..)| is_it(name));
        let (_, address, size) =
            found.unwrap_or_else(|| panic!("{} has no {symbol}", self.path.display()));
        *address as usize..(*address + *size) as usize
    }

    #[track_caller]
    fn expect(
        &self,
        symbol: &str,
        offset: usize,
        size: usize,
        name: &str,
        scalar: Option<(usize, ScalarKind)>,
    ) {
        let address = self.range(symbol).start + offset;
        let found = self.symbols.variable(address, size).expect("a variable");
        let scalar = scalar.map(|(size, kind)| Scalar { size, kind });
        assert_eq!(
            (found.name.to_string().as_str(), found.scalar),
            (name, scalar),
            "{}",
            self.path.display()
        );
    }

    /// The frames of all instructions of a function.
    fn all_frames(&mut self, function: &str) -> Vec<Arc<[Frame]>> {
        let range = self.range(function);
        range.map(|pc| self.symbols.frames(pc)).collect()
    }
}

fn at_its_own_address(path: &Path) -> Symbols {
    Symbols::new(vec![LoadedObject {
        path: path.to_owned(),
        loaded: std::iter::once(0..1 << 40).collect(),
        ..LoadedObject::default()
    }])
}

/// With every compiler that there is, with and without optimisation.
fn build(name: &str, source: &str, more: &[&str], mut check: impl FnMut(Built)) {
    for (c, cpp) in COMPILERS {
        let compiler = if name.ends_with(".c") { c } else { cpp };
        for level in ["-O0", "-O2"] {
            let folder = Folder::new();
            let flags = [&["-g", level][..], more].concat();
            if let Some(path) = folder.compile(compiler, name, source, &flags) {
                check(Built::new(path, &folder));
            }
        }
    }
}

fn line_of(source: &str, text: &str) -> u32 {
    source
        .lines()
        .position(|line| line.contains(text))
        .expect("the line") as u32
        + 1
}

#[test]
fn members_of_c_variables_are_named() {
    use ScalarKind::{Bool, Char, Float, Pointer, Signed, Unsigned};
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        build("names.c", C, &[version], |built| {
            built.expect("queue", 0, 8, "queue.name", Some((8, Pointer)));
            built.expect("queue", 8, 8, "queue.inner.weight", Some((8, Float)));
            built.expect("queue", 16, 4, "queue.color", Some((4, Unsigned)));
            built.expect("queue", 0, 24, "queue", None);
            built.expect("queue", 2, 1, "queue.name+2", None);
            built.expect("queue", 8, 16, "queue+8", None);
            let size = built.range("slots").len() / 4;
            built.expect(
                "slots",
                3 * size + 8,
                8,
                "slots[3].next",
                Some((8, Pointer)),
            );
            built.expect("slots", 0, 0, "slots[0].head", Some((8, Signed)));
            built.expect("slots", size + 16, 4, "slots[1].i", Some((4, Signed)));
            // Which of the bits is meant is not known.
            built.expect("slots", 20, 1, "slots[0]+20", None);
            built.expect("slots", 21, 1, "slots[0].flag", Some((1, Bool)));
            built.expect("slots", 8, size, "slots+8", None);
            built.expect(
                "grid",
                4 * ((20 + 2 * 5) + 3),
                4,
                "grid[1][2][3]",
                Some((4, Signed)),
            );
            built.expect("bytes", 6, 1, "bytes[6]", Some((1, Unsigned)));
            built.expect("text", 1, 1, "text[1]", Some((1, Char)));
            built.expect("big", 0, 16, "big", Some((16, Float)));
            built.expect("tail", 6, 2, "tail.items[1]", Some((2, Signed)));
            built.expect("calls", 0, 4, "counter::calls", Some((4, Signed)));
            let local = built
                .symbols
                .thread_local(&built.path, 0, 4)
                .expect("a variable");
            assert_eq!(local.name, Name::Known("per_thread".to_owned()));
            assert_eq!(
                local.scalar,
                Some(Scalar {
                    size: 4,
                    kind: Signed
                })
            );
            let nothing = built.symbols.variable(3, 1).expect("the object");
            assert!(matches!(nothing.name, Name::Object(_, 3)), "{nothing:?}");
            assert_eq!(built.symbols.variable(usize::MAX, 1), None);
        });
    }
}

#[test]
fn members_of_cpp_variables_are_named() {
    use ScalarKind::{Bool, Pointer, Signed};
    build("names.cpp", CPP, &["-std=c++17"], |built| {
        built.expect("_ZN2ns5stackE", 8, 4, "ns::stack.base", Some((4, Signed)));
        built.expect("_ZN2ns5stackE", 16, 8, "ns::stack.top", Some((8, Pointer)));
        built.expect("_ZN2ns5stackE", 24, 4, "ns::stack.size", Some((4, Signed)));
        built.expect("_ZN2ns5stackE", 28, 1, "ns::stack.closed", Some((1, Bool)));
        built.expect(
            "_ZN12_GLOBAL__N_17counterE",
            0,
            4,
            "(anonymous)::counter",
            Some((4, Signed)),
        );
        // clang takes structures apart.
        let is_part = built.range("_ZN12_GLOBAL__N_15pairsE").len() == 4;
        built.expect(
            "_ZN12_GLOBAL__N_15pairsE",
            if is_part { 0 } else { 12 },
            4,
            "(anonymous)::pairs[1].b",
            Some((4, Signed)),
        );
        built.expect(
            "_ZN6Config5limitE",
            0,
            8,
            "Config::limit",
            Some((8, Signed)),
        );
        built.expect(
            "_ZN2ns5StackIiE9instancesE",
            0,
            4,
            "ns::Stack<int>::instances",
            Some((4, Signed)),
        );
        built.expect(
            "_ZZN2ns5StackIiE4pushEiE6pushes",
            0,
            4,
            "ns::Stack<int>::push::pushes",
            Some((4, Signed)),
        );
    });
}

#[test]
fn lines_and_inlined_functions_are_found() {
    build("names.c", C, &[], |mut built| {
        let all = built.all_frames("outer");
        let source = |line| {
            Some(Source {
                file: "names.c".to_owned(),
                line,
                column: 0,
            })
        };
        let shown = |frame: &Frame| {
            (
                frame.function.to_string(),
                frame.source.clone().map(|s| Source { column: 0, ..s }),
            )
        };
        let (first, write) = (line_of(C, "void outer"), line_of(C, "bytes[1] = k"));
        assert_eq!(shown(&all[0][0]), ("outer".to_owned(), source(first)));
        let inlined = all
            .iter()
            .find(|frames| frames.len() == 2)
            .expect("an inlined function");
        let is_write =
            |frames: &&Arc<[Frame]>| shown(&frames[0]) == ("inner".to_owned(), source(write));
        let at = all.iter().find(is_write).expect("the line of the write");
        let call = line_of(C, "inner(k + 1)");
        assert_eq!(shown(&at[1]), ("outer".to_owned(), source(call)));
        assert_eq!(shown(&inlined[1]).0, "outer");
        // A return address is behind the call.
        let range = built.range("outer");
        assert_eq!(
            built.symbols.call(range.start + 1),
            built.symbols.frames(range.start)
        );
    });
    build("names.cpp", CPP, &[], |mut built| {
        let frames = built.all_frames("_ZN2ns5StackIiE4pushEi");
        let last = frames[0].last().expect("never empty");
        assert_eq!(
            last.function,
            Name::Known("ns::Stack<int>::push".to_owned())
        );
        let first = line_of(CPP, "Stack<T>::push(T value)");
        assert!(
            last.source
                .as_ref()
                .is_some_and(|source| (first..first + 3).contains(&source.line)),
            "{last:?}"
        );
    });
}

#[test]
fn the_running_program_is_described() {
    let mut symbols = Symbols::default();
    let frames = symbols.frames(the_running_program_is_described as *const () as usize);
    let last = frames.last().expect("never empty");
    assert!(
        last.function
            .to_string()
            .ends_with("the_running_program_is_described"),
        "{last:?}"
    );
    let source = last.source.as_ref().expect("the tests have line numbers");
    assert!(source.file.ends_with("src/symbols/tests.rs"), "{source:?}");
    static MARK: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(7);
    let found = symbols
        .variable(MARK.as_ptr() as usize, 4)
        .expect("it is in the executable");
    assert!(found.whole.contains("MARK"), "{found:?}");
    let nowhere = symbols.frames(8);
    assert_eq!(
        nowhere[..],
        [Frame {
            function: Name::Address(8),
            source: None
        }]
    );
    assert_eq!(nowhere[0].function.to_string(), "0x8");
}

#[test]
fn without_debug_information_there_are_symbols_and_offsets() {
    for flags in [&["-O2", "-g0"][..], &["-O2", "-g0", "-s"]] {
        let folder = Folder::new();
        let Some(path) = folder.compile("gcc", "names.c", C, flags) else {
            return;
        };
        // The addresses are those of the file with all symbols: the other one differs by those only.
        let full = folder
            .compile("gcc", "names.c", C, &["-O2", "-g0", "-DX"])
            .expect("it did before");
        let addresses = Built::new(full, &folder);
        let mut symbols = at_its_own_address(&path);
        let outer = addresses.range("outer").start;
        assert_eq!(
            symbols.frames(outer + 1)[0].function,
            Name::Symbol("outer".to_owned(), 1)
        );
        let found = symbols
            .variable(addresses.range("slots").start + 40, 8)
            .expect("a variable");
        assert_eq!(
            (found.name.to_string().as_str(), found.offset),
            ("slots+0x28", 40)
        );
        let grid = addresses.range("grid").start;
        let is_stripped = flags.contains(&"-s");
        let name = symbols.variable(grid + 4, 4).expect("in the object").name;
        let file = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        assert_eq!(
            name,
            if is_stripped {
                Name::Object(file, grid + 4)
            } else {
                Name::Symbol("grid".to_owned(), 4)
            }
        );
    }
}

#[test]
fn separate_and_compressed_debug_information_is_read() {
    build("names.c", C, &["-gz"], |built| {
        built.expect(
            "slots",
            8,
            8,
            "slots[0].next",
            Some((8, ScalarKind::Pointer)),
        )
    });
    build("names.c", C, &["-Wl,--build-id"], |built| {
        let run = |arguments: &[&str]| {
            let done = Command::new("objcopy")
                .args(arguments)
                .current_dir(built.path.parent().expect("a folder"))
                .status();
            done.is_ok_and(|status| status.success())
        };
        let name = built
            .path
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        if !run(&["--only-keep-debug", name, "names.debug"]) {
            eprintln!("skipped: objcopy cannot be run");
            return;
        }
        assert!(run(&[
            "--strip-all",
            "--add-gnu-debuglink=names.debug",
            name,
            "stripped.so"
        ]));
        let stripped = built.path.with_file_name("stripped.so");
        let symbols = at_its_own_address(&stripped);
        let address = built.range("slots").start;
        assert_eq!(
            symbols
                .variable(address, 8)
                .expect("a variable")
                .name
                .to_string(),
            "slots[0].head"
        );
        // The debug information of another build is not used.
        assert!(run(&["-R", ".note.gnu.build-id", "names.debug"]));
        let symbols = at_its_own_address(&stripped);
        assert_eq!(
            symbols.variable(address, 8).expect("a variable").name,
            Name::Symbol("slots".to_owned(), 0)
        );
    });
}

#[test]
fn damaged_debug_information_gives_less_and_never_panics() {
    let folder = Folder::new();
    let Some(path) = folder.compile("g++", "names.cpp", CPP, &["-g", "-O2"]) else {
        return;
    };
    let built = Built::new(path.clone(), &folder);
    let contents = fs::read(&path).expect("the library");
    let damaged = folder.0.join("damaged.so");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let code = built.range("_Z3runv");
    let data = built.range("_ZN2ns5stackE");
    let (mut named, mut unnamed) = (0, 0);
    for round in 0..90 {
        let mut bytes = contents.clone();
        match round % 3 {
            0 => bytes.truncate(random(contents.len())),
            1 => {
                (0..1 + random(40)).for_each(|_| bytes[random(contents.len())] = random(256) as u8)
            }
            // In the second half, where the debug information is.
            _ => (0..200).for_each(|_| {
                bytes[contents.len() / 4 + random(contents.len() / 2)] = random(256) as u8
            }),
        }
        fs::write(&damaged, &bytes).expect("the file is written");
        let symbols = at_its_own_address(&damaged);
        let object = &symbols.objects[0];
        // Not guarded, so that a panic fails the test.
        let _ = object.tables.set(read_tables(&damaged));
        if let Some(dwarf) = object.tables().dwarf.clone() {
            let _ = object
                .lines
                .set(addr2line::Context::from_arc_dwarf(dwarf.clone()).ok());
            let _ = object
                .variables
                .set(Some(Variables::read(dwarf, &object.tables().data)));
        }
        for pc in code.clone() {
            assert!(!object.frames(pc, &folder.0).is_empty());
        }
        for address in data.clone() {
            for size in [0, 1, 8, 100] {
                if let Some(variable) = object.variable(address as u64, size, false) {
                    assert!(variable.whole.len() < 5000);
                }
            }
        }
        object.variable(0, 4, true);
        let found = object.variable(data.start as u64 + 24, 4, false);
        let is_named =
            found.is_some_and(|found| found.name == Name::Known("ns::stack.size".to_owned()));
        *(if is_named { &mut named } else { &mut unnamed }) += 1;
    }
    assert!(
        named > 0 && unnamed > 0,
        "the damage is neither too small nor too large: {named}, {unnamed}"
    );
    for name in ["/dev/zero", "/nonexistent", "/", ""] {
        assert_eq!(
            at_its_own_address(Path::new(name)).frames(64)[0].source,
            None
        );
    }
}

#[test]
fn blocks_of_the_heap_have_names() {
    assert_eq!(heap_name("push", 3, 0), "push#3");
    assert_eq!(heap_name("push", 3, 16), "push#3+16");
}
