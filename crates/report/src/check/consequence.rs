//! The consequence of a store-buffer violation as text.

use super::summary_text::{assumption, early_drain};
use super::{Consequence, Obstacle, Reporter, Unexplored};
use crate::style::{HEADING, Styled};
use crate::text::counted;

/// The last part of the report of a violation: the failing execution, or the result of the search
/// for one.
pub(super) fn text(reporter: &Reporter<'_>, consequence: &Consequence) -> String {
    match consequence {
        Consequence::Failure {
            finding,
            continues_witness,
            ..
        } => {
            let origin = origin(*continues_witness, reporter);
            let heading = Styled(HEADING, format!("consequence ({origin})"));
            format!("\n{heading}:\n{}", super::finding::text(reporter, finding))
        }
        Consequence::NoFailure { .. } => {
            let sentence = consequence_sentence(consequence, reporter);
            let heading = Styled(HEADING, "consequence");
            format!("\n{}", super::finding::titled(heading, &sentence))
        }
    }
}

/// Where a failing execution starts.
fn origin(continues_witness: bool, reporter: &Reporter<'_>) -> String {
    match continues_witness {
        true => "continuing from the witness".to_string(),
        false => format!("in another execution under {}", reporter.target.title),
    }
}

/// The consequence of a violation, in one sentence, and its assumptions.
pub(crate) fn consequence_sentence(consequence: &Consequence, reporter: &Reporter<'_>) -> String {
    match consequence {
        Consequence::Failure {
            finding,
            continues_witness,
            also_under_sc,
        } => {
            let headline = reporter.headline(finding);
            let origin = origin(*continues_witness, reporter);
            match also_under_sc {
                true => format!(
                    "fails anyway: {origin}, {headline}; the same failure happens \
                     without store buffers too, fix it first"
                ),
                false => format!("harmful: {origin}, {headline}"),
            }
        }
        Consequence::NoFailure {
            executions,
            unexplored,
            assumptions,
            obstacle,
        } => {
            let title = &reporter.target.title;
            let executions = counted(*executions, "execution");
            let mut sentence = match unexplored {
                Unexplored::Nothing => {
                    format!("benign: no execution under {title} fails ({executions} explored)")
                }
                Unexplored::Remaining => format!(
                    "inconclusive: none of {executions} under {title} fails, but there are more (use `{}` to explore them \
                     all)",
                    reporter.language().setting("store_buffers")
                ),
                Unexplored::Unsupported => format!(
                    "inconclusive: none of {executions} under {title} fails, but there are more, which \
                     Fencepost cannot explore: {}",
                    early_drain(reporter.language())
                ),
            };
            if let Some(obstacle) = obstacle {
                sentence.push_str(&format!(" ({})", obstacle_clause(obstacle)));
            }
            for item in assumptions {
                sentence.push_str(&format!(
                    "\nassumes: {}",
                    assumption(item, reporter.language())
                ));
            }
            sentence
        }
    }
}

fn obstacle_clause(obstacle: &Obstacle) -> &str {
    match obstacle {
        Obstacle::NotReproduced => "an execution failed, but not when it was replayed",
        Obstacle::CannotContinue => "the program could not continue",
        Obstacle::CannotFollowWitness => "the program could not follow the witness",
        Obstacle::Error(error) => error,
    }
}
