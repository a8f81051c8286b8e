//! Sources, names and executions that are not as one would like them.

use crate::support;

use fencepost_memory::MemoryModel;
use fencepost_report::SourcePosition;
use fencepost_report::check::Problem;
use support::{Program, expect, plain};
use unicode_width::UnicodeWidthStr;

fn panic_at(program: &mut Program, position: SourcePosition) -> String {
    let thread = program.thread_id("T1");
    let finding = program.with_problem(Problem::Panic {
        thread,
        message: "no".into(),
        location: Some(position),
    });
    plain(&program.reporter(MemoryModel::TSO).finding(&finding))
}

/// The source line and the line under it.
fn underlined(text: &str) -> (String, String) {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.contains('^')).unwrap();
    (lines[at - 1].to_string(), lines[at].to_string())
}

/// What stands above the `^`.
fn marked_text(text: &str) -> String {
    let (source, marks) = underlined(text);
    let start = marks[..marks.find('^').unwrap()].width();
    let width = marks.matches('^').count();
    let mut at = 0;
    let inside = source.chars().filter(|c| {
        let begin = at;
        at += c.to_string().width();
        begin >= start && begin < start + width
    });
    inside.collect()
}

#[test]
fn tabs_and_wide_characters_are_aligned() {
    let mut program = Program::new(
        "src/wide.rs",
        "fn f() {\n\tlet 数 = \"変化\";\tX.store(数, Relaxed);\n}\n",
    );
    let position = program.find("X.|store");
    // Four for the first tab, `let 数 = "変化";` with three wide characters, four again, `X.`.
    assert_eq!(position.column, 4 + 16 + 4 + 2 + 1);
    let text = panic_at(&mut program, position);
    assert_eq!(marked_text(&text), "X.store(数, Relaxed)", "{text}");
}

#[test]
fn lines_may_end_as_on_windows() {
    let source = "fn f() {\r\n    X.store(1, Relaxed);\r\n    Y.load(Relaxed);\r\n}\r\n";
    let mut program = Program::new("src\\crlf.rs", source);
    let position = program.find("Y.|load");
    assert_eq!(position.line, 3);
    let text = panic_at(&mut program, position);
    assert!(!text.contains('\r'));
    assert_eq!(marked_text(&text), "Y.load(Relaxed)", "{text}");
}

#[test]
fn a_stale_source_is_said_to_be_stale() {
    let mut program = Program::new("src/stale.rs", "fn main() {}\n");
    let text = panic_at(&mut program, SourcePosition::new("src/stale.rs", 40, 9));
    assert!(
        text.contains("--> src/stale.rs:40:9 (the file has no such line): T1 panics here"),
        "{text}"
    );
    // A column that the line no longer has: the whole line.
    let text = panic_at(&mut program, SourcePosition::new("src/stale.rs", 1, 90));
    assert_eq!(marked_text(&text), "fn main() {}", "{text}");
    // Line 0 is no line, and an empty file has none.
    let text = panic_at(&mut program, SourcePosition::new("src/stale.rs", 0, 0));
    assert!(text.contains("--> src/stale.rs: T1 panics here"), "{text}");
    program.sources.insert("src/stale.rs".into(), String::new());
    let text = panic_at(&mut program, SourcePosition::new("src/stale.rs", 1, 1));
    assert!(text.contains("--> src/stale.rs:1:1"), "{text}");
}

#[test]
fn long_lines_are_cut() {
    let filler = "a + ".repeat(3000);
    let source = format!("let x = {filler}X.load(Relaxed) + {filler}0;\n");
    let mut program = Program::new("src/long.rs", &source);
    let position = program.find("X.|load");
    let text = panic_at(&mut program, position);
    let (source, _) = underlined(&text);
    assert!(source.contains("X.load(Relaxed)"), "{text}");
    assert!(text.lines().all(|line| line.width() <= 140), "{text}");
}

#[test]
fn names_may_be_odd() {
    let source = "fn f() {\n    X.store(1, Relaxed);\n    Y.load(Relaxed);\n}\n";
    let long = format!("queue.{}next", "node.next.".repeat(20));
    let mut program = Program::new("src/odd.rs", source);
    let (store, load) = (program.find("X.|store"), program.find("Y.|load"));
    for (what, position) in [
        ("a`b\u{1b}[31m st x\u{202e}y 1", &store),
        (&format!("a`b\u{1b}[31m ld {long} 0"), &load),
        (&format!("変わった糸 st {long} 1"), &store),
        ("変わった糸 ld x\u{202e}y 1", &load),
    ] {
        program.perform(what, position.clone());
    }
    let finding = program.violation(MemoryModel::TSO);
    let text = program.reporter(MemoryModel::TSO).finding(&finding);
    expect("odd-names.txt", &plain(&text));
    assert!(!text.contains('\u{202e}'));
    // Nothing but our own colours.
    assert!(!text.contains("\u{1b}[31m st"));
}

#[test]
fn huge_executions_are_short_and_fast() {
    let source =
        "fn f() {\n    X.store(1, Relaxed);\n    Y.load(Relaxed);\n    Z.store(i, Relaxed);\n}\n";
    let mut program = Program::new("src/huge.rs", source);
    let [x, y, z] = ["X.|store", "Y.|load", "Z.|store"].map(|at| program.find(at));
    let work = |program: &mut Program, thread: &str| {
        for i in 0..25_000 {
            program.perform(&format!("{thread} st own-of-{thread} {i}"), z.clone());
        }
    };
    work(&mut program, "T3");
    program.perform("T1 st x 1", x.clone());
    work(&mut program, "T1");
    program.perform("T1 ld y 0", y.clone());
    work(&mut program, "T3");
    program.perform("T2 st y 1", x.clone());
    work(&mut program, "T3");
    program.perform("T2 ld x 1", y.clone());
    assert!(program.accesses.len() > 100_000);

    let mut finding = program.violation(MemoryModel::TSO);
    let reporter = program.reporter(MemoryModel::TSO);
    let check = |finding: &_, name: &str| {
        let text = plain(&reporter.finding(finding));
        let json = fencepost_report::json::check::FindingObject::new(1, finding, &reporter);
        assert_eq!(json.interleaving.length, program.accesses.len());
        assert!(json.interleaving.accesses.len() <= 1001);
        assert!(text.lines().count() <= 90, "{text}");
        expect(name, &text);
    };
    // It spans more than the runner remembers.
    check(&finding, "huge-unexplained.txt");

    // The same with a longer memory.
    let limits = fencepost_monitor::MonitorLimits {
        witness_window: 1 << 18,
        ..Default::default()
    };
    let monitor = fencepost_monitor::RelaxedOrderMonitor::tso();
    let mut runner = fencepost_monitor::MonitorRunner::with_limits(monitor, limits);
    for access in &program.accesses {
        if let Some(violation) = runner.observe(*access).unwrap() {
            let explained = runner.explain(&violation);
            assert!(explained.is_ok());
            finding.problem = Problem::StoreBuffer {
                violation,
                explained,
            };
        }
    }
    check(&finding, "huge.txt");
}
