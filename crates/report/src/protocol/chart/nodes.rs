//! Recognises the nodes of a model.

use fencepost_protocol::Model;
use fencepost_protocol::model::types::{TypeId, TypeKind};

use super::super::changes::{Selection, StatePart};
use super::sites::{Site, is_node_type};

/// The name of the home node, if the model has none.
pub(super) const HOME: &str = "home";
/// The largest number of nodes that get columns.
const MAX_NODES: u128 = 16;

/// The types whose values are nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Nodes {
    /// They, and the members of those that are unions.
    pub types: Vec<TypeId>,
    /// The name of the node that has all that belongs to no other, if there is one.
    pub home: Option<String>,
    /// Variables that need not be named: the only record of each node, and the only one of home.
    nameless: Vec<usize>,
}

/// The nodes of a model with messages in these places.
pub(super) fn nodes(model: &Model, sites: &[Site]) -> Nodes {
    let mut types = Vec::new();
    for site in sites {
        if let TypeKind::Record(fields) = &model.types[site.record].kind {
            let ends = [site.source, site.destination].into_iter().flatten();
            types.extend(ends.map(|field| fields[field].type_id));
        }
        types.extend(site.owner_type());
        types.extend(site.sender_type());
    }
    if types.is_empty() {
        types.extend(most_indexed(model));
    }
    let mut all = Vec::new();
    for id in types {
        add(&mut all, id);
        if let TypeKind::Union(members) = &model.types[id].kind {
            members
                .iter()
                .for_each(|member| add(&mut all, member.type_id));
        }
    }
    let mut singles = all.iter().filter_map(|id| match &model.types[*id].kind {
        TypeKind::Enum(members) if members.len() == 1 => Some(members[0].clone()),
        _ => None,
    });
    let home = match (singles.next(), singles.next()) {
        (Some(single), None) => Some(single),
        _ if sites.iter().any(Site::is_between_node_and_home) => Some(HOME.to_owned()),
        _ => None,
    };
    let nameless = nameless(model, sites, &all);
    Nodes {
        types: all,
        home,
        nameless,
    }
}

/// If each node has one record, its fields say enough.
fn nameless(model: &Model, sites: &[Site], nodes: &[TypeId]) -> Vec<usize> {
    let is_record = |id: TypeId| matches!(model.types[id].kind, TypeKind::Record(_));
    let (mut of_nodes, mut of_home) = (Vec::new(), Vec::new());
    for (number, global) in model.globals.iter().enumerate() {
        if sites.iter().any(|site| site.global == number) {
            continue;
        }
        match model.types[global.type_id].kind {
            TypeKind::Record(_) => of_home.push(number),
            TypeKind::Array { index, element } if nodes.contains(&index) && is_record(element) => {
                of_nodes.push(number);
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for only in [of_nodes, of_home] {
        if let [only] = only.as_slice() {
            found.push(*only);
        }
    }
    found
}

fn add(all: &mut Vec<TypeId>, id: TypeId) {
    if !all.contains(&id) {
        all.push(id);
    }
}

/// The index of most arrays of the state, scalarsets first.
fn most_indexed(model: &Model) -> Option<TypeId> {
    let mut counts: Vec<(TypeId, usize)> = Vec::new();
    for global in &model.globals {
        let TypeKind::Array { index, .. } = &model.types[global.type_id].kind else {
            continue;
        };
        let size = model.types[*index].cardinality().unwrap_or(0);
        if !is_node_type(model, *index) || !(2..=MAX_NODES).contains(&size) {
            continue;
        }
        match counts.iter_mut().find(|(id, _)| id == index) {
            Some((_, count)) => *count += 1,
            None => counts.push((*index, 1)),
        }
    }
    let weight = |(id, count): &(TypeId, usize)| {
        let is_scalarset = matches!(model.types[*id].kind, TypeKind::Scalarset(_));
        (is_scalarset, *count)
    };
    // The first of equal ones.
    let best = counts.iter().rev().max_by_key(|entry| weight(entry));
    best.map(|(id, _)| *id)
}

impl Nodes {
    /// The node that a place belongs to, and the place's name without it. What is within a record
    /// belongs to whom the record belongs to: an array of nodes in the record of a directory is the
    /// directory's.
    pub(super) fn owner(&self, model: &Model, place: &StatePart) -> (Option<String>, String) {
        for (number, part) in place.parts.iter().enumerate() {
            let Selection::Index(id, value) = part else {
                break;
            };
            if self.types.contains(id) {
                let node = model.types.show(*id, *value);
                let name = place.name_without(model, number);
                return (Some(node), self.short_name(model, place, name));
            }
        }
        let name = place.name(model);
        match &self.home {
            Some(home) => (Some(home.clone()), self.short_name(model, place, name)),
            None => (None, name),
        }
    }

    fn short_name(&self, model: &Model, place: &StatePart, name: String) -> String {
        let variable = &model.globals[place.global].name;
        let rest = name.strip_prefix(variable.as_str());
        match rest.and_then(|rest| rest.strip_prefix('.')) {
            Some(rest) if self.nameless.contains(&place.global) => rest.to_owned(),
            _ => name,
        }
    }

    /// All names of nodes, home first, then in the order of their types.
    pub(super) fn names(&self, model: &Model) -> Vec<String> {
        let mut names: Vec<String> = self.home.iter().cloned().collect();
        for id in &self.types {
            let Some((low, high)) = model.types[*id].bounds() else {
                continue;
            };
            // A range may be huge; what is beyond its first values is added when it is seen.
            for value in (low..=high).take(256) {
                let name = model.types.show(*id, value);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// The title of a column: numbers get the name of their type.
    pub(super) fn title(&self, model: &Model, name: &str) -> String {
        if name.parse::<i64>().is_err() {
            return name.to_owned();
        }
        let named = self
            .types
            .iter()
            .find_map(|id| match model.types[*id].kind {
                TypeKind::Range(..) => model.types[*id].name.as_deref(),
                _ => None,
            });
        format!("{} {name}", named.unwrap_or("node"))
    }
}
