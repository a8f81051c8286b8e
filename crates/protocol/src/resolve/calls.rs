//! Calls of functions and procedures.

use super::designators::Operand;
use super::scopes::Symbol;
use super::{Reported, Resolved, Resolver};
use crate::model::FunctionId;
use crate::model::code::{Argument, Call, ExprKind, ValueType};
use crate::model::types::TypeId;
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::syntax::tree::{self, Name};
use fencepost_diagnostics::quoted;

/// The signature of a function.
pub(super) struct Signature<'s> {
    pub name: Name<'s>,
    /// Names, types, and whether they are `var`.
    pub parameters: Vec<(Name<'s>, Resolved<TypeId>, bool)>,
    pub result: Option<Resolved<TypeId>>,
}

/// CMurphi's functions on floating-point numbers.
const REAL_FUNCTIONS: [&str; 18] = [
    "log", "log10", "exp", "sin", "cos", "tan", "fabs", "floor", "ceil", "sqrt", "fmod", "pow",
    "asin", "acos", "atan", "sinh", "cosh", "tanh",
];

impl<'s> Resolver<'s, '_> {
    /// A call, and the type of its result.
    pub(super) fn call(
        &mut self,
        name: Name<'s>,
        trees: &[tree::Expr<'s>],
    ) -> Resolved<(Call, Option<TypeId>)> {
        let function = self.function_named(name)?;
        let signature = &self.signatures[function.0 as usize];
        let wanted = signature.parameters.len();
        let result = signature.result;
        self.calls.push((function, name.span));
        let mut arguments = Vec::with_capacity(trees.len());
        let mut failed = false;
        for (index, tree) in trees.iter().enumerate() {
            match self.argument(function, index, tree) {
                Ok(argument) => arguments.push(argument),
                Err(Reported) => failed = true,
            }
        }
        if trees.len() != wanted {
            let error = ModelErrorKind::ArgumentCount {
                name: quoted(name.text),
                found: trees.len(),
                wanted,
            };
            return Err(self.report(error, name.span));
        }
        if failed {
            return Err(Reported);
        }
        let call = Call {
            function,
            arguments,
        };
        Ok((call, result.transpose()?))
    }

    fn function_named(&mut self, name: Name<'s>) -> Resolved<FunctionId> {
        let unknown = self.scopes.look_up(name.text).is_none();
        let is_real = |real: &&str| real.eq_ignore_ascii_case(name.text);
        if unknown && REAL_FUNCTIONS.iter().any(is_real) {
            let error = ModelErrorKind::NotSupported {
                what: "functions on floating-point numbers",
                instead: "integers",
            };
            return Err(self.report(error, name.span));
        }
        match self.look_up(name.text, name.span, "function")? {
            Symbol::Function(id) => Ok(id),
            other => Err(self.other_kind(name.text, name.span, other, "a function or a procedure")),
        }
    }

    fn argument(
        &mut self,
        function: FunctionId,
        index: usize,
        tree: &tree::Expr<'s>,
    ) -> Resolved<Argument> {
        let parameters = &self.signatures[function.0 as usize].parameters;
        let Some(&(parameter, type_id, is_var)) = parameters.get(index) else {
            // The count is wrong, but errors within the argument are reported too.
            self.operand(tree)?;
            return Err(Reported);
        };
        let wanted = type_id?;
        if is_var {
            return self.var_argument(parameter, wanted, tree);
        }
        if self.is_undefined_word(tree) {
            return Ok(Argument::Undefined);
        }
        match self.operand(tree)? {
            Operand::Designator(place) if self.is_passed_by_reference(place.type_id, wanted) => {
                Ok(Argument::Reference(place))
            }
            Operand::Designator(place) => {
                let expr = super::expressions::read(place);
                Ok(Argument::Value(self.coerce(expr, ValueType::Of(wanted))?))
            }
            Operand::Value(expr) => Ok(Argument::Value(self.coerce(expr, ValueType::Of(wanted))?)),
        }
    }

    /// In CMurphi every type that is written is one of its own, so a variable of a range without
    /// a name is passed as a value. Records and arrays cannot be, and are compared by what is in
    /// them.
    fn is_passed_by_reference(&self, found: TypeId, wanted: TypeId) -> bool {
        match self.types[wanted].is_simple() {
            true => found == wanted && self.types[wanted].name.is_some(),
            false => self.types.same(found, wanted),
        }
    }

    fn var_argument(
        &mut self,
        parameter: Name<'s>,
        wanted: TypeId,
        tree: &tree::Expr<'s>,
    ) -> Resolved<Argument> {
        let place = self.target(tree, "be changed")?;
        if self.types.same(place.type_id, wanted) {
            return Ok(Argument::Reference(place));
        }
        let error = ModelErrorKind::VarArgument {
            parameter: quoted(parameter.text),
            found: self.types.describe(place.type_id),
            wanted: self.types.describe(wanted),
        };
        Err(self.report(error, tree.span))
    }

    /// Whether it is the word `undefined`, and that is no name here.
    pub(super) fn is_undefined_word(&self, tree: &tree::Expr<'s>) -> bool {
        match tree.kind {
            tree::ExprKind::Name(name) => {
                name.eq_ignore_ascii_case("undefined") && self.scopes.look_up(name).is_none()
            }
            _ => false,
        }
    }

    /// Warns of a constant that is outside of the bounds of its target.
    pub(super) fn check_constant(&mut self, kind: &ExprKind, target: TypeId, span: Span) {
        if let (ExprKind::Constant(value), Some((low, high))) = (kind, self.types[target].bounds())
            && !(low..=high).contains(value)
        {
            let error = ModelErrorKind::OutOfRange {
                value: *value,
                wanted: self.types.describe(target),
            };
            self.warn(error, span);
        }
    }
}
