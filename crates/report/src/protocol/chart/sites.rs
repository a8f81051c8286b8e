//! Where a model keeps its messages.
//!
//! A message is a record in a multiset, or in an array that has a node as index, with a field for the sender and one
//! for the receiver; the node that the array is indexed by stands in for one of them. A
//! record without such fields is a message if its type or variable is called so (`MSG`, `Chan1`), as in German's
//! protocol: then it goes between the node and everything else, which is called home.

use fencepost_protocol::Model;
use fencepost_protocol::model::types::{Field, TypeId, TypeKind};
use fencepost_protocol::reference::value::Value;

use super::super::changes::{Part, Place};
use super::super::values::{is_blank, keys};

const SOURCES: [&str; 5] = ["src", "source", "from", "sender", "origin"];
const DESTINATIONS: [&str; 6] = ["dst", "dest", "destination", "to", "receiver", "target"];
/// What variables and types of messages are called.
const CHANNEL_WORDS: [&str; 11] = [
    "msg", "message", "chan", "channel", "packet", "net", "network", "queue", "fifo", "mailbox",
    "inbox",
];
/// What says that there is no message.
const EMPTY_WORDS: [&str; 9] = [
    "empty",
    "none",
    "nil",
    "null",
    "nomsg",
    "no_msg",
    "nomessage",
    "invalid_msg",
    "noop",
];

/// A place for messages in the type of a variable.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// The variable.
    pub global: usize,
    /// The type of the place: a multiset, or the record itself.
    pub place: TypeId,
    /// The type of the messages.
    pub record: TypeId,
    /// The field for the sender.
    pub source: Option<usize>,
    /// The field for the receiver.
    pub destination: Option<usize>,
    /// The type of the array's index that is the node, if one is needed.
    pub owner: Option<TypeId>,
    /// The field that says what kind of message it is.
    pub kind: Option<usize>,
}

/// A message in a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Present<'v> {
    /// Which site it is in.
    pub site: usize,
    /// The node whose place it is in.
    pub owner: Option<i64>,
    /// The message.
    pub value: &'v Value,
}

/// The sites of a model.
pub(super) fn sites(model: &Model) -> Vec<Site> {
    let mut found = Vec::new();
    for (number, global) in model.globals.iter().enumerate() {
        look(
            model,
            number,
            global.type_id,
            &mut Vec::new(),
            false,
            &mut found,
        );
    }
    // Channels without addresses are guessed by their names, so they count only if there is nothing better.
    let has_addresses = |site: &Site| site.source.is_some() || site.destination.is_some();
    if found.iter().any(has_addresses) {
        found.retain(has_addresses);
    }
    found
}

fn look(
    model: &Model,
    global: usize,
    id: TypeId,
    indices: &mut Vec<TypeId>,
    in_multiset: bool,
    found: &mut Vec<Site>,
) {
    match &model.types[id].kind {
        TypeKind::Array { index, element } => {
            indices.push(*index);
            look(model, global, *element, indices, in_multiset, found);
            indices.pop();
        }
        TypeKind::Multiset { element, .. } => {
            if let TypeKind::Record(fields) = &model.types[*element].kind
                && let Some(site) = site(model, global, *element, fields, indices, true)
            {
                found.push(Site { place: id, ..site });
            }
        }
        TypeKind::Record(fields) => match site(model, global, id, fields, indices, in_multiset) {
            Some(site) => found.push(site),
            None => {
                for field in fields {
                    look(model, global, field.type_id, indices, in_multiset, found);
                }
            }
        },
        _ => {}
    }
}

/// Whether records of this type are messages here.
fn site(
    model: &Model,
    global: usize,
    record: TypeId,
    fields: &[Field],
    indices: &[TypeId],
    in_multiset: bool,
) -> Option<Site> {
    let named = |names: &[&str]| {
        fields.iter().position(|field| {
            let name = field.name.to_ascii_lowercase();
            names.contains(&name.as_str()) && is_node_type(model, field.type_id)
        })
    };
    let (source, destination) = (named(&SOURCES), named(&DESTINATIONS));
    let is_kind = |field: &Field| matches!(model.types[field.type_id].kind, TypeKind::Enum(_));
    let kind = { fields.iter().enumerate() }.position(|(number, field)| {
        is_kind(field) && ![source, destination].contains(&Some(number))
    });
    let mut site = Site {
        global,
        place: record,
        record,
        source,
        destination,
        owner: None,
        kind,
    };
    let is_kept_apart = in_multiset || !indices.is_empty();
    match (source, destination) {
        (Some(_), Some(_)) => is_kept_apart.then_some(site),
        (Some(field), None) | (None, Some(field)) => {
            let node = fields[field].type_id;
            let mut owners = indices.iter().filter(|id| are_related(model, node, **id));
            site.owner = Some(*owners.next()?);
            Some(site)
        }
        (None, None) => {
            let record_name = model.types[record].name.as_deref().unwrap_or("");
            let is_called_so =
                is_channel_word(record_name) || is_channel_word(&model.globals[global].name);
            let mut owners = indices.iter().filter(|id| is_node_type(model, **id));
            site.owner = Some(*owners.next()?);
            (is_called_so && kind.is_some()).then_some(site)
        }
    }
}

