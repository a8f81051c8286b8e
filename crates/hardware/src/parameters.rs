//! How a batch is run, and which way of running it is best.
//!
//! What makes an outcome likely differs from test to test and from machine to machine, so it is
//! searched while the test runs: a pool of parameters, each with its reward, of which mostly the best
//! is used, and sometimes a changed one.

use std::fmt;
use std::str::FromStr;

use fencepost_memory::Random;

use crate::geometry::{Geometry, MOST_SLOTS, SPACINGS};

/// How many locations have parameters of their own.
const OWN: usize = 8;

/// The longest time that can be given, in cycles of the counter.
const MOST_CYCLES: u32 = 1_000_000;

/// Where a location is in the caches when a batch begins. Not an enumeration: it lies in memory that
/// a test may have written to, and every byte is a value of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Caching(u8);

impl Caching {
    /// In that of the thread that owns it, which wrote it last.
    pub const OWNED: Caching = Caching(0);
    /// In those of all threads.
    pub const SHARED: Caching = Caching(1);
    /// In none.
    pub const FLUSHED: Caching = Caching(2);

    const ALL: [(Caching, char); 3] = [
        (Caching::OWNED, 'o'),
        (Caching::SHARED, 's'),
        (Caching::FLUSHED, 'f'),
    ];
}

/// How a batch is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Parameters {
    /// Cycles of the counter from the start of one slot to that of the next.
    pub period: u32,
    /// A thread starts up to so many cycles after the slot.
    pub skew: u32,
    /// A thread that is later than this, in cycles, skips the slot.
    pub late: u32,
    /// How many slots a batch has.
    pub slots: u32,
    /// Bytes between locations: 8, 64 or 128.
    pub spacing: u32,
    /// How far slots are apart: 1 or 2 times their bytes.
    pub stride: u32,
    /// By location, the thread that owns it.
    pub owners: [u8; OWN],
    /// By location, where it is.
    pub caching: [Caching; OWN],
}

impl Parameters {
    /// What was best for store buffering.
    pub fn initial() -> Self {
        Parameters {
            period: 300,
            skew: 20,
            late: 300,
            slots: 2000,
            spacing: 64,
            stride: 1,
            // Whoever stores first waits for the line: its owner is the other one.
            owners: [1, 0, 1, 0, 1, 0, 1, 0],
            caching: [Caching::OWNED; OWN],
        }
    }

    /// The thread that owns a location, of so many threads.
    pub(crate) fn owner(&self, group: usize, threads: usize) -> usize {
        let owner = if group < OWN {
            usize::from(self.owners[group])
        } else {
            group
        };
        owner % threads
    }

    /// Where a location is.
    pub(crate) fn caching(&self, group: usize) -> Caching {
        self.caching[group % OWN]
    }

    /// Changed in a place or two.
    fn mutated(mut self, random: &mut Random, threads: usize, groups: usize) -> Self {
        for _ in 0..=random.below(2) {
            let group = random.below(groups.clamp(1, OWN) as u64) as usize;
            match random.below(9) {
                0 | 1 => self.period = scaled(random, self.period, 120, 4000),
                2 | 3 => self.skew = scaled(random, self.skew.max(4), 0, 1000),
                4 => self.late = scaled(random, self.late, 40, 8000),
                5 => self.slots = scaled(random, self.slots, 200, MOST_SLOTS as u32),
                6 => self.owners[group] = random.below(threads as u64) as u8,
                7 => self.caching[group] = Caching::ALL[random.below(3) as usize].0,
                _ => {
                    self.spacing = SPACINGS[random.below(SPACINGS.len() as u64) as usize] as u32;
                    self.stride = 1 + random.below(2) as u32;
                }
            }
        }
        self
    }

    fn any(random: &mut Random, threads: usize) -> Self {
        let mut parameters = Parameters {
            period: 150 << random.below(4),
            skew: [0, 10, 40, 150][random.below(4) as usize],
            late: [100, 300, 1000][random.below(3) as usize],
            slots: 500 << random.below(4),
            spacing: SPACINGS[random.below(SPACINGS.len() as u64) as usize] as u32,
            stride: 1 + random.below(2) as u32,
            ..Parameters::initial()
        };
        for owner in &mut parameters.owners {
            *owner = random.below(threads as u64) as u8;
        }
        for caching in &mut parameters.caching {
            *caching = Caching::ALL[random.below(4).saturating_sub(1) as usize].0;
        }
        parameters
    }

    fn limited(mut self, geometry: &Geometry) -> Self {
        self.slots = self.slots.clamp(1, geometry.slots as u32);
        self
    }

