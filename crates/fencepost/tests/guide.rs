//! The guide's programs are tested, and its reports compared with what the programs print.
//!
//! The pages are made into a user's crate, which `cargo test` runs. A comment before a block says
//! what it is:
//!
//! | comment | the block |
//! | --- | --- |
//! | `file: tests/a.rs` | is added to this file of the crate |
//! | `from: tests/a.rs` | is part of this file, which another page has |
//! | `example: examples/a.rs` | is this file of the repository |
//! | `report: name` | is what the test `name` panics with |
//! | `paragraph 2: name` | is the second paragraph of it |
//! | `output: name` | is what the test `name` prints |
//! | `summary: name` | is the same, after the file and line of the check that prints it as its summary |
//!
//! A block of Rust without a comment is a test of its own, which must pass.
//!
//! `GUIDE=overwrite cargo test -p fencepost --test guide` writes the present reports and outputs
//! into the pages; read the difference before you commit it.

#[path = "support/scratch.rs"]
mod scratch;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;
use std::path::PathBuf;

use scratch::{cargo, folder, make, printed, read, repository, write};

/// Blocks of Rust that are not a file.
const SNIPPETS: &str = "tests/snippets.rs";

enum Role {
    File(String),
    From(String),
    Example(String),
    Report(String),
    Paragraph(usize, String),
    Output(String),
    Summary(String),
    Snippet,
}

struct Block {
    role: Role,
    /// The number of its first line, from 1.
    line: usize,
    /// Its lines, as bytes of the page.
    range: Range<usize>,
}

struct Page {
    path: PathBuf,
    text: String,
    blocks: Vec<Block>,
}

impl Page {
    fn read(path: PathBuf) -> Self {
        let text = read(&path);
        let mut blocks = Vec::new();
        let mut comment: Option<&str> = None;
        let mut open: Option<(Option<Role>, usize, usize)> = None;
        let mut at = 0;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let next = at + line.len();
            let (line, place) = (line.trim_end(), format!("{}:{}", path.display(), index + 1));
            match (&mut open, line.trim_start().strip_prefix("```")) {
                (None, Some(language)) => {
                    let role = match (comment.take(), language) {
                        (Some(comment), _) => {
                            Some(role(comment).unwrap_or_else(|| panic!("{place}: {comment}")))
                        }
                        (None, "rust") => Some(Role::Snippet),
                        _ => None,
                    };
                    open = Some((role, index + 2, next));
                }
                (Some((role, line, start)), Some(_)) => {
                    if let Some(role) = role.take() {
                        let (line, range) = (*line, *start..at);
                        blocks.push(Block { role, line, range });
                    }
                    open = None;
                }
                (None, None) => {
                    let inner = line.strip_prefix("<!-- ");
                    comment = inner.and_then(|line| line.strip_suffix(" -->"));
                }
                (Some(_), None) => {}
            }
            at = next;
        }
        Page { path, text, blocks }
    }

    fn shown(&self, block: &Block) -> &str {
        &self.text[block.range.clone()]
    }

    fn place(&self, block: &Block) -> String {
        format!("{}:{}", self.path.display(), block.line)
    }
}

fn role(comment: &str) -> Option<Role> {
    let (what, of) = comment.split_once(": ")?;
    let of = of.to_owned();
    match what.split_once(' ') {
        None => match what {
            "file" => Some(Role::File(of)),
            "from" => Some(Role::From(of)),
            "example" => Some(Role::Example(of)),
            "report" => Some(Role::Report(of)),
            "output" => Some(Role::Output(of)),
            "summary" => Some(Role::Summary(of)),
            _ => None,
        },
        Some(("paragraph", number)) => Some(Role::Paragraph(number.parse().ok()?, of)),
        Some(_) => None,
    }
}

fn pages() -> Vec<Page> {
    let root = repository();
    let mut paths = vec![root.join("README.md")];
    for part in ["docs", "docs/checking"] {
        let entries = std::fs::read_dir(root.join(part)).expect("the guide");
        let entries = entries.map(|entry| entry.expect("an entry").path());
        paths.extend(entries.filter(|path| path.extension().is_some_and(|it| it == "md")));
    }
    // Its programs are built by another test.
    paths.retain(|path| !path.ends_with("docs/getting-started.md"));
    paths.sort();
    paths.into_iter().map(Page::read).collect()
}

