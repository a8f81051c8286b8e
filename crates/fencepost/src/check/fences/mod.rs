//! Which fences make a program store-buffer safe, with as few as can be.
//!
//! A fence can be put before any operation of the program, at its source location. Fences only add order: if a set of
//! them does not rule a violation out, no part of it does. So from an execution that is a violation in spite of some
//! fences one learns a *clause*: with everything added that still does not help, what is left over are the
//! fences of which every set that helps has at least one. The cheapest set that has something of each clause (`hitting`) is
//! no larger than any that makes the program safe. It is tried: the program is checked with it, inserted
//! at run time. A violation gives another clause, and none is the proof that the set is enough.
//!
//! Whether an execution is a violation is asked of the monitor, with the fences inserted into what it was
//! told; the program is run only to try a set.

mod hitting;
mod shown;

use std::cmp::Reverse;

use fencepost_explore::{Failure, Limit, MonitoredModel, OptimisticLoad, shows_violation};
use fencepost_memory::{Access, Operation};
use fencepost_report::check::{FenceAdvice, FurtherChecks, SetBy};
use rustc_hash::{FxHashMap, FxHashSet};

use super::checker::{Checker, Strategy};
use super::naming::source_position;
use super::outcome::Outcome;
use super::rounds::Searched;
use super::session::Session;
use fencepost_runtime::names::SourceLocation;
use fencepost_runtime::{Insertion, Insertions, OwnedLocation, Target};
use hitting::{Choice, Item, cheapest};

#[cfg(test)]
mod tests;

pub use shown::{FenceAlternative, FenceInference, FenceSet, InferredFence};

/// How strong a fence is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum FenceStrength {
    /// It keeps stores in order, and nothing else: `fence(Ordering::Release)`.
    Release,
    /// It keeps everything in order: `fence(Ordering::SeqCst)`.
    SeqCst,
}

impl From<FenceStrength> for Insertion {
    fn from(strength: FenceStrength) -> Self {
        match strength {
            FenceStrength::Release => Insertion::StoreBarrier,
            FenceStrength::SeqCst => Insertion::Fence,
        }
    }
}

/// `src/lock.rs:31:9`, or `src/lock.rs:31` for all operations of the line.
pub(super) fn place(text: &str) -> Option<OwnedLocation> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|&number| number > 0);
    let (rest, last) = text.trim().rsplit_once(':')?;
    let last = number(last)?;
    let (file, line, column) = match rest.rsplit_once(':') {
        Some((file, line)) if number(line).is_some() => (file, number(line)?, last),
        _ => (rest, last, 0),
    };
    let file = file.to_owned();
    let place = OwnedLocation { file, line, column };
    (!place.file.is_empty()).then_some(place)
}

/// Places with commas between them. With `=release` a fence is one between stores, else it is a full one.
pub(super) fn chosen(text: &str) -> Option<Vec<(OwnedLocation, Insertion)>> {
    let one = |text: &str| {
        let (place_text, strength) = match text.trim().split_once('=') {
            None => (text, FenceStrength::SeqCst),
            Some((place, strength)) if strength.eq_ignore_ascii_case("release") => {
                (place, FenceStrength::Release)
            }
            Some(_) => return None,
        };
        Some((place(place_text)?, strength.into()))
    };
    text.split(',').map(one).collect()
}

/// Looks for a smallest set of fences that makes the program safe.
pub(super) fn infer(session: &Session) -> FenceInference {
    let mut search = Search::new(session);
    let searched = search.check(Insertions::default());
    let is_learnt = search.learn(&searched);
    let first = searched.outcome();
    match first {
        Outcome::NotStoreBufferSafe(_) => {}
        Outcome::ProgramError(_) => return FenceInference::Unknown(first),
        Outcome::Verified(_) | Outcome::Incomplete(_) => return FenceInference::NotNeeded(first),
    }
    if !is_learnt {
        return FenceInference::Unknown(first);
    }
    loop {
        let choice = search.choice();
        let searched = search.check(search.insertions(&choice));
        if searched.report.violations > 0 && search.learn(&searched) {
            continue;
        }
        let is_complete = searched.report.is_complete();
        let outcome = searched.outcome();
        if outcome.has_failed() {
            return FenceInference::Unknown(outcome);
        }
        let places = search.places_of(&choice, is_complete);
        return FenceInference::Needed(FenceSet::new(places, outcome, search.checks));
    }
}

/// An access of an execution, where it is in the source, and what it comes to if it only looks.
type Operated = (Access, SourceLocation, Option<OptimisticLoad>);

