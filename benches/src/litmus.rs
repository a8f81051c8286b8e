//! Families of litmus tests of growing size, on which the tools are compared, and the tests in a folder.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The files of all litmus tests in a folder and the folders in it.
pub fn tests_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(tests_below(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "litmus")
        {
            files.push(path);
        }
    }
    files
}

/// A builder of threads and conditions.
struct Builder {
    name: String,
    init: String,
    threads: Vec<Vec<String>>,
    condition: String,
}

impl Builder {
    fn new(name: String) -> Self {
        Builder {
            name,
            init: String::new(),
            threads: Vec::new(),
            condition: String::new(),
        }
    }

    fn thread(&mut self, instructions: impl IntoIterator<Item = String>) {
        self.threads.push(instructions.into_iter().collect());
    }

    fn text(&self) -> String {
        let mut text = format!("X86 {}\n{{ {}}}\n", self.name, self.init);
        let rows = self.threads.iter().map(Vec::len).max().unwrap_or(0);
        let heads: Vec<String> = (0..self.threads.len()).map(|n| format!("P{n}")).collect();
        let _ = writeln!(text, " {} ;", heads.join(" | "));
        for row in 0..rows {
            let cell = |thread: &Vec<String>| thread.get(row).cloned().unwrap_or_default();
            let cells: Vec<String> = self.threads.iter().map(cell).collect();
            let _ = writeln!(text, " {} ;", cells.join(" | "));
        }
        text + &self.condition + "\n"
    }
}

fn conjunction(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().collect();
    format!("exists ({})", parts.join(" /\\ "))
}

/// `k` threads that each write one location.
pub fn writers(k: usize) -> String {
    let mut test = Builder::new(format!("writers{k}"));
    for value in 1..=k {
        test.thread([format!("MOV [x],${value}")]);
    }
    test.condition = "exists ([x]=1)".into();
    test.text()
}

/// `k` threads that each increment one location.
pub fn locked_increments(k: usize) -> String {
    let mut test = Builder::new(format!("lockinc{k}"));
    for _ in 0..k {
        test.thread(["LOCK INC [x]".to_owned()]);
    }
    test.condition = format!("forall ([x]={k})");
    test.text()
}

/// `k` threads that each exchange a register with one location.
pub fn exchanges(k: usize) -> String {
    let mut test = Builder::new(format!("xchg{k}"));
    for thread in 0..k {
        let _ = write!(test.init, "{thread}:EAX={}; ", thread + 1);
        test.thread(["XCHG [x],EAX".to_owned()]);
    }
    test.condition = conjunction((0..k).map(|thread| format!("{thread}:EAX={thread}")));
    test.text()
}

/// Store buffering by two threads, in rounds.
pub fn store_buffering(rounds: usize) -> String {
    let registers = ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"];
    let mut test = Builder::new(format!("sb-rounds{rounds}"));
    for (own, other) in [("x", "y"), ("y", "x")] {
        test.thread((0..rounds).flat_map(|round| {
            let store = format!("MOV [{own}],${}", round + 1);
            [store, format!("MOV {},[{other}]", registers[round])]
        }));
    }
    let reads = (0..rounds).flat_map(|round| [0, 1].map(|t| format!("{t}:{}=0", registers[round])));
    test.condition = conjunction(reads);
    test.text()
}

/// Two writers of two locations, and readers of both, in one order and the other in turns.
pub fn independent_reads(readers: usize) -> String {
    let mut test = Builder::new(format!("iriw{readers}"));
    test.thread(["MOV [x],$1".to_owned()]);
    test.thread(["MOV [y],$1".to_owned()]);
    for reader in 0..readers {
        let (first, second) = if reader % 2 == 0 {
            ("x", "y")
        } else {
            ("y", "x")
        };
        test.thread([format!("MOV EAX,[{first}]"), format!("MOV EBX,[{second}]")]);
    }
    let reads = (2..readers + 2).map(|t| format!("{t}:EAX=1 /\\ {t}:EBX=0"));
    test.condition = conjunction(reads);
    test.text()
}

/// Store buffering by `k` threads in a ring.
pub fn ring(k: usize) -> String {
    let mut test = Builder::new(format!("ring{k}"));
    for thread in 0..k {
        let next = (thread + 1) % k;
        test.thread([format!("MOV [x{thread}],$1"), format!("MOV EAX,[x{next}]")]);
    }
    test.condition = conjunction((0..k).map(|thread| format!("{thread}:EAX=0")));
    test.text()
}

/// Two threads that increment a location without a lock prefix, under a spinlock.
pub fn spinlock() -> String {
    let mut test = Builder::new("spinlock".into());
    for _ in 0..2 {
        let instructions = [
            "L0: MOV EAX,$1",
            "XCHG [lock],EAX",
            "CMP EAX,$0",
            "JE L2",
            "L1: MOV EAX,[lock]",
            "CMP EAX,$0",
            "JNE L1",
            "JMP L0",
            "L2: MOV EBX,[x]",
            "INC EBX",
            "MOV [x],EBX",
            "MOV [lock],$0",
        ];
        test.thread(instructions.map(str::to_owned));
    }
    test.condition = "forall ([x]=2 /\\ [lock]=0)".into();
    test.text()
}

/// Peterson's algorithm around an increment, with the fence that it needs or without.
pub fn peterson(is_fenced: bool) -> String {
    let mut test = Builder::new(
        if is_fenced {
            "peterson-fenced"
        } else {
            "peterson"
        }
        .into(),
    );
    for (own, other, turn) in [("flag0", "flag1", 1), ("flag1", "flag0", 0)] {
        let mut instructions = vec![format!("MOV [{own}],$1"), format!("MOV [turn],${turn}")];
        instructions.extend(is_fenced.then(|| "MFENCE".to_owned()));
        instructions.extend([
            format!("L0: MOV EAX,[{other}]"),
            "CMP EAX,$0".to_owned(),
            "JE L1".to_owned(),
            "MOV EAX,[turn]".to_owned(),
            format!("CMP EAX,${turn}"),
            "JE L0".to_owned(),
            "L1: MOV EBX,[x]".to_owned(),
            "INC EBX".to_owned(),
            "MOV [x],EBX".to_owned(),
            format!("MOV [{own}],$0"),
        ]);
        test.thread(instructions);
    }
    test.condition = "forall ([x]=2)".into();
    test.text()
}
