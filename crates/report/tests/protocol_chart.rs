//! Sequence charts: which messages are found in a trace, and that the picture can be read.

use crate::support;

use fencepost_report::protocol::chart::{Flow, flow, svg};

use support::expect;
use support::markup::{Element, elements};
use support::protocol::Searched;

const MODELS: [&str; 6] = [
    "channels.m",
    "queues.m",
    "addresses.m",
    "virtual-channels.m",
    "pairs.m",
    "plain.m",
];

fn flow_of(name: &str) -> Flow {
    let searched = Searched::file(name);
    flow(
        &searched.model,
        searched.report.trace.as_ref().expect("an error"),
    )
}

/// `from label to: sent → received`.
fn messages(flow: &Flow) -> Vec<String> {
    let messages = flow.messages.iter();
    let shown = messages.map(|message| {
        let received = match message.received {
            Some(row) => row.to_string(),
            None => "never".into(),
        };
        format!(
            "{} {} {}: {} → {received}",
            message.from, message.label, message.to, message.sent
        )
    });
    shown.collect()
}

fn columns(flow: &Flow) -> Vec<&str> {
    flow.columns
        .iter()
        .map(|(_, title)| title.as_str())
        .collect()
}

#[test]
fn messages_with_addresses_go_from_one_to_the_other() {
    let flow = flow_of("addresses.m");
    assert_eq!(columns(&flow), ["Memory", "Proc_1", "Proc_2", "Proc_3"]);
    assert_eq!(
        messages(&flow),
        [
            "Memory Ask Proc_1: 1 → 2",
            "Memory Ask Proc_2: 1 → 3",
            "Memory Ask Proc_3: 1 → never",
            "Memory Note Memory: 1 → never",
            "Proc_1 Answer Memory: 2 → 4",
            "Proc_2 Answer Memory: 3 → 5",
        ]
    );
    assert_eq!(flow.messages[4].details, "val: 0");
    assert!(
        !flow.has_shared_column,
        "Memory has what belongs to no other"
    );
}

#[test]
fn a_queue_may_move_its_messages_and_its_index_is_the_receiver() {
    let flow = flow_of("queues.m");
    assert_eq!(columns(&flow), ["Node 1", "Node 2", "Node 3"]);
    assert_eq!(
        messages(&flow),
        [
            "1 Ping 1: 1 → never",
            "1 Ping 2: 1 → 2",
            "1 Stop 2: 1 → 3",
            "1 Ping 3: 1 → never",
            "2 Pong 1: 2 → never",
        ]
    );
    assert!(flow.has_shared_column);
}

#[test]
fn a_multiset_per_receiver_needs_no_field_for_it() {
    let flow = flow_of("virtual-channels.m");
    assert_eq!(columns(&flow), ["HomeNode", "Proc_1"]);
    assert_eq!(
        messages(&flow),
        ["Proc_1 Get HomeNode: 1 → 2", "HomeNode Give Proc_1: 2 → 3"]
    );
    assert_eq!(flow.messages[0].details, "vc: 1");
    // The only record of a node needs no name, and the parameter of a `choose` is an arrow.
    assert_eq!(flow.rows[1].notes[0].lines, ["asked: false → true"]);
    assert_eq!(flow.rows[2].name, "serve (n: HomeNode)");
}

#[test]
fn an_array_over_pairs_goes_from_the_first_to_the_second() {
    let flow = flow_of("pairs.m");
    assert_eq!(columns(&flow), ["Proc_1", "Proc_2"]);
    assert_eq!(
        messages(&flow),
        [
            "Proc_1 Ping Proc_2: 1 → 2",
            "Proc_2 Pong Proc_1: 2 → 3",
            "Proc_1 Pong Proc_2: 3 → never",
        ]
    );
    // How many messages there are is not said again.
    let notes = flow.rows.iter().flat_map(|row| &row.notes);
    assert!({ notes }.all(|note| note.node.is_none()), "{flow:?}");
}

#[test]
fn channels_without_addresses_go_between_a_node_and_home() {
    let flow = flow_of("channels.m");
    assert_eq!(columns(&flow), ["home", "NODE_1", "NODE_2"]);
    assert_eq!(
        messages(&flow),
        [
            "NODE_1 Req home: 1 → 3",
            "NODE_2 Req home: 2 → 4",
            "home Grant NODE_1: 3 → 5",
            "home Grant NODE_2: 4 → 6",
        ]
    );
}

#[test]
fn without_messages_what_changed_is_left() {
    let flow = flow_of("plain.m");
    assert_eq!((flow.columns.len(), flow.messages.len()), (0, 0));
    let lines: Vec<String> = { flow.rows.iter() }
        .map(|row| row.notes[0].lines.join(", "))
        .collect();
    assert_eq!(
        lines,
        [
            "x: 0, y: false",
            "x: 0 → 1",
            "x: 1 → 2",
            "x: 2 → 3",
            "y: false → true"
        ]
    );
}

