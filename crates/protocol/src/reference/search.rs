//! Breadth-first search of all states.

use std::rc::Rc;
use std::time::Instant;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::encode::{decode, encode};
use super::interruption::Interruption;
use super::machine::Machine;
use super::options::{Options, Symmetry};
use super::outcome::ReferenceOutcome;
use super::symmetry::{Permutation, canonical};
use crate::model::points::PointKind;
use crate::model::{Model, PropertyKind};
use crate::outcome::{Bound, DeadlockRule, FaultContext, Instance, Value, Verdict};

/// The most permutations of scalarsets.
const MOST_PERMUTATIONS: u64 = 100_000;

/// The stack size: evaluation is recursive.
const STACK_BYTES: usize = 256 << 20;

/// Searches all states of a model.
///
/// ```
/// use fencepost_protocol::reference::{Options, search};
/// use fencepost_protocol::outcome::Verdict;
/// use fencepost_protocol::{Limits, Model};
///
/// let text = b"var x: 0..3;
///              startstate x := 0; end;
///              rule \"step\" x < 3 ==> x := x + 1; end;
///              rule \"back\" x := 0; end;";
/// let model = Model::read(text, &[], &Limits::default()).unwrap();
/// let report = search(&model, &Options::default());
/// assert_eq!(report.verdict, Verdict::NoError);
/// assert_eq!((report.states, report.rules_fired, report.depth), (4, 7, 3));
/// ```
pub fn search(model: &Model, options: &Options) -> ReferenceOutcome {
    search_on_large_stack(model, options, &mut |_| {})
}

/// Searches all states of a model, and calls `visit` with each state in the order in which they
/// were found: with symmetry reduction, one per equivalence class.
///
/// ```
/// use fencepost_protocol::outcome::Value;
/// use fencepost_protocol::reference::{Options, search_and_visit};
/// use fencepost_protocol::{Limits, Model};
///
/// let text = b"var x: 0..9;
///              startstate x := 0; end;
///              rule \"step\" x < 8 ==> x := x + 4; end;
///              rule \"back\" x := 0; end;";
/// let model = Model::read(text, &[], &Limits::default()).unwrap();
/// let mut states = Vec::new();
/// search_and_visit(&model, &Options::default(), &mut |state| states.push(state.to_vec()));
/// assert_eq!(states, [0, 4, 8].map(|x| vec![Value::Simple(x)]));
/// ```
pub fn search_and_visit(
    model: &Model,
    options: &Options,
    show: &mut (dyn FnMut(&[Value]) + Send),
) -> ReferenceOutcome {
    search_on_large_stack(model, options, &mut |found: &[StoredState]| {
        for each in found {
            show(&decode(model, &each.bytes));
        }
    })
}

/// A callback with all states that were found.
type OnState<'a> = &'a mut (dyn FnMut(&[StoredState]) + Send);

fn search_on_large_stack(model: &Model, options: &Options, after: OnState) -> ReferenceOutcome {
    let report = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, || search_here(model, options, after));
        match thread.ok()?.join() {
            Ok(report) => Some(report),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    // If the system has no room for another stack, this one is large enough for all but the
    // deepest models.
    report.unwrap_or_else(|| search_here(model, options, after))
}

fn search_here(model: &Model, options: &Options, after: OnState) -> ReferenceOutcome {
    let permutations = match options.symmetry {
        Symmetry::Off => Some(vec![Permutation::default()]),
        Symmetry::Exhaustive => Permutation::all(&model.types, MOST_PERMUTATIONS),
    };
    let deadline = options.max_time.map(|time| Instant::now() + time);
    let machine = Machine::new(model, options.max_loop_iterations, deadline);
    let tried = permutations.clone().unwrap_or_default();
    let mut search = Search::new(model, options, machine, tried);
    let ending = match permutations {
        Some(_) => match search.run() {
            Err(ending) => ending,
            Ok(()) => Box::new(EarlyEnd {
                verdict: search.missed_cover().unwrap_or(Verdict::NoError),
                at: None,
                failed: None,
            }),
        },
        None => EarlyEnd::bound(Bound::Permutations),
    };
    after(&search.found);
    search.report(*ending)
}