struct Search {
    session: Session,
    target: Target,
    monitored_model: MonitoredModel,
    /// Where fences can be, in the order in which they were met.
    places: Vec<Candidate>,
    numbers: FxHashMap<SourceLocation, usize>,
    /// Executions that are violations without fences.
    violations: Vec<Vec<Operated>>,
    clauses: Vec<Vec<Item>>,
    /// How often the program was checked.
    checks: u64,
    /// Whether a loop that the search takes to wait was seen to do more.
    is_sample: bool,
}

/// Before the operations at a place.
struct Candidate {
    location: SourceLocation,
    /// What they are. If there are several kinds, it is a macro or a function that does more than one operation.
    loads: bool,
    stores: bool,
    updates: bool,
}

impl Candidate {
    fn has_several(&self) -> bool {
        u32::from(self.loads) + u32::from(self.stores) + u32::from(self.updates) > 1
    }
}

impl Search {
    fn new(session: &Session) -> Self {
        let mut checker = session.checker.clone();
        checker.settings.continue_after_failure = true;
        checker.checkpoint = None;
        checker.replayed = None;
        checker.monitor = true;
        checker.infer_fences = false;
        let session = session.with_checker(checker);
        Search {
            monitored_model: session.settings.monitored_model,
            target: session.setup.target,
            session,
            places: Vec::new(),
            numbers: FxHashMap::default(),
            violations: Vec::new(),
            clauses: Vec::new(),
            checks: 0,
            is_sample: false,
        }
    }

    fn check(&mut self, insertions: Insertions) -> Searched {
        self.checks += 1;
        let mut searched = self.session.with_insertions(insertions).search();
        // What comes after such a loop is among what was run at random, or was not run.
        self.is_sample |= searched.is_wrong_in_rounds();
        if self.is_sample {
            let report = &mut searched.report;
            report.waits.clear();
            if report.is_complete() {
                report.limits.push(Limit::Sample);
            }
        }
        searched
    }

    /// Remembers the executions that are violations, and where fences could be in them. False if something
    /// else is wrong: what was found did not happen again, for one.
    fn learn(&mut self, searched: &Searched) -> bool {
        for found in &searched.report.findings {
            if !matches!(found.failure, Failure::StoreBuffer(_)) {
                return false;
            }
            // What was inserted has no location.
            let of_program = found.interleaving.iter().enumerate();
            let of_program = of_program.filter_map(|(position, access)| {
                let location = searched.session.registry.location(access.location?);
                let optimistic_load = found
                    .optimistic_loads
                    .iter()
                    .find(|(at, _)| *at == position);
                Some((
                    *access,
                    location,
                    optimistic_load.map(|(_, optimistic_load)| *optimistic_load),
                ))
            });
            let execution: Vec<_> = of_program.collect();
            for (access, location, _) in &execution {
                let number = *self.numbers.entry(*location).or_insert_with(|| {
                    self.places.push(Candidate {
                        location: *location,
                        loads: false,
                        stores: false,
                        updates: false,
                    });
                    self.places.len() - 1
                });
                let place = &mut self.places[number];
                match access.operation {
                    Operation::Load(_) => place.loads = true,
                    Operation::Store(_) | Operation::LockedStore(_) => place.stores = true,
                    Operation::Interlocked(_) | Operation::LockedLoad(_) => place.updates = true,
                    Operation::Fence | Operation::StoreBarrier => {}
                }
            }
            self.violations.push(execution);
        }
        true
    }

    fn insertions(&self, choice: &Choice) -> Insertions {
        let places = self.places.iter().zip(choice);
        places
            .filter_map(|(place, strength)| Some((place.location, (*strength)?.into())))
            .collect::<Insertions>()
            .with_requested(&self.session.checker.tried)
    }

    /// Whether an execution is a violation with these fences.
    fn is_violation(&self, execution: &[Operated], with: &Insertions) -> bool {
        let mut accesses = Vec::with_capacity(execution.len() * 2);
        let mut optimistic_loads = Vec::new();
        for (access, location, optimistic_load) in execution {
            let tell = &mut |access| accesses.push(access);
            with.apply(self.target, *access, *location, tell);
            // The access itself is told last.
            optimistic_loads.extend(
                optimistic_load.map(|optimistic_load| (accesses.len() - 1, optimistic_load)),
            );
        }
        shows_violation(self.monitored_model, &accesses, optimistic_loads)
    }

