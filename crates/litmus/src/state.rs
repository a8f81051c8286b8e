//! Final states: what is asked about them, and how they are printed.

use std::fmt::Write as _;

use crate::code::Width;
use crate::test::{Observable, Proposition, Term, Test};

impl Proposition {
    /// Whether it holds in a final state: the contents of [`Test::observables`], each masked to its
    /// width.
    pub fn holds(&self, state: &[u64]) -> bool {
        let content = |term: &Term| match term {
            Term::Observed(index) => state[*index],
            Term::Constant(value) => *value,
        };
        match self {
            Proposition::Constant(value) => *value,
            Proposition::Equal(left, right) => content(left) == content(right),
            Proposition::Not(inner) => !inner.holds(state),
            Proposition::And(parts) => parts.iter().all(|part| part.holds(state)),
            Proposition::Or(parts) => parts.iter().any(|part| part.holds(state)),
            Proposition::Implies(left, right) => !left.holds(state) || right.holds(state),
        }
    }
}

impl Test {
    /// How many bytes of an observable are observed.
    pub fn observed_width(&self, observable: &Observable) -> Width {
        match observable {
            Observable::Register { width, .. } => *width,
            Observable::Cell { cell, .. } => self.cells[cell.index()].width,
        }
    }

    /// Whether a final state counts: whether the filter, if there is one, lets it pass.
    pub fn passes_filter(&self, state: &[u64]) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| filter.holds(state))
    }

    /// A final state as herd7 prints it: `0:EAX=0; [x]=1;`. Takes the contents of the observables;
    /// those that only the filter observes may be left out.
    pub fn format_state(&self, state: &[u64]) -> String {
        let mut line = String::new();
        for (observable, content) in self.observed.iter().zip(state) {
            let (name, is_unsigned) = match observable {
                Observable::Register { name, unsigned, .. } => (name, *unsigned),
                Observable::Cell { name, cell } => (name, self.cells[cell.index()].unsigned),
            };
            let separator = if line.is_empty() { "" } else { " " };
            let width = self.observed_width(observable);
            let value = self.format_value(*content, width, is_unsigned);
            _ = write!(line, "{separator}{name}={value};");
        }
        line
    }

    /// A content as herd7 prints it: a number, or the name of the location whose address it is.
    pub fn format_value(&self, content: u64, width: Width, is_unsigned: bool) -> String {
        if let Some(cell) = self.cell_at(content & width.mask()) {
            return self.cells[cell.index()].name.clone();
        }
        match is_unsigned {
            true => (content & width.mask()).to_string(),
            false => width.signed(content).to_string(),
        }
    }
}