fn is_channel_word(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '_');
    let parts = name.split('_');
    { parts }.any(|part| {
        CHANNEL_WORDS.contains(&part) || CHANNEL_WORDS.contains(&part.trim_end_matches('s'))
    })
}

/// Whether values of the type may be nodes.
pub(super) fn is_node_type(model: &Model, id: TypeId) -> bool {
    matches!(
        model.types[id].kind,
        TypeKind::Scalarset(_) | TypeKind::Enum(_) | TypeKind::Union(_) | TypeKind::Range(..)
    )
}

/// Whether the types are the same, or one is a member of the other.
fn are_related(model: &Model, one: TypeId, other: TypeId) -> bool {
    let has = |union: TypeId, id: TypeId| match &model.types[union].kind {
        TypeKind::Union(members) => members.iter().any(|member| member.type_id == id),
        _ => false,
    };
    one == other || has(one, other) || has(other, one)
}

/// All messages of a state.
pub(super) fn present<'v>(model: &Model, sites: &[Site], state: &'v [Value]) -> Vec<Present<'v>> {
    let mut found = Vec::new();
    for (number, site) in sites.iter().enumerate() {
        if let Some(value) = state.get(site.global) {
            let id = model.globals[site.global].type_id;
            let mut collector = Collector {
                model,
                site,
                number,
                owner: None,
                found: &mut found,
            };
            collector.collect(id, value);
        }
    }
    found
}

struct Collector<'c, 'v> {
    model: &'c Model,
    site: &'c Site,
    number: usize,
    owner: Option<i64>,
    found: &'c mut Vec<Present<'v>>,
}

impl<'v> Collector<'_, 'v> {
    fn collect(&mut self, id: TypeId, value: &'v Value) {
        match (&self.model.types[id].kind, value) {
            (_, Value::Elements(elements)) if id == self.site.place => {
                elements.iter().flatten().for_each(|each| self.note(each));
            }
            (TypeKind::Record(fields), Value::Parts(parts)) => {
                if id == self.site.place {
                    if self.is_message(fields, parts) {
                        self.note(value);
                    }
                    return;
                }
                for (field, part) in fields.iter().zip(parts) {
                    self.collect(field.type_id, part);
                }
            }
            (TypeKind::Array { index, element }, Value::Parts(parts)) => {
                let is_owner = self.site.owner == Some(*index) && self.owner.is_none();
                for (key, part) in keys(&self.model.types, *index).zip(parts) {
                    if is_owner {
                        self.owner = Some(key);
                    }
                    self.collect(*element, part);
                }
                if is_owner {
                    self.owner = None;
                }
            }
            _ => {}
        }
    }

    /// Whether a record holds a message, and not the absence of one.
    fn is_message(&self, fields: &[Field], parts: &[Value]) -> bool {
        let Some(kind) = self.site.kind else {
            return !parts.iter().all(is_blank);
        };
        match parts[kind] {
            Value::Simple(value) => {
                let name = self.model.types.show(fields[kind].type_id, value);
                !EMPTY_WORDS.contains(&name.to_ascii_lowercase().as_str())
            }
            _ => false,
        }
    }

    fn note(&mut self, value: &'v Value) {
        self.found.push(Present {
            site: self.number,
            owner: self.owner,
            value,
        });
    }
}

/// Whether a place is in a message, or is where messages are.
pub(super) fn is_in_message(model: &Model, sites: &[Site], place: &Place) -> bool {
    let mut at = model.globals[place.global].type_id;
    let mut types = vec![at];
    for part in &place.parts {
        at = match (part, &model.types[at].kind) {
            (Part::Field(_, number), TypeKind::Record(fields)) => fields[*number].type_id,
            (Part::Index(..), TypeKind::Array { element, .. }) => *element,
            _ => break,
        };
        types.push(at);
    }
    let here = sites.iter().filter(|site| site.global == place.global);
    { here }.any(|site| types.contains(&site.place))
}