#[test]
fn a_rule_that_fails_is_a_row() {
    let text = "type P: scalarset(2); var x: array [P] of 0..1;
        startstate for p: P do x[p] := 0; end; end;
        ruleset p: P do rule \"up\" x[p] := x[p] + 1; end; end;";
    let searched = Searched::text("up.m", text);
    let flow = flow(
        &searched.model,
        searched.report.trace.as_ref().expect("an error"),
    );
    let last = flow.rows.last().expect("rows");
    assert!(last.has_failed);
    assert_eq!(
        (last.number.as_str(), last.name.as_str()),
        ("2", "up (p: P_1)")
    );
    let picture = svg(&searched.checked()).expect("a picture");
    assert!(picture.contains("outside of 0..1"), "{picture}");
}

#[test]
fn long_traces_are_shown_without_their_beginning() {
    let text = "var x: 0..1000; startstate x := 0; end;
        rule \"up\" x := x + 1; end; invariant x < 400;";
    let searched = Searched::text("long.m", text);
    let flow = flow(
        &searched.model,
        searched.report.trace.as_ref().expect("an error"),
    );
    assert_eq!((flow.left_out, flow.rows.len()), (250, 151));
    assert_eq!(flow.rows[0].number, "after 250");
    assert_eq!(flow.rows[1].number, "251");
    assert_eq!(flow.rows[0].notes[0].lines, ["x: 250"]);
}

#[test]
fn there_is_no_chart_without_an_error() {
    let searched = Searched::text(
        "fine.m",
        "var x: 0..1; startstate x := 0; end; rule x := 1 - x; end;",
    );
    assert!(svg(&searched.checked()).is_none());
}

#[test]
fn charts_are_as_expected() {
    for name in ["addresses.m", "channels.m"] {
        let searched = Searched::file(name);
        let picture = svg(&searched.checked()).expect("a picture");
        expect(
            &format!("protocol-{}.svg", name.trim_end_matches(".m")),
            &picture,
        );
    }
}

/// A text as a rectangle: left, top, right, bottom.
fn rectangle(element: &Element, content: &str, shift: (f64, f64)) -> [f64; 4] {
    let get = |name: &str| {
        let found = element.attributes.iter().find(|(each, _)| each == name);
        found.map(|(_, value)| value.clone())
    };
    let number = |name: &str| {
        get(name)
            .expect("it is there")
            .parse::<f64>()
            .expect("a number")
    };
    // As wide as a wide font, and as high as its letters.
    let size = match get("class").as_deref() {
        Some("title") => 18.0,
        Some("node" | "verdict") => 14.0,
        Some("message" | "rule") => 13.0,
        Some("details") => 11.0,
        _ => 12.0,
    };
    let width = content.chars().count() as f64 * size * 0.6;
    let left = match get("text-anchor").is_some() {
        true => number("x") - width / 2.0,
        false => number("x"),
    };
    let (left, bottom) = (left + shift.0, number("y") + shift.1);
    [left, bottom - size * 0.75, left + width, bottom + 2.0]
}

/// The texts of a picture with their places.
fn texts(picture: &str) -> Vec<([f64; 4], String)> {
    let mut found = Vec::new();
    let mut shift = (0.0, 0.0);
    for line in picture.lines() {
        if let Some(place) = line.strip_prefix("<g transform=\"translate(") {
            let (x, y) = place.split_once(' ').expect("two numbers");
            let y = y.split(')').next().expect("a number");
            shift = (x.parse().expect("a number"), y.parse().expect("a number"));
        }
        if line.starts_with("<text") {
            let element = elements(line).remove(0);
            let content = line.split_once('>').expect("a tag").1;
            let content = content.trim_end_matches("</text>").replace("&gt;", ">");
            found.push((rectangle(&element, &content, shift), content));
        }
    }
    found
}

#[test]
fn pictures_are_well_formed_and_no_text_is_over_another() {
    for name in MODELS {
        let searched = Searched::file(name);
        let picture = svg(&searched.checked()).expect("a picture");
        let root = elements(&picture).remove(0);
        let size = |name: &str| {
            let found = root.attributes.iter().find(|(each, _)| each == name);
            found.expect("a size").1.parse::<f64>().expect("a number")
        };
        let texts = texts(&picture);
        assert!(texts.len() > 5, "{name}");
        for (number, (one, content)) in texts.iter().enumerate() {
            assert!(
                one[0] >= 0.0
                    && one[1] >= 0.0
                    && one[2] <= size("width")
                    && one[3] <= size("height"),
                "{name}: {content} is outside: {one:?}"
            );
            for (other, other_content) in &texts[..number] {
                let is_apart = one[2] <= other[0]
                    || other[2] <= one[0]
                    || one[3] <= other[1]
                    || other[3] <= one[1];
                assert!(is_apart, "{name}: {content} and {other_content}");
            }
        }
    }
}
