//! All measurements, and what is computed from them.

use crate::measure::Measurement;
use crate::programs::Program;
use crate::tools::Tool;

/// The measurements of one tool with one program.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The tool.
    pub tool: Tool,
    /// The measurements, each with its round.
    pub measurements: Vec<(usize, Measurement)>,
    /// Why there are no more.
    pub failure: Option<String>,
}

/// The measurements of all tools with one program.
#[derive(Clone, Debug)]
pub struct Row {
    /// The program.
    pub program: Program,
    /// A cell for each tool that was used.
    pub cells: Vec<Cell>,
}

/// A ratio, over all rounds.
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
    /// `>` or `<` if a tool was stopped, and it is at least or at most that much.
    pub mark: &'static str,
    /// Whether there is only one.
    pub is_single: bool,
}

impl Cell {
    /// The median of something that was measured.
    pub fn median(&self, of: impl Fn(&Measurement) -> f64) -> Option<f64> {
        median(self.measurements.iter().map(|(_, one)| of(one)).collect())
    }

    /// The most memory in any round, in MB.
    pub fn memory(&self) -> Option<f64> {
        let measurements = self.measurements.iter();
        let peaks = measurements.filter_map(|(_, one)| one.peak_memory_kib);
        peaks.max().map(|kib| kib as f64 * 1024.0 / 1e6)
    }

    /// Whether the tool was stopped before its end.
    pub fn is_stopped(&self) -> bool {
        self.measurements.iter().any(|(_, one)| one.is_stopped)
    }

    fn in_round(&self, wanted: usize) -> Option<&Measurement> {
        let mut measurements = self.measurements.iter();
        measurements
            .find(|(round, _)| *round == wanted)
            .map(|(_, one)| one)
    }
}

impl Row {
    /// The cell of a tool, if it was used.
    pub fn cell(&self, tool: Tool) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.tool == tool)
    }

    /// The cost of one tool relative to another. Both are taken from the same round, one soon
    /// after the other, so that they share the noise of the machine.
    pub fn ratio(
        &self,
        above: Tool,
        below: Tool,
        of: impl Fn(&Measurement) -> f64,
    ) -> Option<Ratio> {
        let (above, below) = (self.cell(above)?, self.cell(below)?);
        let ratios: Vec<f64> = above
            .measurements
            .iter()
            .filter_map(|(round, one)| Some(of(one) / of(below.in_round(*round)?)))
            .collect();
        Some(Ratio {
            median: median(ratios.clone())?,
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            greatest: ratios.iter().copied().fold(0.0, f64::max),
            mark: "",
            is_single: ratios.len() == 1,
        })
    }

    /// The same for coming to the end, if one of them does.
    pub fn ratio_to_end(
        &self,
        above: Tool,
        below: Tool,
        of: impl Fn(&Measurement) -> f64,
    ) -> Option<Ratio> {
        let mut ratio = self.ratio(above, below, of)?;
        ratio.mark = match (
            self.cell(above)?.is_stopped(),
            self.cell(below)?.is_stopped(),
        ) {
            (false, false) => "",
            (true, false) => ">",
            (false, true) => "<",
            (true, true) => return None,
        };
        Some(ratio)
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 0 => Some((values[middle - 1] + values[middle]) / 2.0),
        _ => Some(values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