    /// Whether all values are ones that the search chooses or that can be given.
    fn is_sound(&self) -> bool {
        (1..=MOST_CYCLES).contains(&self.period)
            && self.skew <= MOST_CYCLES
            && (1..=MOST_CYCLES).contains(&self.late)
            && (1..=MOST_SLOTS as u32).contains(&self.slots)
            && SPACINGS.contains(&u64::from(self.spacing))
            && (1..=2).contains(&self.stride)
            && self.caching.iter().all(|caching| {
                let mut known = Caching::ALL.iter();
                known.any(|(known, _)| known == caching)
            })
    }

    /// The number of the layout.
    pub(crate) fn layout(&self, geometry: &Geometry) -> usize {
        let found = SPACINGS
            .iter()
            .position(|spacing| *spacing == u64::from(self.spacing));
        found.unwrap_or(0) % geometry.layouts.len()
    }
}

/// Between half and twice as much.
fn scaled(random: &mut Random, value: u32, least: u32, most: u32) -> u32 {
    let factor = 50 + random.below(151);
    ((u64::from(value) * factor / 100) as u32).clamp(least, most)
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parameters {
            period,
            skew,
            late,
            slots,
            spacing,
            stride,
            ..
        } = self;
        write!(
            f,
            "period={period},skew={skew},late={late},slots={slots},spacing={spacing},stride={stride}"
        )?;
        write!(f, ",owners=")?;
        for owner in self.owners {
            write!(f, "{owner}")?;
        }
        write!(f, ",caching=")?;
        for caching in self.caching {
            let name = Caching::ALL.iter().find(|(known, _)| *known == caching);
            write!(f, "{}", name.map_or('o', |(_, name)| *name))?;
        }
        Ok(())
    }
}

/// Parameters that are given; the others are searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FixedParameters {
    period: Option<u32>,
    skew: Option<u32>,
    late: Option<u32>,
    slots: Option<u32>,
    spacing: Option<u32>,
    stride: Option<u32>,
    owners: Option<[u8; OWN]>,
    caching: Option<[Caching; OWN]>,
}

impl FixedParameters {
    fn apply(&self, mut to: Parameters) -> Parameters {
        to.period = self.period.unwrap_or(to.period);
        to.skew = self.skew.unwrap_or(to.skew);
        to.late = self.late.unwrap_or(to.late);
        to.slots = self.slots.unwrap_or(to.slots);
        to.spacing = self.spacing.unwrap_or(to.spacing);
        to.stride = self.stride.unwrap_or(to.stride);
        to.owners = self.owners.unwrap_or(to.owners);
        to.caching = self.caching.unwrap_or(to.caching);
        to
    }
}

/// Why parameters cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParametersError {
    /// There is no such parameter.
    #[error(
        "expected `period`, `skew`, `late`, `slots`, `spacing`, `stride`, `owners` or `caching`, found `{0}`"
    )]
    Unknown(String),
    /// The value is not one that the parameter can have.
    #[error("expected {expected} for `{name}`, found `{found}`")]
    Value {
        /// The parameter.
        name: String,
        /// What it can be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
}

impl FromStr for FixedParameters {
    type Err = ParametersError;

    /// Reads `period=300,skew=20`, in any order; what is left out is searched.
    fn from_str(text: &str) -> Result<Self, ParametersError> {
        let mut fixed = FixedParameters::default();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let wrong = |expected| ParametersError::Value {
                name: name.to_owned(),
                expected,
                found: value.to_owned(),
            };
            let number = |least: u32, most: u32, expected| {
                let number = value
                    .parse()
                    .ok()
                    .filter(|number| (least..=most).contains(number));
                number.ok_or_else(|| wrong(expected)).map(Some)
            };
            match name {
                "period" => fixed.period = number(1, MOST_CYCLES, "1 to 1000000 cycles")?,
                "skew" => fixed.skew = number(0, MOST_CYCLES, "0 to 1000000 cycles")?,
                "late" => fixed.late = number(1, MOST_CYCLES, "1 to 1000000 cycles")?,
                "slots" => fixed.slots = number(1, MOST_SLOTS as u32, "1 to 4096")?,
                "spacing" => {
                    let spacing = number(8, 128, "8, 64 or 128 bytes")?;
                    let is_known = |spacing: &u32| SPACINGS.contains(&u64::from(*spacing));
                    let known = spacing.filter(is_known);
                    fixed.spacing = Some(known.ok_or_else(|| wrong("8, 64 or 128 bytes"))?);
                }
                "stride" => fixed.stride = number(1, 2, "1 or 2")?,
                "owners" => {
                    let owner = |c: char| c.to_digit(10).map(|digit| digit as u8);
                    fixed.owners = Some(list(value, owner).ok_or_else(|| wrong("up to 8 digits"))?);
                }
                "caching" => {
                    let caching = |c: char| {
                        let known = Caching::ALL.iter().find(|(_, name)| *name == c);
                        known.map(|(caching, _)| *caching)
                    };
                    let expected = "up to 8 of `o`, `s` and `f`";
                    fixed.caching = Some(list(value, caching).ok_or_else(|| wrong(expected))?);
                }
                other => return Err(ParametersError::Unknown(other.to_owned())),
            }
        }
        Ok(fixed)
    }
}

