//! Operators: which operands they take, and their value if it is known.

use super::{Reported, Resolved, Resolver};
use crate::model::code::{Arithmetic, Comparison, Expr, ExprKind, ValueType};
use crate::model::points::PointKind;
use crate::model::types::Types;
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::syntax::tree;

const BOOLEAN: ValueType = ValueType::Of(Types::BOOLEAN);

fn boolean(kind: ExprKind, span: Span) -> Expr {
    Expr {
        kind,
        value_type: BOOLEAN,
        span,
    }
}

fn known(value: bool, span: Span) -> Expr {
    boolean(ExprKind::Constant(i64::from(value)), span)
}

fn constant(expr: &Expr) -> Option<i64> {
    match expr.kind {
        ExprKind::Constant(value) => Some(value),
        _ => None,
    }
}

impl<'s> Resolver<'s, '_> {
    /// A boolean.
    pub(super) fn condition(&mut self, tree: &tree::Expr<'s>) -> Resolved<Expr> {
        let expr = self.expr(tree)?;
        match self.is_boolean(expr.value_type) {
            true => Ok(expr),
            false => Err(self.mismatch(expr.value_type, "a boolean".into(), tree.span)),
        }
    }

    /// An integer as an operand.
    fn integer(&mut self, tree: &tree::Expr<'s>, operator: &'static str) -> Resolved<Expr> {
        let expr = self.expr(tree)?;
        match self.is_integer(expr.value_type) {
            true => Ok(expr),
            false => Err(self.not_ordered(expr.value_type, operator, tree.span)),
        }
    }

    fn not_ordered(&mut self, found: ValueType, operator: &'static str, span: Span) -> Reported {
        let scalarset = matches!(found, ValueType::Of(id) if self.types[id].is_simple() && self.types[id].has_scalarset);
        let error = ModelErrorKind::NotOrdered {
            operator,
            found: self.describe(found),
            scalarset,
        };
        self.report(error, span)
    }

    /// An integer of a loop.
    pub(super) fn bound(&mut self, tree: &tree::Expr<'s>) -> Resolved<Expr> {
        let expr = self.expr(tree)?;
        match self.is_integer(expr.value_type) {
            true => Ok(expr),
            false => Err(self.mismatch(expr.value_type, "an integer".into(), tree.span)),
        }
    }

    pub(super) fn unary(
        &mut self,
        operator: &'static str,
        operand: &tree::Expr<'s>,
        span: Span,
    ) -> Resolved<Expr> {
        if operator == "!" {
            let operand = self.condition(operand)?;
            return Ok(match constant(&operand) {
                Some(value) => known(value == 0, span),
                None => boolean(ExprKind::Not(Box::new(operand)), span),
            });
        }
        let operand = self.integer(operand, operator)?;
        let value = constant(&operand);
        let kind = match (operator, value) {
            ("-", Some(value)) if value != i64::MIN => ExprKind::Constant(-value),
            ("-", _) => ExprKind::Negate(Box::new(operand)),
            ("~", Some(value)) => ExprKind::Constant(!value),
            ("~", None) => ExprKind::Complement(Box::new(operand)),
            _ => return Ok(Expr { span, ..operand }),
        };
        Ok(Expr {
            kind,
            value_type: ValueType::Integer,
            span,
        })
    }

    pub(super) fn binary(
        &mut self,
        operator: &'static str,
        left: &tree::Expr<'s>,
        right: &tree::Expr<'s>,
        span: Span,
    ) -> Resolved<Expr> {
        let comparison = match operator {
            "=" | "==" => return self.equal(false, left, right, span),
            "!=" => return self.equal(true, left, right, span),
            "->" => return self.implies(left, right, span),
            "<" => Some(Comparison::Less),
            "<=" => Some(Comparison::LessOrEqual),
            ">" => Some(Comparison::Greater),
            ">=" => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        let left = self.integer(left, operator);
        let right = self.integer(right, operator)?;
        let left = left?;
        match comparison {
            Some(operator) => Ok(compared(operator, left, right, span)),
            None => Ok(computed(arithmetic(operator), left, right, span)),
        }
    }

    fn implies(
        &mut self,
        left: &tree::Expr<'s>,
        right: &tree::Expr<'s>,
        span: Span,
    ) -> Resolved<Expr> {
        let antecedent = self.condition(left);
        let point = match self.counts_vacuity {
            true => Some(self.point(PointKind::Antecedent, None, left.span)),
            false => None,
        };
        let consequent = self.condition(right)?;
        let antecedent = antecedent?;
        // What is counted must be evaluated, or a true antecedent would seem never to hold.
        if let (Some(a), Some(b), None) = (constant(&antecedent), constant(&consequent), point) {
            return Ok(known(a == 0 || b != 0, span));
        }
        let kind = ExprKind::Implies {
            antecedent: Box::new(antecedent),
            consequent: Box::new(consequent),
            point,
        };
        Ok(boolean(kind, span))
    }

    fn equal(
        &mut self,
        negated: bool,
        left: &tree::Expr<'s>,
        right: &tree::Expr<'s>,
        span: Span,
    ) -> Resolved<Expr> {
        let left = self.expr(left);
        let right = self.expr(right)?;
        let left = left?;
        let element = |t| matches!(t, ValueType::Element(_));
        if element(left.value_type) && left.value_type == right.value_type {
            let kind = ExprKind::Equal {
                negated,
                left: Box::new(left),
                right: Box::new(right),
            };
            return Ok(boolean(kind, span));
        }
        let (left, right) = match self.unify(left, right) {
            Ok(both) => both,
            Err((left, right)) => {
                let error = ModelErrorKind::NotComparable {
                    left: self.describe(left),
                    right: self.describe(right),
                };
                return Err(self.report(error, span));
            }
        };
        if let (Some(a), Some(b)) = (constant(&left), constant(&right)) {
            return Ok(known((a == b) != negated, span));
        }
        let is_simple =
            !matches!(left.value_type, ValueType::Of(id) if !self.types[id].is_simple());
        let (left, right) = (Box::new(left), Box::new(right));
        let kind = match is_simple {
            true => ExprKind::Equal {
                negated,
                left,
                right,
            },
            false => ExprKind::Same {
                negated,
                left,
                right,
            },
        };
        Ok(boolean(kind, span))
    }

    /// `&`, `&&`, `|` and `||`. The short ones are bitwise on integers.
    pub(super) fn chain(
        &mut self,
        operator: &'static str,
        trees: &[tree::Expr<'s>],
        span: Span,
    ) -> Resolved<Expr> {
        let mut operands = Vec::with_capacity(trees.len());
        let mut failed = false;
        for tree in trees {
            match self.expr(tree) {
                Ok(operand) => operands.push(operand),
                Err(Reported) => failed = true,
            }
        }
        if failed {
            return Err(Reported);
        }
        let bitwise = operator.len() == 1 && operands.iter().all(|o| self.is_integer(o.value_type));
        if bitwise {
            let operator = arithmetic(operator);
            let joined = operands.into_iter().reduce(|left, right| {
                let span = left.span.to(right.span);
                computed(operator, left, right, span)
            });
            return joined.ok_or(Reported);
        }
        for operand in &operands {
            if !self.is_boolean(operand.value_type) {
                let (found, span) = (operand.value_type, operand.span);
                return Err(self.mismatch(found, "a boolean".into(), span));
            }
        }
        let is_and = operator.starts_with('&');
        Ok(joined(is_and, operands, span))
    }

    /// Why an expression has no known value.
    pub(super) fn why_not_constant(&self, expr: &Expr, used_as: &'static str) -> ModelErrorKind {
        if let ExprKind::Arithmetic {
            operator,
            left,
            right,
        } = &expr.kind
            && let (Some(left), Some(right)) = (constant(left), constant(right))
            && let Err(why) = operator.apply(left, right)
        {
            return ModelErrorKind::BadArithmetic { why };
        }
        ModelErrorKind::NotConstant { used_as }
    }
}

/// Operands that are known are dropped, and those after one that decides too. Those before it
/// stay: their evaluation may be an error.
fn joined(is_and: bool, operands: Vec<Expr>, span: Span) -> Expr {
    let decides = i64::from(!is_and);
    let mut left = Vec::new();
    for operand in operands {
        match constant(&operand) {
            Some(value) if value == decides => {
                left.push(operand);
                break;
            }
            Some(_) => {}
            None => left.push(operand),
        }
    }
    match left.as_slice() {
        [] => known(is_and, span),
        [only] if constant(only).is_some() => known(!is_and, span),
        [_] => left.remove(0),
        _ if is_and => boolean(ExprKind::And(left), span),
        _ => boolean(ExprKind::Or(left), span),
    }
}

fn compared(operator: Comparison, left: Expr, right: Expr, span: Span) -> Expr {
    match (constant(&left), constant(&right)) {
        (Some(a), Some(b)) => known(operator.holds(a, b), span),
        _ => {
            let kind = ExprKind::Compare {
                operator,
                left: Box::new(left),
                right: Box::new(right),
            };
            boolean(kind, span)
        }
    }
}

fn computed(operator: Arithmetic, left: Expr, right: Expr, span: Span) -> Expr {
    let known = match (constant(&left), constant(&right)) {
        (Some(a), Some(b)) => operator.apply(a, b).ok(),
        _ => None,
    };
    let kind = match known {
        Some(value) => ExprKind::Constant(value),
        None => ExprKind::Arithmetic {
            operator,
            left: Box::new(left),
            right: Box::new(right),
        },
    };
    Expr {
        kind,
        value_type: ValueType::Integer,
        span,
    }
}

fn arithmetic(operator: &str) -> Arithmetic {
    match operator {
        "+" => Arithmetic::Add,
        "-" => Arithmetic::Subtract,
        "*" => Arithmetic::Multiply,
        "/" => Arithmetic::Divide,
        "%" => Arithmetic::Remainder,
        "&" => Arithmetic::BitAnd,
        "|" => Arithmetic::BitOr,
        "^" => Arithmetic::BitXor,
        "<<" => Arithmetic::ShiftLeft,
        _ => Arithmetic::ShiftRight,
    }
}
