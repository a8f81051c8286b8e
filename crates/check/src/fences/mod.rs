//! Fence inference: a smallest set of fences that makes a program store-buffer safe.
//!
//! A fence can be inserted before any operation of the program, at its source location. Fences only add order: if a set
//! of fences does not rule out a violation, no subset does. So an execution that is a violation in spite of some fences
//! yields a *clause*: extend the set with every fence that does not rule out the violation; each set that rules it out
//! has at least one of the remaining fences. The cheapest set that hits every clause (`hitting`) is no larger than any
//! set that makes the program safe. The inference checks the program with this set, inserted at run time: a violation
//! yields another clause, and a check without violations proves that the set is enough.
//!
//! The monitor decides whether an execution is a violation, with the fences inserted into the recorded accesses; the
//! program runs only to try a set.

mod hitting;
mod shown;

use std::cmp::Reverse;

use fencepost_explore::{Failure, Limit, MonitoredModel, OptimisticLoad, shows_violation};
use fencepost_memory::{Access, Operation};
use fencepost_report::check::{FenceAdvice, FurtherChecks, Refusal, SetBy};
use rustc_hash::{FxHashMap, FxHashSet};

use super::checker::{Checker, Strategy};
use super::naming::source_position;
use super::outcome::Outcome;
use super::rounds::Searched;
use super::session::Session;
use fencepost_runtime::SourceLocation;
use fencepost_runtime::{Insertion, Insertions, OwnedLocation, Target};
use hitting::{Choice, Item, cheapest};

#[cfg(test)]
mod tests;

pub use shown::{FenceAlternative, FenceInference, FenceSet, InferredFence};

/// The strength of a fence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum FenceStrength {
    /// Orders stores only: `fence(Ordering::Release)`.
    Release,
    /// Orders all accesses: `fence(Ordering::SeqCst)`.
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

/// Parses `src/lock.rs:31:9`, or `src/lock.rs:31` for all operations of the line.
pub(super) fn parse_position(text: &str) -> Option<OwnedLocation> {
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

/// Parses positions with commas between them. A position with `=release` has a fence between stores, others a full one.
pub(super) fn parse_insertions(text: &str) -> Option<Vec<(OwnedLocation, Insertion)>> {
    let one = |text: &str| {
        let (place_text, strength) = match text.trim().split_once('=') {
            None => (text, FenceStrength::SeqCst),
            Some((place, strength)) if strength.eq_ignore_ascii_case("release") => {
                (place, FenceStrength::Release)
            }
            Some(_) => return None,
        };
        Some((parse_position(place_text)?, strength.into()))
    };
    text.split(',').map(one).collect()
}

/// Infers a smallest set of fences that makes the program store-buffer safe.
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

/// An access of an execution, its source location, and the condition under which it fails if it is an optimistic load.
type Operated = (Access, SourceLocation, Option<OptimisticLoad>);

struct Search {
    session: Session,
    target: Target,
    monitored_model: MonitoredModel,
    /// The locations at which fences can be inserted, in the order in which executions reached them.
    places: Vec<Candidate>,
    numbers: FxHashMap<SourceLocation, usize>,
    /// The accesses of executions that are violations without fences.
    violations: Vec<Vec<Operated>>,
    clauses: Vec<Vec<Item>>,
    /// The number of checks so far.
    checks: u64,
    /// Whether a loop that is assumed to only wait was seen to do more.
    is_sample: bool,
}

/// A location before whose operations a fence can be inserted.
struct Candidate {
    location: SourceLocation,
    /// The kinds of operations there. A location with several kinds is a call of a macro or a function.
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
        self.is_sample |= searched.has_failed_in_rounds();
        if self.is_sample {
            let report = &mut searched.report;
            report.waits.clear();
            if report.is_complete() {
                report.limits.push(Limit::Sample);
            }
        }
        searched
    }

    /// Records the executions that are violations, and the locations in them. Returns false if there is another
    /// failure, such as a violation that could not be reproduced.
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
            .with_requested(&self.session.checker.inserted_fences)
    }

    /// Whether an execution is a violation with these fences.
    fn is_violation(&self, execution: &[Operated], with: &Insertions) -> bool {
        let mut accesses = Vec::with_capacity(execution.len() * 2);
        let mut optimistic_loads = Vec::new();
        for (access, location, optimistic_load) in execution {
            let emit = &mut |access| accesses.push(access);
            with.apply(self.target, *access, *location, emit);
            // The access itself comes after its fences.
            optimistic_loads.extend(
                optimistic_load.map(|optimistic_load| (accesses.len() - 1, optimistic_load)),
            );
        }
        shows_violation(self.monitored_model, &accesses, optimistic_loads)
    }

    /// A cheapest set of fences that rules out all recorded violations.
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

    /// The fences of which every set that rules out this violation has at least one. The choice has none of them.
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

    /// The fences of a choice, each with its alternative.
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

    /// A stronger ordering that replaces one of the fences.
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

/// Panics if the settings rule out fence inference: with a sample of executions, it would not know when to stop.
#[track_caller]
pub(super) fn refuse_samples(checker: &Checker) {
    if checker.setup.store_buffers.is_some() {
        panic!(
            "{}",
            Refusal::InferenceWithBuffers.in_language(checker.language)
        );
    }
    if !matches!(checker.strategy, Strategy::Exhaustive | Strategy::Bounded) {
        panic!(
            "{}",
            Refusal::InferenceFromSample.in_language(checker.language)
        );
    }
}
