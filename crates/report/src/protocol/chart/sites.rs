//! Recognises the variables in which a model keeps its messages.
//!
//! A message is a record in a multiset, or in an array that has a node as index, with a field for
//! the sender and one for the receiver; the node that the array is indexed by stands in for one of
//! them. A record without such fields is a message if its type or variable is called so (`MSG`,
//! `Chan1`). In an array over pairs of nodes it goes from the first to the second; in one over
//! nodes, as in German's protocol, it goes between the node and everything else, which is called
//! home.

use fencepost_protocol::Model;
use fencepost_protocol::model::types::{Field, TypeId, TypeKind};
use fencepost_protocol::outcome::Value;

use super::super::changes::{Selection, StatePart};
use super::super::values::{is_blank, keys};

const SOURCES: [&str; 5] = ["src", "source", "from", "sender", "origin"];
const DESTINATIONS: [&str; 6] = ["dst", "dest", "destination", "to", "receiver", "target"];
/// Parts of the names of variables and types of messages.
const CHANNEL_WORDS: [&str; 11] = [
    "msg", "message", "chan", "channel", "packet", "net", "network", "queue", "fifo", "mailbox",
    "inbox",
];
/// Names of the value that means "no message".
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
    /// The arrays around it, from the outside to the inside: the types of their indices.
    pub indices: Vec<TypeId>,
    /// The index that is the node, if one is needed: the destination of a message, or its owner.
    pub owner: Option<usize>,
    /// The index that is the sender, in an array over pairs.
    pub sender: Option<usize>,
    /// The field that says what kind of message it is.
    pub kind: Option<usize>,
}

/// A message in a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Present<'v> {
    /// The site of the message.
    pub site: usize,
    /// The node whose place it is in.
    pub owner: Option<i64>,
    /// The node that the place says has sent it.
    pub sender: Option<i64>,
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
    // Channels without addresses are guessed by their names, so they count only if there is nothing
    // better.
    if found.iter().any(Site::has_addresses) {
        found.retain(Site::has_addresses);
    }
    found
}

impl Site {
    /// Whether messages say from where or to where they go.
    pub(super) fn has_addresses(&self) -> bool {
        self.source.is_some() || self.destination.is_some()
    }

    /// Whether messages have nothing but a place at a node, so that the other end must be guessed.
    pub(super) fn is_between_node_and_home(&self) -> bool {
        !self.has_addresses() && self.sender.is_none()
    }

    /// The type of the index that is the node.
    pub(super) fn owner_type(&self) -> Option<TypeId> {
        self.owner.map(|level| self.indices[level])
    }

    /// The type of the index that is the sender.
    pub(super) fn sender_type(&self) -> Option<TypeId> {
        self.sender.map(|level| self.indices[level])
    }
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
            if let TypeKind::Record(fields) = &model.types[*element].kind {
                if let Some(site) = site(model, global, *element, fields, indices, true) {
                    found.push(Site { place: id, ..site });
                }
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
        indices: indices.to_vec(),
        owner: None,
        sender: None,
        kind,
    };
    let is_kept_apart = in_multiset || !indices.is_empty();
    match (source, destination) {
        (Some(_), Some(_)) => is_kept_apart.then_some(site),
        (Some(field), None) | (None, Some(field)) => {
            let node = fields[field].type_id;
            let owner = { indices.iter() }.position(|id| are_related(model, node, *id));
            site.owner = Some(owner?);
            Some(site)
        }
        (None, None) => {
            let record_name = model.types[record].name.as_deref().unwrap_or("");
            let is_called_so =
                is_channel_word(record_name) || is_channel_word(&model.globals[global].name);
            let owner = indices.iter().position(|id| is_node_type(model, *id))?;
            site.owner = Some(owner);
            // Two plain ranges are more likely the places of a queue.
            let is_named = |id: TypeId| model.types[id].name.is_some();
            if let Some(next) = indices.get(owner + 1) {
                if are_related(model, indices[owner], *next) && is_named(*next) {
                    (site.sender, site.owner) = (Some(owner), Some(owner + 1));
                }
            }
            (is_called_so && kind.is_some()).then_some(site)
        }
    }
}

/// Whether one of the words of a name says so: `Chan1`, `ReqNet`, `in_queue`.
fn is_channel_word(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let begins = !letter.is_alphabetic() || (was_lower && letter.is_uppercase());
        if begins {
            words.push(String::new());
        }
        if let (true, Some(word)) = (letter.is_alphabetic(), words.last_mut()) {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    let is_one = |word: &str| CHANNEL_WORDS.contains(&word);
    { words.iter() }.any(|word| is_one(word) || is_one(word.trim_end_matches('s')))
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
                keys: Vec::new(),
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
    /// The indices on the way here.
    keys: Vec<i64>,
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
                for (key, part) in keys(&self.model.types, *index).zip(parts) {
                    self.keys.push(key);
                    self.collect(*element, part);
                    self.keys.pop();
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
        let key = |level: Option<usize>| self.keys.get(level?).copied();
        self.found.push(Present {
            site: self.number,
            owner: key(self.site.owner),
            sender: key(self.site.sender),
            value,
        });
    }
}

/// Whether a place is in a message, or is where messages are.
pub(super) fn is_in_message(model: &Model, sites: &[Site], place: &StatePart) -> bool {
    let mut at = model.globals[place.global].type_id;
    let mut types = vec![at];
    for part in &place.parts {
        at = match (part, &model.types[at].kind) {
            (Selection::Field(_, number), TypeKind::Record(fields)) => fields[*number].type_id,
            (Selection::Index(..), TypeKind::Array { element, .. }) => *element,
            _ => break,
        };
        types.push(at);
    }
    let mut here = sites.iter().filter(|site| site.global == place.global);
    let counts = counts_messages(model, place);
    here.any(|site| types.contains(&site.place) || counts.contains(&site.place))
}

/// The types of what is beside a number in its record: a number beside messages counts them, or
/// says where they begin.
fn counts_messages(model: &Model, place: &StatePart) -> Vec<TypeId> {
    let Some(Selection::Field(record, number)) = place.parts.last() else {
        return Vec::new();
    };
    let TypeKind::Record(fields) = &model.types[*record].kind else {
        return Vec::new();
    };
    if !matches!(
        model.types[fields[*number].type_id].kind,
        TypeKind::Range(..)
    ) {
        return Vec::new();
    }
    let mut beside = Vec::new();
    for field in fields {
        let mut at = field.type_id;
        beside.push(at);
        while let TypeKind::Array { element, .. } = model.types[at].kind {
            at = element;
            beside.push(at);
        }
    }
    beside
}
