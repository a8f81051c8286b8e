//! Name resolution and type checking: from a syntax tree to a typed model.
//!
//! Read in this order: `scopes` (names), `declarations` (constants, types, variables),
//! `convert` (type compatibility), `designators`, `operators` and `expressions`, `calls`,
//! `statements`, `routines` (functions, rules, properties), `flow` (returns and recursion).
//!
//! A part that cannot be resolved is reported and left out; the rest is still checked, so that one
//! run reports several errors.

mod calls;
mod convert;
mod declarations;
mod designators;
mod expressions;
mod flow;
mod operators;
mod routines;
mod scopes;
mod statements;

use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::limits::Limits;
use crate::model::code::{Frame, Slot, SlotId, SlotKind};
use crate::model::points::{Point, PointId, PointKind};
use crate::model::types::{TypeId, Types};
use crate::model::{Constant, FunctionId, Global, Model};
use crate::model_error::{ModelError, SpannedError};
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::syntax::tree::File;
use calls::Signature;
use scopes::Scopes;

/// The error was reported, and the part that has it is left out.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Resolved<T> = Result<T, Reported>;

/// The `return` statements that a routine may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Returns {
    Nothing,
    Value(TypeId),
}

struct Resolver<'s, 'm> {
    source: &'s str,
    limits: &'m Limits,
    errors: &'m mut Vec<SpannedError>,
    warnings: Vec<SpannedError>,
    given: &'m [(String, i64)],
    types: Types,
    /// Ranges without a name, so that equal ones are one type.
    ranges: HashMap<(i64, i64), TypeId, FxBuildHasher>,
    /// The numbers of the fields of records.
    fields: HashMap<(TypeId, &'s str), u32, FxBuildHasher>,
    /// The conversions that were asked for, and how long their tables are together.
    conversions: HashMap<(TypeId, TypeId), Option<Arc<[i64]>>, FxBuildHasher>,
    converted_values: u64,
    scopes: Scopes<'s>,
    constants: Vec<Constant>,
    globals: Vec<Global>,
    signatures: Vec<Signature<'s>>,
    points: Vec<Point>,
    /// The slots of the current routine.
    frame: Frame,
    /// Which of them can be assigned.
    writable: Vec<bool>,
    /// The number of cells of its local variables.
    local_cells: u64,
    returns: Returns,
    saw_return: bool,
    saw_assume: bool,
    /// For each function, whether it or one that it calls may find an assumption false.
    assumes: Vec<bool>,
    /// The calls of the current routine.
    calls: Vec<(FunctionId, Span)>,
    /// Whether implications and quantifiers are counted: in properties and assertions.
    counts_vacuity: bool,
}

/// The model, unless there are errors.
pub(crate) fn resolve(
    source: &str,
    file: &File<'_>,
    given: &[(String, i64)],
    limits: &Limits,
    errors: &mut Vec<SpannedError>,
) -> Option<Model> {
    let mut resolver = Resolver {
        source,
        limits,
        errors,
        warnings: Vec::new(),
        given,
        types: Types::new(),
        ranges: HashMap::default(),
        fields: HashMap::default(),
        conversions: HashMap::default(),
        converted_values: 0,
        scopes: Scopes::new(),
        constants: Vec::new(),
        globals: Vec::new(),
        signatures: Vec::new(),
        points: Vec::new(),
        frame: Frame::default(),
        writable: Vec::new(),
        local_cells: 0,
        returns: Returns::Nothing,
        saw_return: false,
        saw_assume: false,
        assumes: Vec::new(),
        calls: Vec::new(),
        counts_vacuity: false,
    };
    resolver.globals(file);
    resolver.check_given();
    let functions = resolver.functions(file);
    let parts = resolver.rules(file);
    if !resolver.errors.is_empty() {
        return None;
    }
    let mut warnings = resolver.warnings;
    warnings.sort_by_key(|warning| warning.span);
    warnings.truncate(ModelError::MAX);
    Some(Model {
        source: source.into(),
        types: resolver.types,
        constants: resolver.constants,
        globals: resolver.globals,
        functions,
        startstates: parts.startstates,
        rules: parts.rules,
        properties: parts.properties,
        points: resolver.points,
        warnings: warnings
            .into_iter()
            .map(|w| w.with_source(source))
            .collect(),
    })
}

impl<'s> Resolver<'s, '_> {
    /// Reports an error once.
    fn report(&mut self, kind: ModelErrorKind, span: Span) -> Reported {
        let same = |m: &SpannedError| m.span == span && *m.kind == kind;
        if self.errors.len() < ModelError::MAX && !self.errors.iter().any(same) {
            self.errors.push(kind.at(span));
        }
        Reported
    }

    /// Whether the most errors were reported.
    fn is_full(&self) -> bool {
        self.errors.len() >= ModelError::MAX
    }

    /// Whether a limit was reached, so that resolving stops.
    fn gave_up(&self) -> bool {
        self.is_full() || self.errors.iter().any(|m| m.kind.is_limit())
    }

    /// Reports a warning once.
    fn warn(&mut self, kind: ModelErrorKind, span: Span) {
        let same = |m: &SpannedError| m.span == span && *m.kind == kind;
        if self.warnings.len() < ModelError::MAX && !self.warnings.iter().any(same) {
            self.warnings.push(kind.at(span));
        }
    }

    fn point(&mut self, kind: PointKind, name: Option<&str>, span: Span) -> PointId {
        let id = PointId(self.points.len() as u32);
        self.points.push(Point {
            kind,
            name: name.map(Into::into),
            span,
        });
        id
    }

    fn slot(&mut self, name: &str, kind: SlotKind, writable: bool) -> SlotId {
        let id = SlotId(self.frame.slots.len() as u32);
        let name = name.into();
        self.frame.slots.push(Slot { name, kind });
        self.writable.push(writable);
        id
    }
}