/// A state that was found, and how.
pub(super) struct StoredState {
    pub bytes: Rc<[u8]>,
    /// Its predecessor; nothing for start states.
    pub before: Option<usize>,
    /// The start state or rule that led to it.
    pub by: Instance,
    depth: u64,
}

/// Why the search ended early.
pub(super) struct EarlyEnd {
    pub verdict: Verdict,
    /// The last state of the trace.
    at: Option<usize>,
    pub failed: Option<Instance>,
}

/// The error is boxed, since it is rare.
pub(super) type StepResult<T> = Result<T, Box<EarlyEnd>>;

impl EarlyEnd {
    fn bound(bound: Bound) -> Box<EarlyEnd> {
        Box::new(EarlyEnd {
            verdict: Verdict::Incomplete(bound),
            at: None,
            failed: None,
        })
    }

    pub fn deadlock() -> Box<EarlyEnd> {
        Box::new(EarlyEnd {
            verdict: Verdict::Deadlock,
            at: None,
            failed: None,
        })
    }

    /// Adds the rule that leads to a state that was not stored.
    pub fn after(mut self: Box<Self>, rule: &Instance) -> Box<EarlyEnd> {
        if matches!(self.verdict, Verdict::Fault { .. }) {
            self.failed = Some(rule.clone());
        }
        self
    }

    pub fn of(stop: Interruption, place: FaultContext, at: Option<usize>) -> Box<EarlyEnd> {
        let failed = match &place {
            FaultContext::Rule(instance) => Some(instance.clone()),
            _ => None,
        };
        match stop {
            Interruption::Fault(fault) => Box::new(EarlyEnd {
                verdict: Verdict::Fault { fault, at: place },
                at,
                failed,
            }),
            // A false assumption ends a rule; models with assumptions in guards or properties are
            // refused.
            Interruption::Assumption | Interruption::Exhausted => EarlyEnd::bound(Bound::Time),
        }
    }
}

pub(super) struct Search<'m> {
    pub model: &'m Model,
    pub options: &'m Options,
    pub machine: Machine<'m>,
    pub permutations: Vec<Permutation>,
    seen: HashMap<Rc<[u8]>, usize, FxBuildHasher>,
    pub found: Vec<StoredState>,
    rules_fired: u64,
}

impl<'m> Search<'m> {
    pub fn new(
        model: &'m Model,
        options: &'m Options,
        machine: Machine<'m>,
        permutations: Vec<Permutation>,
    ) -> Self {
        Search {
            model,
            options,
            machine,
            permutations,
            seen: HashMap::default(),
            found: Vec::new(),
            rules_fired: 0,
        }
    }

    fn run(&mut self) -> StepResult<()> {
        for instance in self.startstates()? {
            let Some(state) = self.start(&instance)? else {
                continue;
            };
            let startstate = &self.model.startstates[instance.index];
            self.machine.hit(startstate.point);
            self.add(state, None, instance)?;
        }
        let mut next = 0;
        while next < self.found.len() {
            self.expand(next)?;
            next += 1;
        }
        Ok(())
    }

    pub fn startstates(&mut self) -> StepResult<Vec<Instance>> {
        let mut instances = Vec::new();
        for (index, startstate) in self.model.startstates.iter().enumerate() {
            self.machine.reset();
            self.machine.state = Value::blank_state(self.model);
            // Aliases are evaluated with the body; here only parameters matter.
            let bindings: Vec<_> = startstate.bindings.clone();
            let quantified: Vec<_> = bindings
                .into_iter()
                .filter(|b| !matches!(b, crate::model::Binding::Alias(_)))
                .collect();
            let all =
                self.machine
                    .each_instance(&startstate.frame, &quantified, &mut |_, parameters| {
                        let parameters = parameters.to_vec();
                        instances.push(Instance { index, parameters });
                        Ok(())
                    });
            all.map_err(|stop| {
                let parameters = Vec::new();
                EarlyEnd::of(
                    stop,
                    FaultContext::Startstate(Instance { index, parameters }),
                    None,
                )
            })?;
        }
        Ok(instances)
    }

