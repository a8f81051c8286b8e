//! All routines of a model while they are compiled.

use std::sync::Arc;

use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{AbiParam, Function, Signature, UserFuncName};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};

use super::analysis::Analysis;
use super::context::{self, Comparer, field};
use super::layout::Layout;
use super::routine::Routine;
use crate::model::Model;
use crate::model::types::{TypeId, Types};
use crate::search::{SearchError, SearchErrorKind};

/// Local variables of all routines together take no more than this.
const MOST_CONTEXT: u64 = 1 << 30;

/// More statements than this are compiled without optimisation, which takes more than linear time.
const MANY_STATEMENTS: usize = 20_000;

/// The callbacks of compiled code.
#[derive(Clone, Copy)]
pub(super) struct Helpers {
    pub refuel: FuncId,
    pub grow: FuncId,
    pub copy: FuncId,
    pub zero: FuncId,
    pub first_free: FuncId,
    pub same: FuncId,
}

pub(super) struct Unit<'m> {
    pub model: &'m Model,
    pub layout: &'m Layout,
    pub analysis: Analysis,
    pub module: JITModule,
    /// The functions of the model.
    pub functions: Vec<FuncId>,
    pub helpers: Helpers,
    pub kept: OwnedData,
    /// Whether all points are counted.
    pub coverage: bool,
    /// The most iterations of a `while` loop.
    pub rounds: u64,
    /// Where the next local variable is put in the context.
    pub frame_end: u64,
    building: FunctionBuilderContext,
}

/// Data whose addresses are in compiled code.
#[derive(Default)]
pub(super) struct OwnedData {
    pub tables: Vec<Box<[i64]>>,
    pub templates: Vec<Box<[u8]>>,
    pub comparers: Vec<Arc<Comparer>>,
    sizes: Option<Arc<(Types, Layout)>>,
}

fn internal(error: impl std::fmt::Display) -> SearchError {
    SearchError {
        message: format!("the model cannot be compiled: {error}"),
        span: None,
        help: None,
        kind: SearchErrorKind::Model,
    }
}

impl<'m> Unit<'m> {
    pub fn new(
        model: &'m Model,
        layout: &'m Layout,
        statements: usize,
        coverage: bool,
        rounds: u64,
    ) -> Result<Self, SearchError> {
        let mut flags = settings::builder();
        let level = match statements > MANY_STATEMENTS {
            true => "none",
            false => "speed",
        };
        for (name, value) in [
            ("use_colocated_libcalls", "false"),
            ("is_pic", "false"),
            ("opt_level", level),
            (
                "enable_verifier",
                if cfg!(debug_assertions) {
                    "true"
                } else {
                    "false"
                },
            ),
        ] {
            flags.set(name, value).map_err(internal)?;
        }
        let isa = cranelift_native::builder().map_err(internal)?;
        let isa = isa.finish(settings::Flags::new(flags)).map_err(internal)?;
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        builder
            .symbol("refuel", context::refuel as *const u8)
            .symbol("grow", context::grow as *const u8)
            .symbol("copy", context::copy as *const u8)
            .symbol("zero", context::zero as *const u8)
            .symbol("first_free", context::first_free as *const u8)
            .symbol("same", context::same as *const u8);
        let mut module = JITModule::new(builder);
        let mut helper = |name: &str, parameters: usize, results: usize| {
            let signature = signature(&module, parameters, results);
            module
                .declare_function(name, Linkage::Import, &signature)
                .map_err(internal)
        };
        let helpers = Helpers {
            refuel: helper("refuel", 1, 1)?,
            grow: helper("grow", 1, 1)?,
            copy: helper("copy", 3, 0)?,
            zero: helper("zero", 2, 0)?,
            first_free: helper("first_free", 3, 1)?,
            same: helper("same", 3, 1)?,
        };
        Ok(Unit {
            model,
            layout,
            analysis: Analysis::new(model),
            module,
            functions: Vec::new(),
            helpers,
            kept: OwnedData::default(),
            coverage,
            rounds,
            frame_end: field::HITS as u64 + 8 * model.points.len() as u64,
            building: FunctionBuilderContext::new(),
        })
    }

    /// Room for a local variable in the context.
    pub fn reserve(&mut self, id: TypeId) -> i32 {
        let at = self.frame_end;
        self.frame_end += u64::from(self.layout.shape(id).bytes);
        // If there is too much, the program is refused at the end.
        at.min(MOST_CONTEXT) as i32
    }

    /// The sizes for comparing variables, which compiled code refers to.
    pub fn sizes(&mut self) -> Arc<(Types, Layout)> {
        let sizes = self
            .kept
            .sizes
            .get_or_insert_with(|| Arc::new((self.model.types.clone(), self.layout.clone())));
        Arc::clone(sizes)
    }

    pub fn check_size(&self) -> Result<(), SearchError> {
        match self.frame_end > MOST_CONTEXT {
            true => Err(SearchError {
                message: format!(
                    "local variables and values that are passed take more than {MOST_CONTEXT} \
                     bytes; make their types smaller"
                ),
                span: None,
                help: None,
                kind: SearchErrorKind::Model,
            }),
            false => Ok(()),
        }
    }

    /// Declares a routine.
    pub fn declare(&mut self, parameters: usize, results: usize) -> Result<FuncId, SearchError> {
        let signature = signature(&self.module, parameters, results);
        self.module
            .declare_anonymous_function(&signature)
            .map_err(internal)
    }

    /// Compiles a routine that was declared.
    pub fn define(
        &mut self,
        id: FuncId,
        parameters: usize,
        results: usize,
        build: impl FnOnce(&mut Routine<'_, 'm, '_>),
    ) -> Result<(), SearchError> {
        let name = UserFuncName::user(0, id.as_u32());
        let signature = signature(&self.module, parameters, results);
        let mut function = Function::with_name_signature(name, signature);
        let mut building = std::mem::take(&mut self.building);
        let builder = FunctionBuilder::new(&mut function, &mut building);
        let mut routine = Routine::new(self, builder);
        build(&mut routine);
        routine.finish();
        self.building = building;
        self.check_size()?;
        let mut context = self.module.make_context();
        context.func = function;
        self.module
            .define_function(id, &mut context)
            .map_err(internal)
    }
}

fn signature(module: &JITModule, parameters: usize, results: usize) -> Signature {
    let mut signature = module.make_signature();
    signature.params = vec![AbiParam::new(I64); parameters];
    signature.returns = vec![AbiParam::new(I64); results];
    signature
}
