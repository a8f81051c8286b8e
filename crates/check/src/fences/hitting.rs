//! A cheapest set of fences that hits every clause.

use rustc_hash::FxHashSet;

use super::FenceStrength;

/// A fence of some strength at a place, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Item {
    pub(super) place: usize,
    pub(super) strength: FenceStrength,
}

/// The cost of a set: its number of fences, then its number of full fences.
type Cost = (usize, usize);

/// The fence at each place, if there is one.
pub(super) type Choice = Vec<Option<FenceStrength>>;

/// A cheapest choice that has, for each clause, one of its items or a stronger fence at the same place.
pub(super) fn cheapest(clauses: &[Vec<Item>], places: usize) -> Choice {
    let mut search = Search {
        clauses,
        chosen: vec![None; places],
        cost: (0, 0),
        best: None,
    };
    search.go();
    let best = search.best.map(|(_, choice)| choice);
    best.expect("a fence at every place is a choice")
}

struct Search<'a> {
    clauses: &'a [Vec<Item>],
    chosen: Choice,
    cost: Cost,
    best: Option<(Cost, Choice)>,
}

impl Search<'_> {
    fn has(&self, item: &Item) -> bool {
        self.chosen[item.place].is_some_and(|strength| strength >= item.strength)
    }

    /// A lower bound: clauses with disjoint places, none of them chosen, need a place each.
    fn least_places(&self, open: &[&Vec<Item>]) -> usize {
        let mut taken: FxHashSet<usize> = FxHashSet::default();
        let mut least = 0;
        for clause in open {
            let is_apart =
                |item: &Item| self.chosen[item.place].is_none() && !taken.contains(&item.place);
            if clause.iter().all(is_apart) {
                taken.extend(clause.iter().map(|item| item.place));
                least += 1;
            }
        }
        least
    }

    fn go(&mut self) {
        let is_open = |clause: &&Vec<Item>| !clause.iter().any(|item| self.has(item));
        let mut open: Vec<&Vec<Item>> = self.clauses.iter().filter(is_open).collect();
        open.sort_by_key(|clause| clause.len());
        // It cannot become cheaper than the best one.
        let least = (self.cost.0 + self.least_places(&open), self.cost.1);
        if self.best.as_ref().is_some_and(|(cost, _)| *cost <= least) {
            return;
        }
        let Some(&clause) = open.first() else {
            self.best = Some((self.cost, self.chosen.clone()));
            return;
        };
        for item in clause {
            let before = (self.chosen[item.place], self.cost);
            self.cost.0 += usize::from(before.0.is_none());
            self.cost.1 += usize::from(item.strength == FenceStrength::SeqCst);
            self.chosen[item.place] = Some(item.strength);
            self.go();
            (self.chosen[item.place], self.cost) = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small random problems, against all choices.
    #[test]
    fn no_choice_is_cheaper() {
        let mut random = fencepost_memory::Random::new(1);
        let mut below = |n: u64| random.below(n);
        let strengths = [
            None,
            Some(FenceStrength::Release),
            Some(FenceStrength::SeqCst),
        ];
        for _ in 0..2000 {
            let places = 1 + below(6) as usize;
            let clauses: Vec<Vec<Item>> = (0..below(6))
                .map(|_| {
                    let mut clause: Vec<Item> = (0..1 + below(4))
                        .flat_map(|_| {
                            let place = below(places as u64) as usize;
                            let item = |strength| Item { place, strength };
                            let full = item(FenceStrength::SeqCst);
                            match below(2) {
                                0 => vec![full],
                                _ => vec![item(FenceStrength::Release), full],
                            }
                        })
                        .collect();
                    clause.sort();
                    clause.dedup();
                    clause
                })
                .collect();
            let cost = |choice: &[Option<FenceStrength>]| {
                let fences = choice.iter().flatten();
                let full = fences
                    .clone()
                    .filter(|s| **s == FenceStrength::SeqCst)
                    .count();
                (fences.count(), full)
            };
            let hits = |choice: &[Option<FenceStrength>]| {
                clauses.iter().all(|clause| {
                    let mut items = clause.iter();
                    items.any(|item| choice[item.place].is_some_and(|s| s >= item.strength))
                })
            };
            let found = cheapest(&clauses, places);
            assert!(hits(&found), "{clauses:?}");
            let least = (0..3_usize.pow(places as u32))
                .map(|number| {
                    (0..places)
                        .map(|place| strengths[number / 3_usize.pow(place as u32) % 3])
                        .collect::<Choice>()
                })
                .filter(|choice| hits(choice))
                .map(|choice| cost(&choice))
                .min();
            assert_eq!(Some(cost(&found)), least, "{clauses:?} {found:?}");
        }
    }
}
