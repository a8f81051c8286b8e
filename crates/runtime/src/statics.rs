//! Statics that each execution initializes anew.
//!
//! The first thread that uses a static initializes it. The static counts as the creator of its
//! objects, so that their addresses do not depend on which thread that was.
//!
//! Most initializers only construct values. Then no thread can observe which thread ran it, or
//! when: it is not a step, and neither are its operations, which touch only objects that it has
//! created. But other threads can observe an initializer that touches other objects, asks which
//! thread runs it, or orders accesses to cells because its thread came first. If there is one, the
//! check restarts with [`Setup::are_statics_visible`](super::Setup::are_statics_visible): statics
//! are then initialized in steps, as a [`OnceFlag`] is.
#![allow(unsafe_code)] // Values live until the end of the execution, which no type says.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fencepost_explore::Intent;
use fencepost_memory::{Address, ThreadId};

use super::error::{ProgramError, Restart};
use super::execution::{Execution, Phase};
use super::location::LocationRef;
use super::names::CreatorId;
use super::once::{Begin, OnceFlag};
use super::operation::Current;
use super::threads::Outcomes;

/// A static, as it is declared.
#[derive(Clone, Copy)]
pub struct StaticDeclaration {
    /// Its address, which identifies it.
    pub identity: usize,
    /// The name of the static, for reports.
    pub name: &'static str,
    /// The source location of the declaration.
    pub location: LocationRef,
}

/// The value of a static in this execution.
pub(crate) struct StaticValue {
    identity: usize,
    /// None during the initialization.
    value: Option<Box<dyn Any>>,
    /// The clock of its initialization, if the execution had cells.
    clock: Vec<u32>,
    /// The progress of an initialization in steps.
    steps: Option<Steps>,
}

/// The progress of a static that is initialized in steps.
struct Steps {
    progress: OnceFlag,
    /// The thread that initializes it.
    initializer: Option<ThreadId>,
    /// The threads that have seen that it is initialized, and need not read the flag again.
    known_to: Vec<ThreadId>,
    /// Whether it was initialized before any thread was spawned.
    is_known_to_all: bool,
}

/// The statics of an execution.
#[derive(Default)]
pub(crate) struct Statics {
    /// In the order in which they were first used.
    pub(crate) values: Vec<StaticValue>,
    /// What the static that is being initialized, unrecorded, has created.
    pub(crate) initializer: InitializerObjects,
}

/// The objects and cells that unrecorded initializers have created so far.
#[derive(Default)]
pub(crate) struct InitializerObjects {
    objects: Vec<Address>,
    cells: Vec<u32>,
    /// The indices of the first object and cell of the innermost initializer.
    begin: (usize, usize),
}

impl InitializerObjects {
    pub(crate) fn clear(&mut self) {
        self.objects.clear();
        self.cells.clear();
        self.begin = (0, 0);
    }

    pub(crate) fn add_object(&mut self, object: Address) {
        self.objects.push(object);
    }

    pub(crate) fn add_cell(&mut self, cell: u32) {
        self.cells.push(cell);
    }

    fn has_object(&self, object: Address) -> bool {
        self.objects[self.begin.0..].contains(&object)
    }

    pub(crate) fn has_cell(&self, cell: u32) -> bool {
        self.cells[self.begin.1..].contains(&cell)
    }

    fn enter(&mut self) -> (usize, usize) {
        std::mem::replace(&mut self.begin, (self.objects.len(), self.cells.len()))
    }

    fn leave(&mut self, outer: (usize, usize)) {
        self.objects.truncate(self.begin.0);
        self.cells.truncate(self.begin.1);
        self.begin = outer;
    }
}

impl Execution {
    fn static_entry(&mut self, identity: usize) -> Option<&mut StaticValue> {
        let mut values = self.statics.values.iter_mut();
        values.find(|entry| entry.identity == identity)
    }

    /// Makes the static the creator of what the calling thread creates. Returns the creator before.
    fn begin_static(&mut self, declared: StaticDeclaration) -> CreatorId {
        let creator = self.names.static_creator(declared.identity, declared.name);
        self.reset_creator(creator);
        self.replace_creator(creator)
    }

