//! Console blocks of the guide, run and compared.
//!
//! In a block, `[..]` stands for anything in a line, `...` alone for any lines, and `? 1` is the
//! exit code. `TRYCMD=overwrite` writes what the commands print now into the files.

use super::{fencepost, root};

/// A block: its command and the expected output.
struct Block {
    /// The lines of the file between the command and the end of the block.
    lines: std::ops::Range<usize>,
    command: String,
    expected: Vec<String>,
}

fn blocks(text: &str) -> Vec<Block> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if lines[at] == "```console" {
            let length = lines[at..]
                .iter()
                .position(|line| *line == "```")
                .expect("its end");
            if let Some(command) = lines[at + 1].strip_prefix("$ ") {
                blocks.push(Block {
                    lines: at + 2..at + length,
                    command: command.to_owned(),
                    expected: lines[at + 2..at + length]
                        .iter()
                        .map(|l| l.to_string())
                        .collect(),
                });
            }
            at += length;
        }
        at += 1;
    }
    blocks
}

/// Splits as a shell would, as far as the guide goes: at spaces, but not within quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in command.split('"').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// The output of a command, after its exit code if that is not 0. Runs `fencepost` and `cat`.
pub fn run(command: &str) -> Vec<String> {
    let (program, arguments) = command.split_once(' ').expect("arguments");
    if program == "cat" {
        let text = std::fs::read_to_string(root().join(arguments)).expect("a file of the guide");
        return text
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect();
    }
    assert_eq!(program, "fencepost", "{command}");
    let output = fencepost()
        .args(words(arguments))
        .env("COLUMNS", "100")
        .output()
        .expect("the command");
    let mut lines = Vec::new();
    match output.status.code() {
        Some(0) => {}
        code => lines.push(format!("? {}", code.expect("an exit code"))),
    }
    for text in [output.stdout, output.stderr] {
        let text = String::from_utf8(text).expect("text");
        lines.extend(text.lines().map(|line| line.trim_end().to_owned()));
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn line_matches(expected: &str, actual: &str) -> bool {
    let mut parts = expected.split("[..]");
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = actual.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn matches(expected: &[String], actual: &[String]) -> bool {
    match expected.first() {
        None => actual.is_empty(),
        Some(line) if line == "..." => {
            (0..=actual.len()).any(|skipped| matches(&expected[1..], &actual[skipped..]))
        }
        Some(line) => {
            actual
                .first()
                .is_some_and(|first| line_matches(line, first))
                && matches(&expected[1..], &actual[1..])
        }
    }
}

/// Runs every block of the pages in a directory of the guide, and compares. There must be
/// `at_least` blocks.
pub fn check_pages(directory: &str, at_least: usize) {
    let is_overwriting = is_overwriting();
    let directory = root().join(directory);
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(directory).expect("the guide") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("text");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for block in blocks(&text).into_iter().rev() {
            count += 1;
            let actual = run(&block.command);
            let mut expected = block.expected;
            while expected.last().is_some_and(String::is_empty) {
                expected.pop();
            }
            if !matches(&expected, &actual) {
                wrong.push(format!(
                    "{}: {}\n{}",
                    path.display(),
                    block.command,
                    actual.join("\n")
                ));
                lines.splice(block.lines, actual);
            }
        }
        if is_overwriting {
            std::fs::write(&path, lines.join("\n") + "\n").expect("the guide can be written");
        }
    }
    assert!(count >= at_least, "only {count} blocks");
    assert!(is_overwriting || wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Compares a picture of the guide with what a command draws, in which `{}` stands for the file to
/// write.
pub fn check_picture(kept: &str, command: &str) {
    let kept = root().join(kept);
    let name = kept
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    let drawn = std::env::temp_dir().join(format!("fencepost-{}-{name}", std::process::id()));
    run(&command.replace("{}", &format!("\"{}\"", drawn.display())));
    let bytes = std::fs::read(&drawn).expect("it was drawn");
    std::fs::remove_file(&drawn).expect("it was drawn");
    if is_overwriting() {
        std::fs::write(&kept, &bytes).expect("the guide can be written");
    }
    let expected = std::fs::read(&kept).expect("a picture of the guide");
    assert!(
        expected == bytes,
        "{} is drawn differently now",
        kept.display()
    );
}

/// Whether the actual output is written into the files.
fn is_overwriting() -> bool {
    std::env::var("TRYCMD").is_ok_and(|value| value == "overwrite")
}
