//! All permutations of scalarsets.
//!
//! Ip and Dill, "Better Verification Through Symmetry": states that are permutations of each other
//! behave alike, so one of each class is enough. The one whose bytes are least stands for its
//! class; trying all permutations makes the number of states exactly the number of classes.

use super::encode::encode;
use crate::model::Model;
use crate::model::types::{TypeId, TypeKind, Types, UnionMember};
use crate::outcome::Value;

/// A permutation of each scalarset that has something to permute.
#[derive(Clone, Debug, Default)]
pub(super) struct Permutation {
    scalarsets: Vec<SetPermutations>,
}

#[derive(Clone, Debug)]
struct SetPermutations {
    id: TypeId,
    image: Vec<i64>,
    origin: Vec<i64>,
}

impl Permutation {
    fn of(&self, id: TypeId) -> Option<&SetPermutations> {
        self.scalarsets.iter().find(|one| one.id == id)
    }

    /// The image of a value.
    pub fn image(&self, types: &Types, id: TypeId, value: i64) -> i64 {
        self.mapped(types, id, value, |one| &one.image)
    }

    /// The preimage of a value.
    pub fn origin(&self, types: &Types, id: TypeId, value: i64) -> i64 {
        self.mapped(types, id, value, |one| &one.origin)
    }

    fn mapped(
        &self,
        types: &Types,
        id: TypeId,
        value: i64,
        table: fn(&SetPermutations) -> &[i64],
    ) -> i64 {
        if self.scalarsets.is_empty() {
            return value;
        }
        match &types[id].kind {
            TypeKind::Scalarset(_) => match self.of(id) {
                Some(one) => table(one)[value as usize],
                None => value,
            },
            TypeKind::Union(members) => {
                let within = |m: &&UnionMember| (m.first..m.first + m.size).contains(&value);
                match members.iter().find(within) {
                    Some(m) => m.first + self.mapped(types, m.type_id, value - m.first, table),
                    None => value,
                }
            }
            _ => value,
        }
    }

    /// All permutations of all scalarsets, or nothing if there are more than `most`.
    pub fn all(types: &Types, most: u64) -> Option<Vec<Permutation>> {
        let mut all = vec![Permutation::default()];
        for (id, size) in types.scalarsets() {
            let images = arrangements(i64::from(size), most)?;
            if (all.len() as u64).saturating_mul(images.len() as u64) > most {
                return None;
            }
            let mut more = Vec::new();
            for permutation in &all {
                for image in &images {
                    let mut origin = vec![0; image.len()];
                    for (from, to) in (0_i64..).zip(image) {
                        origin[*to as usize] = from;
                    }
                    let mut longer = permutation.clone();
                    let image = image.clone();
                    longer
                        .scalarsets
                        .push(SetPermutations { id, image, origin });
                    more.push(longer);
                }
            }
            all = more;
        }
        Some(all)
    }
}

/// All orders of the numbers below `size`, or nothing if there are more than `most`.
fn arrangements(size: i64, most: u64) -> Option<Vec<Vec<i64>>> {
    let mut all = vec![vec![]];
    for next in 0..size {
        let mut longer = Vec::new();
        for order in &all {
            for at in 0..=order.len() {
                let mut order = order.clone();
                order.insert(at, next);
                longer.push(order);
            }
            if longer.len() as u64 > most {
                return None;
            }
        }
        all = longer;
    }
    Some(all)
}

/// The least bytes of all permutations of a state: they represent its equivalence class.
pub(super) fn canonical(model: &Model, state: &[Value], all: &[Permutation]) -> Vec<u8> {
    let encoded = all.iter().map(|by| encode(model, state, by));
    encoded.min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::arrangements;

    #[test]
    fn there_are_as_many_arrangements_as_the_factorial() {
        let mut all = arrangements(4, 1000).expect("few");
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 24);
        assert_eq!(arrangements(10, 1000), None);
        assert_eq!(arrangements(0, 1000).map(|all| all.len()), Some(1));
    }
}