    fn replace_creator(&mut self, creator: CreatorId) -> CreatorId {
        std::mem::replace(&mut self.slot_mut().identity.creator, creator)
    }
}

impl Current {
    /// The value of the static. Its first use in the execution calls `initialize`.
    ///
    /// # Safety
    /// The caller must not use the reference after the end of the execution.
    pub unsafe fn static_value<T: 'static>(
        self,
        declared: StaticDeclaration,
        location: LocationRef,
        initialize: impl FnOnce() -> T,
    ) -> &'static T {
        let (phase, is_visible) = (self.phase(), self.setup().are_statics_visible);
        let value = match self.find_static(declared.identity) {
            // The thread that was initializing it may have been unwound.
            Some(None) | None if phase == Phase::Teardown => {
                self.initialize_unrecorded(declared, initialize)
            }
            Some(Some(value)) if phase == Phase::Teardown => value,
            _ if is_visible => self.static_in_steps(declared, location, initialize),
            Some(Some(value)) => value,
            Some(None) => self.uses_itself(declared),
            None => self.initialize_unrecorded(declared, initialize),
        };
        // SAFETY: the value is boxed, and is neither replaced nor dropped before the end of the
        // execution. The caller promises not to use it after that.
        unsafe { &*value }
            .downcast_ref()
            .expect("an identity belongs to one static")
    }

    #[cold]
    fn uses_itself(self, declared: StaticDeclaration) -> ! {
        let name = declared.name;
        self.fail(ProgramError::Misuse {
            message: format!("the initializer of the static {name} uses the static itself"),
            location: None,
        })
    }

    fn find_static(self, identity: usize) -> Option<Option<*const dyn Any>> {
        self.with(|execution| {
            let entry = execution
                .statics
                .values
                .iter()
                .find(|entry| entry.identity == identity)?;
            if execution.races.are_tracked() {
                execution
                    .races
                    .learn(execution.running.thread, &entry.clock);
            }
            Some(entry.value.as_deref().map(std::ptr::from_ref))
        })
    }

    fn initialize_unrecorded<T: 'static>(
        self,
        declared: StaticDeclaration,
        initialize: impl FnOnce() -> T,
    ) -> *const dyn Any {
        // The thread that comes first would order what it did before with what others do after.
        if self.with(|execution| execution.races.are_tracked() && !execution.threads.is_alone()) {
            self.request_visible_statics();
        }
        let (phase, creator, own) = self.with(|execution| {
            if execution.static_entry(declared.identity).is_none() {
                execution.statics.values.push(StaticValue {
                    identity: declared.identity,
                    value: None,
                    clock: Vec::new(),
                    steps: None,
                });
            }
            let phase = execution.phase;
            if phase == Phase::Running {
                execution.phase = Phase::StaticInit;
            }
            let own = execution.statics.initializer.enter();
            (phase, execution.begin_static(declared), own)
        });
        // If it panics, the execution is over, and nothing has to be restored.
        let value: Box<dyn Any> = Box::new(initialize());
        let address = std::ptr::from_ref(&*value);
        self.with(|execution| {
            if execution.phase == Phase::StaticInit {
                execution.phase = phase;
            }
            execution.statics.initializer.leave(own);
            execution.replace_creator(creator);
            let entry = execution
                .statics
                .values
                .iter_mut()
                .find(|entry| entry.identity == declared.identity)
                .expect("it was added above");
            entry.value = Some(value);
            if execution.races.are_tracked() {
                execution
                    .races
                    .publish(execution.running.thread, &mut entry.clock);
            }
        });
        address
    }

    /// The value of a static that is initialized in steps.
    fn static_in_steps<T: 'static>(
        self,
        declared: StaticDeclaration,
        location: LocationRef,
        initialize: impl FnOnce() -> T,
    ) -> *const dyn Any {
        let progress = self.progress_of_static(declared);
        let thread = self.thread();
        let identity = declared.identity;
        let (is_known, is_own) = self.with(|execution| {
            let entry = execution.static_entry(identity);
            let steps = entry.and_then(|entry| entry.steps.as_ref());
            steps.map_or((false, false), |steps| {
                let is_known = steps.is_known_to_all || steps.known_to.contains(&thread);
                (is_known, steps.initializer == Some(thread))
            })
        });
        if is_own {
            self.uses_itself(declared);
        }
        let mut initialized = None;
        if !is_known && progress.begin(self, location) == Begin::Claimed {
            let creator = self.with(|execution| {
                if let Some(StaticValue {
                    steps: Some(steps), ..
                }) = execution.static_entry(identity)
                {
                    steps.initializer = Some(thread);
                }
                let creator = execution.names.static_creator(identity, declared.name);
                execution.replace_creator(creator)
            });
            let value: Box<dyn Any> = Box::new(initialize());
            self.with(|execution| execution.replace_creator(creator));
            initialized = Some(value);
            progress.complete(self, location, || ());
        }
        self.with(|execution| {
            let is_alone = execution.threads.is_alone();
            let entry = execution.static_entry(identity);
            let entry = entry.expect("it was added above");
            if initialized.is_some() {
                entry.value = initialized;
            }
            if let Some(steps) = &mut entry.steps {
                if !is_known {
                    steps.initializer = None;
                    steps.known_to.push(thread);
                    steps.is_known_to_all |= is_alone;
                }
            }
            let value = entry.value.as_deref();
            std::ptr::from_ref(value.expect("it is initialized"))
        })
    }

    fn progress_of_static(self, declared: StaticDeclaration) -> OnceFlag {
        let known = self.with(|execution| {
            let steps = execution.static_entry(declared.identity)?.steps.as_ref()?;
            Some(steps.progress)
        });
        known.unwrap_or_else(|| {
            let creator = self.with(|execution| execution.begin_static(declared));
            let progress = OnceFlag::of_static(declared.location);
            progress.object().set_name(declared.name);
            self.with(|execution| {
                execution.replace_creator(creator);
                execution.statics.values.push(StaticValue {
                    identity: declared.identity,
                    value: None,
                    clock: Vec::new(),
                    steps: Some(Steps {
                        progress,
                        initializer: None,
                        known_to: Vec::new(),
                        is_known_to_all: false,
                    }),
                });
            });
            progress
        })
    }

    /// An unrecorded initializer is about to do something that other threads can observe.
    #[inline]
    pub(crate) fn note_shared_use(self) {
        if self.phase() == Phase::StaticInit {
            self.request_visible_statics();
        }
    }

    /// An unrecorded initializer is about to learn which thread runs it.
    #[inline]
    pub fn note_thread_identity_use(self) {
        if self.phase() == Phase::StaticInit && !self.is_alone() {
            self.request_visible_statics();
        }
    }

    /// An unrecorded initializer is about to perform an operation: checks that other threads cannot
    /// observe it.
    #[cold]
    pub(crate) fn check_unrecorded(self, intent: Intent, outcomes: Outcomes) {
        let is_own = self.with(|execution| match (intent, outcomes) {
            (Intent::Access { object, .. }, Outcomes::One) => {
                // Without other threads there is no observer.
                execution.threads.is_alone() || execution.statics.initializer.has_object(object)
            }
            _ => false,
        });
        if !is_own {
            self.request_visible_statics();
        }
    }

    #[cold]
    pub(crate) fn request_visible_statics(self) {
        if self.phase() != Phase::Teardown {
            self.fail(Restart::VisibleStatics);
        }
    }

    /// Drops the statics of the execution, the latest first. Returns the first panic of a
    /// destructor.
    pub(crate) fn drop_statics(self) -> Result<(), Box<dyn Any + Send>> {
        let mut result = Ok(());
        while let Some(entry) = self.with(|execution| execution.statics.values.pop()) {
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(entry)));
            result = result.and(dropped);
        }
        result
    }
}