    /// The start state of an instance, unless an assumption is false in it.
    pub fn start(&mut self, instance: &Instance) -> StepResult<Option<Vec<Value>>> {
        let startstate = &self.model.startstates[instance.index];
        self.machine.reset();
        self.machine.state = Value::blank_state(self.model);
        let (frame, bindings) = (&startstate.frame, &startstate.bindings);
        let run = self
            .machine
            .enter_instance(frame, bindings, &instance.parameters)
            .and_then(|()| self.machine.execute(&startstate.body));
        match run {
            Ok(_) => Ok(Some(self.machine.state.clone())),
            Err(Interruption::Assumption) => Ok(None),
            Err(stop) => Err(EarlyEnd::of(
                stop,
                FaultContext::Startstate(instance.clone()),
                None,
            )),
        }
    }

    /// The state after a rule, unless an assumption is false in it.
    pub fn fire(
        &mut self,
        state: &[Value],
        instance: &Instance,
    ) -> Result<Option<Vec<Value>>, Interruption> {
        let rule = &self.model.rules[instance.index];
        self.machine.reset();
        self.machine.state = state.to_vec();
        let machine = &mut self.machine;
        let run = machine
            .enter_instance(&rule.frame, &rule.bindings, &instance.parameters)
            .and_then(|()| machine.execute(&rule.body));
        match run {
            Ok(_) => Ok(Some(std::mem::take(&mut self.machine.state))),
            Err(Interruption::Assumption) => Ok(None),
            Err(stop) => Err(stop),
        }
    }

    /// The enabled rules, or the rule whose guard failed.
    pub fn enabled(&mut self, state: &[Value]) -> Result<Vec<Instance>, (Interruption, usize)> {
        let mut enabled = self.enabled_among(state, 0..self.model.rules.len())?;
        let priority = |instance: &Instance| self.model.rules[instance.index].priority;
        let least = enabled.iter().map(priority).min();
        enabled.retain(|instance| Some(priority(instance)) == least);
        Ok(enabled)
    }

    /// The instances of some rules whose guards are true.
    pub fn enabled_among(
        &mut self,
        state: &[Value],
        rules: std::ops::Range<usize>,
    ) -> Result<Vec<Instance>, (Interruption, usize)> {
        let mut enabled = Vec::new();
        self.machine.state = state.to_vec();
        for index in rules {
            let rule = &self.model.rules[index];
            self.machine.reset();
            let run = self.machine.each_instance(
                &rule.frame,
                &rule.bindings,
                &mut |machine, parameters| {
                    let is_enabled = match &rule.guard {
                        Some(guard) => machine.is_true(guard)?,
                        None => true,
                    };
                    if machine.is_changed {
                        // A function in the guard has side effects.
                        machine.is_changed = false;
                        machine.state = state.to_vec();
                    }
                    if is_enabled {
                        let parameters = parameters.to_vec();
                        enabled.push(Instance { index, parameters });
                    }
                    Ok(())
                },
            );
            run.map_err(|stop| (stop, index))?;
            if self.machine.is_changed {
                // An alias around the rule may have side effects too.
                self.machine.state = state.to_vec();
            }
        }
        Ok(enabled)
    }

    /// Explores the successors of a state.
    fn expand(&mut self, at: usize) -> StepResult<()> {
        let bytes = Rc::clone(&self.found[at].bytes);
        let state = decode(self.model, &bytes);
        let enabled = self
            .enabled(&state)
            .map_err(|(stop, rule)| EarlyEnd::of(stop, FaultContext::Guard(rule), Some(at)))?;
        let mut is_left = false;
        let mut is_stuck = true;
        for instance in enabled {
            let next = self.fire(&state, &instance).map_err(|stop| {
                EarlyEnd::of(stop, FaultContext::Rule(instance.clone()), Some(at))
            })?;
            let Some(next) = next else {
                continue;
            };
            is_stuck = false;
            self.rules_fired += 1;
            let point = self.model.rules[instance.index].point;
            self.machine.hit(point);
            let unpermuted = encode(self.model, &next, &Permutation::default());
            if *unpermuted != *bytes {
                is_left = true;
                self.add(next, Some(at), instance)?;
            }
        }
        let is_deadlock = match self.options.deadlock {
            DeadlockRule::Stuttering => !is_left,
            DeadlockRule::Stuck => is_stuck,
            DeadlockRule::Off => false,
        };
        match is_deadlock {
            true => Err(Box::new(EarlyEnd {
                verdict: Verdict::Deadlock,
                at: Some(at),
                failed: None,
            })),
            false => Ok(()),
        }
    }

