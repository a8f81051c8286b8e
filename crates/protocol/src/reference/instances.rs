//! The instances of rules, start states and properties.

use super::interruption::EvalResult;
use super::machine::{Machine, SlotContents};
use crate::model::Binding;
use crate::model::code::Frame;
use crate::outcome::Value;

impl Machine<'_> {
    /// Runs for each instance that there is in the state, with the values of its parameters (for
    /// `choose`, the index of the element). All are bound in a frame that is open meanwhile.
    pub fn each_instance(
        &mut self,
        frame: &Frame,
        bindings: &[Binding],
        run: &mut dyn FnMut(&mut Self, &[i64]) -> EvalResult<()>,
    ) -> EvalResult<()> {
        self.enter(frame);
        self.bind_rest(bindings, &mut Vec::new(), run)?;
        self.leave();
        Ok(())
    }

    fn bind_rest(
        &mut self,
        bindings: &[Binding],
        parameters: &mut Vec<i64>,
        run: &mut dyn FnMut(&mut Self, &[i64]) -> EvalResult<()>,
    ) -> EvalResult<()> {
        let Some((binding, rest)) = bindings.split_first() else {
            self.step()?;
            return run(self, parameters);
        };
        let (slot, values): (_, Vec<i64>) = match binding {
            Binding::Alias(alias) => {
                self.bind_alias(alias)?;
                return self.bind_rest(rest, parameters, run);
            }
            Binding::Quantified { slot, domain } => (*slot, self.values(domain)?.collect()),
            Binding::Chosen { slot, multiset } => {
                let elements = self.elements(multiset)?;
                (*slot, elements.into_iter().map(|i| i as i64).collect())
            }
        };
        for value in values {
            parameters.push(value);
            self.hold_value(slot, value);
            self.bind_rest(rest, parameters, run)?;
            parameters.pop();
        }
        Ok(())
    }

    /// Opens a frame with an instance bound.
    pub fn enter_instance(
        &mut self,
        frame: &Frame,
        bindings: &[Binding],
        parameters: &[i64],
    ) -> EvalResult<()> {
        self.enter(frame);
        let mut parameters = parameters.iter();
        for binding in bindings {
            match binding {
                Binding::Alias(alias) => self.bind_alias(alias)?,
                Binding::Quantified { slot, .. } | Binding::Chosen { slot, .. } => {
                    let value = parameters.next().copied().unwrap_or(0);
                    self.hold(*slot, SlotContents::Value(Value::Simple(value)));
                }
            }
        }
        Ok(())
    }
}
