//! Hit counts of all points of a model.

use fencepost_protocol::model::points::PointKind;

use super::SearchedModel;
use super::vacuity::on_one_line;
use super::values::shortened;
use crate::columns::aligned;
use crate::style::{HEADING, Styled};
use crate::text::grouped;

/// The hit counts of rules, branches, arms, assertions, antecedents and properties, in source
/// order.
pub fn coverage(checked: &SearchedModel<'_>, width: usize) -> String {
    let model = checked.model;
    let mut order: Vec<usize> = (0..model.points.len()).collect();
    order.sort_by_key(|&index| (model.points[index].span.start, index));
    let mut rows = vec![["line", "times", "", ""].map(str::to_owned).to_vec()];
    for index in order {
        let point = &model.points[index];
        let span = point.span.start as usize..point.span.end as usize;
        let source = on_one_line(&model.source[span]);
        rows.push(vec![
            model.position(point.span).line.to_string(),
            grouped(checked.report.hits.get(index).copied().unwrap_or(0)),
            point_name(point.kind).to_owned(),
            shortened(&source, width.saturating_sub(40).max(24)),
        ]);
    }
    let mut text = format!("{}\n", Styled(HEADING, "coverage"));
    for line in aligned(&rows, "  ") {
        text += &line;
        text.push('\n');
    }
    text
}

/// The name of a kind of point.
pub fn point_name(kind: PointKind) -> &'static str {
    match kind {
        PointKind::Startstate => "start state",
        PointKind::Rule => "rule",
        PointKind::Invariant => "invariant",
        PointKind::Assumption => "assumption",
        PointKind::Cover => "cover",
        PointKind::Antecedent => "antecedent",
        PointKind::Quantifier => "quantifier",
        PointKind::Assertion => "assertion",
        PointKind::LocalAssumption => "assume",
        PointKind::Branch => "branch",
        PointKind::Arm => "arm",
    }
}