    /// A cheapest set of fences that rules out all violations that are known.
    fn choice(&mut self) -> Choice {
        loop {
            let mut choice = cheapest(&self.clauses, self.places.len());
            choice.resize(self.places.len(), None);
            let with = self.insertions(&choice);
            let is_left = |execution: &&Vec<_>| self.is_violation(execution, &with);
            let Some(execution) = self.violations.iter().find(is_left) else {
                return choice;
            };
            let clause = self.clause(execution, choice);
            assert!(
                !clause.is_empty(),
                "internal error: fences everywhere leave a violation; this is a bug in Fencepost"
            );
            self.clauses.push(clause);
        }
    }

    /// What every set that rules this violation out has something of. The choice does not.
    fn clause(&self, execution: &[Operated], mut choice: Choice) -> Vec<Item> {
        let places: FxHashSet<usize> = execution
            .iter()
            .map(|(_, location, _)| self.numbers[location])
            .collect();
        let mut places: Vec<usize> = places.into_iter().collect();
        places.sort_unstable();
        let mut clause = Vec::new();
        for place in places {
            for strength in self.strengths() {
                if choice[place] >= Some(strength) {
                    continue;
                }
                let before = choice[place].replace(strength);
                if !self.is_violation(execution, &self.insertions(&choice)) {
                    choice[place] = before;
                    clause.push(Item { place, strength });
                }
            }
        }
        // Of sets that cost the same, one with late places: a fence right before what publishes something also keeps
        // in order what came before and did not matter in these executions.
        clause.sort_by_key(|item: &Item| (Reverse(item.place), item.strength));
        clause
    }

    fn strengths(&self) -> impl Iterator<Item = FenceStrength> + use<> {
        let has_stores = self.target == Target::Pso;
        let stores = has_stores.then_some(FenceStrength::Release);
        stores.into_iter().chain([FenceStrength::SeqCst])
    }

    /// The fences of a choice, with what would do instead of each.
    fn places_of(&mut self, choice: &Choice, is_complete: bool) -> Vec<InferredFence> {
        let mut places: Vec<InferredFence> = Vec::new();
        for (number, strength) in choice.iter().enumerate() {
            let Some(strength) = *strength else {
                continue;
            };
            let place = &self.places[number];
            let (location, has_several) = (place.location, place.has_several());
            // With a part of the executions one does not know.
            let instead = match is_complete {
                true => self.instead(choice, number, strength),
                false => None,
            };
            places.push(InferredFence::new(location, strength, instead, has_several));
        }
        places.sort_by_key(InferredFence::key);
        places
    }

    /// What would do instead of one of the fences.
    fn instead(
        &mut self,
        choice: &Choice,
        number: usize,
        strength: FenceStrength,
    ) -> Option<FenceAlternative> {
        let place = &self.places[number];
        if strength == FenceStrength::Release && place.stores && !place.has_several() {
            return Some(FenceAlternative::ReleaseWrite);
        }
        let mut others = choice.clone();
        others[number] = None;
        let mut stores: Vec<SourceLocation> = Vec::new();
        for (access, location, _) in self.violations.iter().flatten() {
            if matches!(access.operation, Operation::Store(_)) && !stores.contains(location) {
                stores.push(*location);
            }
        }
        for store in stores {
            let mut with = self.insertions(&others);
            with.insert(store, Insertion::SeqCstStore);
            if self.violations.iter().any(|e| self.is_violation(e, &with)) {
                continue;
            }
            let report = self.check(with).report;
            if report.violations == 0 && report.faults == 0 && report.is_complete() {
                return Some(FenceAlternative::SeqCstStore(source_position(store)));
            }
        }
        None
    }
}

/// The settings that tell the user more about a violation.
pub(super) fn further_checks(checker: &Checker) -> FurtherChecks {
    let is_sampled = !matches!(checker.strategy, Strategy::Exhaustive | Strategy::Bounded);
    if is_sampled || checker.replayed.is_some() {
        return FurtherChecks::default();
    }
    if checker.infer_fences {
        return FurtherChecks {
            all_fences: FenceAdvice::InReport,
            confirm: None,
        };
    }
    let by = match checker.reads_environment {
        true => SetBy::Environment,
        false => SetBy::Checker,
    };
    FurtherChecks {
        all_fences: FenceAdvice::Infer(by),
        confirm: (!checker.confirm).then_some(by),
    }
}

/// Whether a checker looks for fences at all: with a sample of executions it would not know when to stop.
#[track_caller]
pub(super) fn refuse_samples(checker: &Checker) {
    assert!(
        checker.setup.store_buffers.is_none(),
        "fences are inferred from store-buffer violations, and with `store_buffers` there are none: unset it"
    );
    assert!(
        matches!(checker.strategy, Strategy::Exhaustive | Strategy::Bounded),
        "fences are inferred from all executions, or those within a preemption bound: choose the strategy \
         Exhaustive or Bounded"
    );
}