/// By location; the last entry also applies to all further locations.
fn list<T: Copy>(text: &str, of: impl Fn(char) -> Option<T>) -> Option<[T; OWN]> {
    let values: Vec<T> = text.chars().map(of).collect::<Option<_>>()?;
    let last = *values.last()?;
    (values.len() <= OWN)
        .then(|| std::array::from_fn(|index| values.get(index).copied().unwrap_or(last)))
}

/// How many parameters are kept.
const POOL: usize = 12;
/// How often new parameters are tried before they are judged.
const TRIALS: u32 = 3;

/// Parameters, and how good they were.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Rated {
    parameters: Parameters,
    /// The mean reward by time, recent batches counting more.
    reward: f64,
    trials: u32,
}

/// The search for the best parameters. It is plain memory, so that it can be shared with a process
/// and outlive it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Tuner {
    pool: [Rated; POOL],
    /// The one that is being tried.
    current: usize,
    batches: u64,
    /// The batch in which the best was last found.
    improved: u64,
}

impl Default for Tuner {
    fn default() -> Self {
        let rated = Rated {
            parameters: Parameters::initial(),
            reward: 0.0,
            trials: 0,
        };
        Tuner {
            pool: [rated; POOL],
            current: 0,
            batches: 0,
            improved: 0,
        }
    }
}

impl Tuner {
    fn best_index(&self) -> usize {
        let tried = (0..POOL).filter(|index| self.pool[*index].trials > 0);
        tried
            .max_by(|a, b| self.pool[*a].reward.total_cmp(&self.pool[*b].reward))
            .unwrap_or(0)
    }

    /// The best parameters so far.
    pub fn best(&self) -> Parameters {
        self.pool[self.best_index()].parameters
    }

    /// Whether it is one that a search can have come to, and not what a test has written over it.
    pub(crate) fn is_sound(&self) -> bool {
        let is_sound = |rated: &Rated| rated.parameters.is_sound() && rated.reward.is_finite();
        self.current < POOL
            && self.improved <= self.batches
            && self.batches < u64::MAX / 2
            && self.pool.iter().all(is_sound)
    }

    /// The batch that was run last had this reward, by time.
    pub(crate) fn reward(&mut self, reward: f64) {
        let best = self.best_index();
        let rated = &mut self.pool[self.current];
        rated.trials = rated.trials.saturating_add(1);
        // The first batches count the same; from then on the last ones count more.
        let weight = (1.0 / f64::from(rated.trials)).max(0.1);
        rated.reward += (reward - rated.reward) * weight;
        self.batches += 1;
        if self.best_index() != best {
            self.improved = self.batches;
        }
    }

    /// The rewards are of another kind from now on.
    pub(crate) fn forget_rewards(&mut self) {
        for rated in &mut self.pool {
            rated.trials = 0;
            rated.reward = 0.0;
        }
        self.improved = self.batches;
    }

    /// Chooses the parameters of the next batch.
    pub(crate) fn choose(
        &mut self,
        random: &mut Random,
        geometry: &Geometry,
        threads: usize,
        fixed: &FixedParameters,
    ) -> Parameters {
        let is_on_trial = self.pool[self.current].trials < TRIALS;
        let untried = (0..POOL).find(|index| self.pool[*index].trials == 0);
        // Long after the last improvement, less is tried.
        let patience = if self.batches > self.improved + 400 {
            92
        } else {
            70
        };
        let chance = random.below(100);
        self.current = if is_on_trial && self.batches > 0 {
            self.current
        } else if let Some(untried) = untried {
            if self.batches > 0 && untried > 0 {
                self.pool[untried].parameters = match untried % 3 {
                    0 => Parameters::initial().mutated(random, threads, geometry.groups.len()),
                    _ => Parameters::any(random, threads),
                };
            }
            untried
        } else if chance < patience {
            self.best_index()
        } else if chance < patience + (100 - patience) * 5 / 6 {
            self.replace_worst(random, geometry, threads)
        } else {
            random.below(POOL as u64) as usize
        };
        // What is fixed is kept with the rest: the best parameters are those that were used.
        let chosen = &mut self.pool[self.current].parameters;
        *chosen = fixed.apply(*chosen).limited(geometry);
        *chosen
    }