    /// Stores a state if it is new, and checks it.
    fn add(&mut self, state: Vec<Value>, before: Option<usize>, by: Instance) -> StepResult<()> {
        let bytes: Rc<[u8]> = canonical(self.model, &state, &self.permutations).into();
        if self.seen.contains_key(&bytes) {
            return Ok(());
        }
        let at = self.found.len();
        self.machine.state.clone_from(&state);
        let is_assumed = self.assumed(at).map_err(|ending| match before {
            Some(_) => Box::new(EarlyEnd {
                at: before,
                ..*ending.after(&by)
            }),
            None => ending,
        })?;
        if !is_assumed {
            return Ok(());
        }
        self.machine.state = state;
        if at as u64 >= self.options.max_states {
            return Err(EarlyEnd::bound(Bound::States));
        }
        let depth = before.map_or(0, |before| self.found[before].depth + 1);
        self.seen.insert(Rc::clone(&bytes), at);
        self.found.push(StoredState {
            bytes,
            before,
            by,
            depth,
        });
        self.check(at)
    }

    /// Whether all assumptions hold in the machine's state.
    pub fn assumed(&mut self, at: usize) -> StepResult<bool> {
        let state = self.machine.state.clone();
        for (index, property) in self.model.properties.iter().enumerate() {
            if property.kind != PropertyKind::Assumption {
                continue;
            }
            let first_false = self.first_false(index, at)?;
            if self.machine.is_changed {
                // A function in the assumption has side effects.
                self.machine.state.clone_from(&state);
            }
            if first_false.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks invariants and covers in the machine's state.
    pub fn check(&mut self, at: usize) -> StepResult<()> {
        let state = self.machine.state.clone();
        for (index, property) in self.model.properties.iter().enumerate() {
            if property.kind == PropertyKind::Assumption {
                continue;
            }
            let first_false = self.first_false(index, at)?;
            if self.machine.is_changed {
                // A function in the property has side effects.
                self.machine.state.clone_from(&state);
            }
            if let (PropertyKind::Invariant, Some(parameters)) = (property.kind, first_false) {
                return Err(Box::new(EarlyEnd {
                    verdict: Verdict::InvariantFailed(Instance { index, parameters }),
                    at: Some(at),
                    failed: None,
                }));
            }
        }
        Ok(())
    }

    /// The first instance for which a property is false.
    pub fn first_false(&mut self, index: usize, at: usize) -> StepResult<Option<Vec<i64>>> {
        let property = &self.model.properties[index];
        let mut first_false = None;
        self.machine.reset();
        let run = self.machine.each_instance(
            &property.frame,
            &property.bindings,
            &mut |machine, parameters| {
                match machine.is_true(&property.condition)? {
                    true => machine.hit(property.point),
                    false if first_false.is_none() => first_false = Some(parameters.to_vec()),
                    false => {}
                }
                Ok(())
            },
        );
        let at = (at < self.found.len()).then_some(at);
        run.map_err(|stop| EarlyEnd::of(stop, FaultContext::Property(index), at))?;
        Ok(first_false)
    }

    /// The first cover that was never true.
    fn missed_cover(&self) -> Option<Verdict> {
        let covers = self.model.points.iter().zip(&self.machine.hits);
        let missed = covers
            .enumerate()
            .find(|(_, (point, hits))| point.kind == PointKind::Cover && **hits == 0);
        missed.map(|(id, _)| Verdict::CoverMissed(crate::model::points::PointId(id as u32)))
    }

    fn report(mut self, ending: EarlyEnd) -> ReferenceOutcome {
        let hits = self.machine.hits.clone();
        // The trace of an error is built even if there is no time left.
        self.machine.forget_deadline();
        let trace = ending.at.and_then(|at| self.trace(at, ending.failed));
        ReferenceOutcome {
            verdict: ending.verdict,
            states: self.found.len() as u64,
            rules_fired: self.rules_fired,
            depth: self.found.last().map_or(0, |found| found.depth),
            hits,
            trace,
        }
    }
}
