//! The compiled model.

#![allow(unsafe_code)] // Compiled code is called.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cranelift_jit::JITModule;
use cranelift_module::FuncId;

use super::context::{Context, status};
use super::entries::parameter_slots;
use super::layout::Layout;
use super::unit::{OwnedData, Unit};
use crate::model::Model;
use crate::model::code::{Expr, Statement};
use crate::model::walk::{self, Visitor};
use crate::search::{SearchError, SearchErrorKind};

/// The state, the context, the parameters of the instance; returns a status.
type Entry = unsafe extern "C" fn(*mut u64, *mut u8, *const i64) -> i64;

/// A model as native code.
pub(crate) struct Program {
    pub layout: Layout,
    pub rules: Vec<CompiledRule>,
    startstates: Vec<Entry>,
    properties: Vec<Entry>,
    /// Whether evaluating a property may change the state.
    pub property_writes: Vec<bool>,
    /// Whether evaluating a guard may change the state.
    guards_write: bool,
    context_bytes: usize,
    points: usize,
    /// The code, and the data whose addresses are in it; freed with the program.
    module: Option<JITModule>,
    _kept: OwnedData,
}

/// A rule as native code.
pub(crate) struct CompiledRule {
    scan: Entry,
    fire: Entry,
    /// How many parameters an instance has.
    pub parameters: usize,
}

// SAFETY: the code and what it has the address of are not changed once the program is made; what
// changes is in contexts, of which each thread has its own.
unsafe impl Send for Program {}
// SAFETY: as above.
unsafe impl Sync for Program {}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the entries go with the program, and none is running: running borrows it.
            unsafe { module.free_memory() };
        }
    }
}

impl Program {
    /// Compiles a model. `coverage` counts all points; `rounds` is how many a `while` may take.
    pub fn new(model: &Model, coverage: bool, rounds: u64) -> Result<Program, SearchError> {
        let layout = Layout::new(model)?;
        let mut unit = Unit::new(model, &layout, size(model), coverage, rounds)?;
        unit.compile_functions()?;
        let mut rules = Vec::new();
        let mut guards_write = false;
        for (index, rule) in model.rules.iter().enumerate() {
            let guard = rule.guard.as_ref();
            guards_write |= unit.analysis.bindings_write(&rule.bindings)
                || guard.is_some_and(|guard| unit.analysis.expr_writes(guard));
            rules.push((unit.compile_scan(index, rule)?, unit.compile_fire(rule)?));
        }
        let startstates = model.startstates.iter();
        let startstates: Vec<FuncId> = startstates
            .map(|startstate| unit.compile_start(startstate))
            .collect::<Result<_, _>>()?;
        let mut properties = Vec::new();
        let mut property_writes = Vec::new();
        for property in &model.properties {
            properties.push(unit.compile_property(property)?);
            let writes = unit.analysis.bindings_write(&property.bindings)
                || unit.analysis.expr_writes(&property.condition);
            property_writes.push(writes);
        }
        unit.check_size()?;
        unit.module
            .finalize_definitions()
            .map_err(|error| SearchError {
                message: format!("the model cannot be compiled: {error}"),
                span: None,
                help: None,
                kind: SearchErrorKind::Model,
            })?;
        let (module, kept, context_bytes) = (unit.module, unit.kept, unit.frame_end as usize + 64);
        let entry = |id: FuncId| {
            let code = module.get_finalized_function(id);
            // SAFETY: entries are compiled with exactly these parameters and this result.
            unsafe { std::mem::transmute::<*const u8, Entry>(code) }
        };
        let rules = rules.into_iter().zip(&model.rules);
        Ok(Program {
            rules: rules
                .map(|((scan, fire), rule)| CompiledRule {
                    scan: entry(scan),
                    fire: entry(fire),
                    parameters: parameter_slots(&rule.bindings).count(),
                })
                .collect(),
            startstates: startstates.into_iter().map(entry).collect(),
            properties: properties.into_iter().map(entry).collect(),
            property_writes,
            guards_write,
            context_bytes,
            points: model.points.len(),
            module: Some(module),
            _kept: kept,
            layout,
        })
    }

    /// What a thread needs to run the program.
    pub fn context(&self, stop: Arc<AtomicBool>) -> Box<Context> {
        let words = self.layout.masks.len();
        Context::new(self.context_bytes, words, self.points, stop)
    }

    fn run(
        &self,
        entry: Entry,
        state: &mut [u64],
        context: &mut Context,
        parameters: &[i64],
    ) -> i64 {
        assert_eq!(state.len(), self.layout.masks.len());
        // SAFETY: the state is as long as the layout says, the context was made for this program,
        // and callers pass as many parameters as the entry takes. Compiled code checks every
        // index, and every loop that may be long can be stopped.
        unsafe { entry(state.as_mut_ptr(), context.pointer(), parameters.as_ptr()) }
    }

    /// Finds the enabled instances of a rule; see [`Context::enabled`].
    pub fn scan(&self, rule: usize, state: &mut [u64], context: &mut Context) -> i64 {
        self.run(self.rules[rule].scan, state, context, &[])
    }

    /// Finds the enabled instances of all rules. The state stays as it is.
    pub fn scan_all(&self, state: &mut [u64], context: &mut Context) -> i64 {
        if self.guards_write {
            context.save(state);
        }
        context.forget();
        for rule in 0..self.rules.len() {
            match self.scan(rule, state, context) {
                status::DONE => {}
                other => return other,
            }
        }
        if self.guards_write {
            context.restore(state);
        }
        status::DONE
    }

    /// Fires a rule.
    pub fn fire(
        &self,
        rule: usize,
        state: &mut [u64],
        context: &mut Context,
        parameters: &[i64],
    ) -> i64 {
        assert_eq!(parameters.len(), self.rules[rule].parameters);
        self.run(self.rules[rule].fire, state, context, parameters)
    }

    /// Makes a start state of an undefined one.
    pub fn start(
        &self,
        index: usize,
        state: &mut [u64],
        context: &mut Context,
        parameters: &[i64],
    ) -> i64 {
        self.run(self.startstates[index], state, context, parameters)
    }

    /// Whether a property holds.
    pub fn property(&self, index: usize, state: &mut [u64], context: &mut Context) -> i64 {
        self.run(self.properties[index], state, context, &[])
    }
}

/// How many expressions and statements a model has.
fn size(model: &Model) -> usize {
    struct Count(usize);
    impl Visitor for Count {
        fn expr(&mut self, _: &Expr) {
            self.0 += 1;
        }
        fn statement(&mut self, _: &Statement) {
            self.0 += 1;
        }
    }
    let mut count = Count(0);
    for rule in &model.rules {
        if let Some(guard) = &rule.guard {
            walk::expr(guard, &mut count);
        }
        walk::statements(&rule.body, &mut count);
    }
    for startstate in &model.startstates {
        walk::statements(&startstate.body, &mut count);
    }
    for function in &model.functions {
        walk::statements(&function.body, &mut count);
    }
    for property in &model.properties {
        walk::expr(&property.condition, &mut count);
    }
    count.0
}