    fn replace_worst(&mut self, random: &mut Random, geometry: &Geometry, threads: usize) -> usize {
        let worst = (0..POOL).min_by(|a, b| self.pool[*a].reward.total_cmp(&self.pool[*b].reward));
        let worst = worst.unwrap_or(0);
        let parent = match random.below(4) {
            0 => random.below(POOL as u64) as usize,
            _ => self.best_index(),
        };
        let parent = self.pool[parent].parameters;
        self.pool[worst] = Rated {
            parameters: parent.mutated(random, threads, geometry.groups.len()),
            reward: 0.0,
            trials: 0,
        };
        worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_they_are_printed() {
        let mut random = Random::new(7);
        for _ in 0..100 {
            let parameters = Parameters::any(&mut random, 4).mutated(&mut random, 4, 3);
            let fixed: FixedParameters = parameters.to_string().parse().expect("what was printed");
            assert_eq!(fixed.apply(Parameters::initial()), parameters);
        }
    }

    #[test]
    fn wrong_parameters_are_named() {
        let error = |text: &str| text.parse::<FixedParameters>().expect_err(text).to_string();
        assert_eq!(
            error("period=0"),
            "expected 1 to 1000000 cycles for `period`, found `0`"
        );
        assert_eq!(
            error("spacing=16"),
            "expected 8, 64 or 128 bytes for `spacing`, found `16`"
        );
        assert_eq!(
            error("caching=x"),
            "expected up to 8 of `o`, `s` and `f` for `caching`, found `x`"
        );
        assert_eq!(
            error("owners=012345678"),
            "expected up to 8 digits for `owners`, found `012345678`"
        );
        assert!(error("speed=1").contains("found `speed`"));
    }

    #[test]
    fn the_better_parameters_are_kept() {
        // A long period is worth more here: the search must find one.
        let geometry = crate::geometry::tests::store_buffering();
        let mut tuner = Tuner::default();
        let mut random = Random::new(3);
        for _ in 0..3000 {
            let chosen = tuner.choose(&mut random, &geometry, 2, &FixedParameters::default());
            tuner.reward(f64::from(chosen.period));
        }
        assert!(tuner.best().period > 2000, "{}", tuner.best());
    }

    #[test]
    fn what_a_search_comes_to_is_sound_and_other_memory_is_not() {
        let geometry = crate::geometry::tests::store_buffering();
        let mut tuner = Tuner::default();
        let mut random = Random::new(5);
        assert!(tuner.is_sound());
        for _ in 0..3000 {
            tuner.choose(&mut random, &geometry, 2, &FixedParameters::default());
            tuner.reward(random.below(1000) as f64 / 7.0);
            assert!(tuner.is_sound(), "{tuner:?}");
        }
        let broken: [fn(&mut Tuner); 7] = [
            |tuner| tuner.current = POOL,
            |tuner| tuner.improved = u64::MAX,
            |tuner| tuner.pool[3].reward = f64::NAN,
            |tuner| tuner.pool[3].parameters.slots = 0,
            |tuner| tuner.pool[3].parameters.spacing = 1,
            |tuner| tuner.pool[3].parameters.stride = u32::MAX,
            |tuner| tuner.pool[3].parameters.caching[7] = Caching(3),
        ];
        for damage in broken {
            let mut tuner = tuner;
            damage(&mut tuner);
            assert!(!tuner.is_sound(), "{tuner:?}");
        }
    }

    #[test]
    fn what_is_fixed_is_not_searched() {
        let geometry = crate::geometry::tests::store_buffering();
        let mut tuner = Tuner::default();
        let mut random = Random::new(4);
        let fixed = "period=777,caching=sf".parse().expect("parameters");
        for _ in 0..200 {
            let chosen = tuner.choose(&mut random, &geometry, 2, &fixed);
            tuner.reward(1.0);
            assert_eq!(chosen.period, 777);
            assert_eq!(
                tuner.best().period,
                777,
                "the best are those that were used"
            );
            assert_eq!(
                chosen.caching[..3],
                [Caching::SHARED, Caching::FLUSHED, Caching::FLUSHED]
            );
        }
    }
}