/// The files of the crate.
fn files(pages: &[Page]) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for page in pages {
        for block in &page.blocks {
            let text = page.shown(block);
            match &block.role {
                Role::File(file) => {
                    let file = files.entry(file.clone()).or_default();
                    if !file.is_empty() {
                        file.push('\n');
                    }
                    file.push_str(text);
                }
                Role::Snippet => {
                    let stem = page.path.file_stem().expect("a name").to_string_lossy();
                    let name = format!("{}_{}", stem.replace('-', "_").to_lowercase(), block.line);
                    let file = files.entry(SNIPPETS.to_owned()).or_default();
                    let _ = writeln!(file, "#[test]\nfn {name}() {{\n{text}}}\n");
                }
                _ => {}
            }
        }
    }
    files
}

fn write_tests(files: &BTreeMap<String, String>) {
    let kept: BTreeSet<PathBuf> = files.keys().map(|file| folder().join(file)).collect();
    if let Ok(entries) = std::fs::read_dir(folder().join("tests")) {
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            if !kept.contains(&path) {
                std::fs::remove_file(path).expect("an old file");
            }
        }
    }
    for (file, text) in files {
        write(&folder().join(file), text);
    }
}

/// What a block has to show, if that is the output of a test or a file.
fn expected(block: &Block, printed: &BTreeMap<String, String>, place: &str) -> Option<String> {
    let (name, paragraph) = match &block.role {
        Role::Example(file) => return Some(read(&repository().join(file)).trim_end().to_owned()),
        Role::Report(name) | Role::Output(name) | Role::Summary(name) => (name, None),
        Role::Paragraph(number, name) => (name, Some(*number)),
        _ => return None,
    };
    let all = printed.get(name);
    let all = all.unwrap_or_else(|| panic!("{place}: no test `{name}` prints anything"));
    match paragraph {
        None => Some(all.clone()),
        Some(number) => {
            let wanted = number
                .checked_sub(1)
                .and_then(|index| all.split("\n\n").nth(index));
            let wanted = wanted.unwrap_or_else(|| panic!("{place}: no such paragraph of `{name}`"));
            Some(wanted.to_owned())
        }
    }
}

/// `tests/a.rs:19: ` at the start of a summary, if that line of the file runs a check.
fn summary_prefix<'a>(shown: &'a str, files: &BTreeMap<String, String>) -> Option<&'a str> {
    let mut parts = shown.splitn(3, ':');
    let (file, line) = (parts.next()?, parts.next()?);
    let code = files
        .get(file)?
        .lines()
        .nth(line.parse::<usize>().ok()? - 1)?;
    let runs_check = code.contains(".run(") || code.contains("check(");
    runs_check.then(|| &shown[..file.len() + line.len() + ": ".len() + 1])
}

#[test]
fn the_programs_of_the_guide_print_what_it_says() {
    make();
    let pages = pages();
    let files = files(&pages);
    write_tests(&files);
    // With the cfg of the example beside it, only so that both are built once.
    let arguments = ["test", "--tests", "--no-fail-fast"];
    let ran = cargo(&[&arguments[..], &["--", "--show-output"]].concat(), true);
    let output = String::from_utf8_lossy(&ran.stdout).into_owned();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(!errors.contains("could not compile"), "{errors}");
    let printed = printed(&ran);

    let is_overwriting = std::env::var("GUIDE").is_ok_and(|value| value == "overwrite");
    let mut failing = BTreeSet::new();
    let mut wrong = String::new();
    for page in &pages {
        let mut text = page.text.clone();
        for block in page.blocks.iter().rev() {
            let (shown, place) = (page.shown(block), page.place(block));
            match &block.role {
                Role::Report(name) | Role::Paragraph(_, name) => {
                    failing.insert(name.clone());
                }
                Role::From(file) if !files[file].contains(shown) => {
                    let _ = writeln!(wrong, "{place}: this is not in {file}");
                }
                _ => {}
            }
            let Some(mut expected) = expected(block, &printed, &place) else {
                continue;
            };
            if let Role::Summary(_) = block.role {
                let prefix = summary_prefix(shown, &files);
                let prefix =
                    prefix.unwrap_or_else(|| panic!("{place}: expected `FILE:LINE: ` of a check"));
                expected.insert_str(0, prefix);
            }
            if shown.trim_end() != expected {
                text.replace_range(block.range.clone(), &format!("{expected}\n"));
                let _ = writeln!(wrong, "{place}: shown is\n{shown}\nbut it is\n{expected}\n");
            }
        }
        if is_overwriting {
            write(&page.path, &text);
        }
    }
    let failed: BTreeSet<String> = output
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
        .map(str::to_owned)
        .collect();
    assert_eq!(failed, failing, "which tests fail\n{output}\n{errors}");
    assert!(wrong.is_empty() || is_overwriting, "{wrong}");
}
