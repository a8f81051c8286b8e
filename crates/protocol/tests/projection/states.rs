//! States of TSO-CC at one address, as tso-cc.m and any-number.m both have them.
//!
//! A state is read from either model by the names of its variables and fields. A name that is not
//! known is an error, so nothing that is added to a model is left out unnoticed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fencepost_protocol::Model;
use fencepost_protocol::model::types::{TypeId, TypeKind};
use fencepost_protocol::outcome::Value;

/// A member of an enum.
type Name = Arc<str>;

/// The number of a value of the memory.
type Data = u8;

/// Who sends, gets or owns something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Node {
    /// The directory.
    Directory,
    /// A cache that is shown, by its number.
    Cache(usize),
    /// Some cache that is not shown.
    Other,
}

/// The line of a cache. Without `giver` and `since`, which are in any-number.m for the
/// lemmas only.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct ReportLine {
    state: Name,
    data: Option<Data>,
}

/// What the directory knows. Without `newcomer` and `former`, which are in any-number.m for the
/// lemmas only.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct Entry {
    state: Name,
    data: Option<Data>,
    owner: Option<Node>,
    sharer: Option<Node>,
    readers: Vec<bool>,
    other_reads: bool,
    unacked: Vec<bool>,
    other_unacked: bool,
}

/// A message under way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct Message {
    kind: Name,
    from: Option<Node>,
    to: Option<Node>,
    data: Option<Data>,
    grant: Option<Name>,
    ack: Option<i64>,
    requester: Option<Node>,
}

/// A state. What has no order is sorted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct State {
    entry: Entry,
    caches: Vec<ReportLine>,
    network: Vec<Message>,
    global: Option<Data>,
    possible: Vec<Vec<Option<Data>>>,
}

impl State {
    /// How many caches are shown.
    pub fn caches(&self) -> usize {
        self.caches.len()
    }

    /// What is left of the state if only two caches are shown, in this order, and all others are
    /// [`Node::Other`], as any-number.m has it: there are no messages from or to them. The values
    /// of the memory are renamed.
    fn shown(&self, kept: [usize; 2], renamed: [Data; 2]) -> State {
        let node = |node: Node| match node {
            Node::Cache(cache) => match kept.iter().position(|&each| each == cache) {
                Some(place) => Node::Cache(place),
                None => Node::Other,
            },
            _ => node,
        };
        let data = |data: Option<Data>| data.map(|data| renamed[usize::from(data)]);
        let of_others = |flags: &[bool]| {
            let mut flags = flags.iter().enumerate();
            flags.any(|(cache, &flag)| flag && !kept.contains(&cache))
        };
        let entry = &self.entry;
        let mut network: Vec<Message> = self
            .network
            .iter()
            .map(|message| Message {
                from: message.from.map(node),
                to: message.to.map(node),
                data: data(message.data),
                requester: message.requester.map(node),
                ..message.clone()
            })
            .filter(|message| message.from != Some(Node::Other) && message.to != Some(Node::Other))
            .collect();
        network.sort_unstable();
        State {
            entry: Entry {
                state: entry.state.clone(),
                data: data(entry.data),
                owner: entry.owner.map(node),
                sharer: entry.sharer.map(node),
                readers: kept.map(|cache| entry.readers[cache]).to_vec(),
                other_reads: entry.other_reads || of_others(&entry.readers),
                unacked: kept.map(|cache| entry.unacked[cache]).to_vec(),
                other_unacked: entry.other_unacked || of_others(&entry.unacked),
            },
            caches: kept
                .map(|cache| ReportLine {
                    state: self.caches[cache].state.clone(),
                    data: data(self.caches[cache].data),
                })
                .to_vec(),
            network,
            global: data(self.global),
            possible: kept
                .map(|cache| {
                    let buffers = self.possible[cache].iter();
                    let mut buffers: Vec<_> = buffers.map(|&buffer| data(buffer)).collect();
                    buffers.sort_unstable();
                    buffers
                })
                .to_vec(),
        }
    }

    /// The state with two caches shown, by any names: the least of all ways to name the two and
    /// the two values of the memory.
    pub fn image(&self, kept: [usize; 2]) -> State {
        let orders = [kept, [kept[1], kept[0]]];
        let ways = orders.iter().flat_map(|&order| {
            let names = [[0, 1], [1, 0]];
            names.map(|renamed| self.shown(order, renamed))
        });
        ways.min().expect("there are four ways")
    }

    /// The state without what the specification knows, which is about all addresses together.
    pub fn without_specification(self) -> State {
        State {
            possible: vec![Vec::new(); self.caches()],
            ..self
        }
    }

    /// The images for every two caches that can be shown.
    pub fn images(&self) -> Vec<State> {
        let many = self.caches();
        let pairs = (0..many).flat_map(|one| (one + 1..many).map(move |two| [one, two]));
        pairs.map(|kept| self.image(kept)).collect()
    }
}

/// Reads the states of one model, as far as they are about one address.
pub struct Reader<'m> {
    model: &'m Model,
    address: usize,
    /// The members of each enum.
    members: BTreeMap<TypeId, Vec<Name>>,
}

impl<'m> Reader<'m> {
    /// A reader for the states of a model at an address.
    pub fn new(model: &'m Model, address: usize) -> Reader<'m> {
        let members = |kind: &TypeKind| match kind {
            TypeKind::Enum(members) => Some(members.iter().map(|m| m.as_str().into()).collect()),
            _ => None,
        };
        let types = model.types.iter();
        Reader {
            model,
            address,
            members: types
                .filter_map(|(id, each)| Some((id, members(&each.kind)?)))
                .collect(),
        }
    }

    /// Reads a state.
    pub fn read(&self, values: &[Value]) -> State {
        let mut state = State::default();
        for (value, global) in values.iter().zip(&self.model.globals) {
            let part = Section {
                reader: self,
                id: global.type_id,
                value,
            };
            match global.name.as_str() {
                "cache" => state.caches = part.elements().map(|e| e.here().line()).collect(),
                "directory" => state.entry = part.here().entry(),
                "network" => {
                    state.network = part.elements().filter_map(Section::message).collect();
                    state.network.sort_unstable();
                }
                "global" => state.global = part.here().data(),
                "possible" => {
                    let buffers = |set: Section| {
                        let mut buffers: Vec<_> = set.elements().map(|b| b.here().data()).collect();
                        buffers.sort_unstable();
                        buffers
                    };
                    state.possible = part.elements().map(buffers).collect();
                }
                // Other checks use them.
                "witness" | "written" | "reads_old" | "is_before" | "is_used_later" => {
                    assert!(part.is_undefined(), "{} is used", global.name);
                }
                name => panic!("the variable {name} is not known"),
            }
        }
        state
    }
}

/// A part of a state, with its type.
#[derive(Clone, Copy)]
struct Section<'r> {
    reader: &'r Reader<'r>,
    id: TypeId,
    value: &'r Value,
}

impl<'r> Section<'r> {
    fn kind(self) -> &'r TypeKind {
        &self.reader.model.types[self.id].kind
    }

    fn inner(self, id: TypeId, value: &'r Value) -> Section<'r> {
        Section { id, value, ..self }
    }

    /// The elements of an array, or those that are in a multiset.
    fn elements(self) -> impl Iterator<Item = Section<'r>> {
        let (element, values): (_, Vec<&Value>) = match (self.kind(), self.value) {
            (TypeKind::Array { element, .. }, Value::Parts(parts)) => {
                (*element, parts.iter().collect())
            }
            (TypeKind::Multiset { element, .. }, Value::Elements(elements)) => {
                (*element, elements.iter().flatten().collect())
            }
            _ => panic!("this has no elements"),
        };
        values
            .into_iter()
            .map(move |value| self.inner(element, value))
    }

    /// The element for the address.
    fn here(self) -> Section<'r> {
        let mut elements = self.elements();
        let here = elements.nth(self.reader.address);
        here.expect("there is such an address")
    }

    /// The fields of a record, with their names.
    fn fields(self) -> impl Iterator<Item = (&'r str, Section<'r>)> {
        match (self.kind(), self.value) {
            (TypeKind::Record(fields), Value::Parts(parts)) => fields
                .iter()
                .zip(parts)
                .map(move |(field, value)| (field.name.as_str(), self.inner(field.type_id, value))),
            _ => panic!("this has no fields"),
        }
    }

    /// The number of a simple value, if it is defined.
    fn number(self) -> Option<i64> {
        match self.value {
            Value::Undefined => None,
            Value::Simple(number) => Some(*number),
            _ => panic!("this is not simple"),
        }
    }

    /// Whether all of it is undefined.
    fn is_undefined(self) -> bool {
        fn is_undefined(value: &Value) -> bool {
            match value {
                Value::Undefined => true,
                Value::Simple(_) => false,
                Value::Parts(parts) => parts.iter().all(is_undefined),
                Value::Elements(elements) => elements.iter().flatten().all(is_undefined),
            }
        }
        is_undefined(self.value)
    }

    fn data(self) -> Option<Data> {
        self.number()
            .map(|number| number.try_into().expect("few values"))
    }

    fn flag(self) -> bool {
        self.number().expect("flags are defined") == 1
    }

    /// The name of a member of an enum, if it is defined.
    fn name(self) -> Option<Name> {
        let members = &self.reader.members[&self.id];
        self.number().map(|number| members[number as usize].clone())
    }

    fn node(self) -> Option<Node> {
        let number = self.number()?;
        let shown = self.reader.model.types.show(self.id, number);
        Some(match (shown.as_str(), shown.strip_prefix("Cache_")) {
            ("Directory", _) => Node::Directory,
            ("Other", _) => Node::Other,
            (_, Some(number)) => Node::Cache(number.parse::<usize>().expect("a number") - 1),
            _ => panic!("{shown} is no node"),
        })
    }

    fn line(self) -> ReportLine {
        let mut line = ReportLine::default();
        for (name, part) in self.fields() {
            match name {
                "state" => line.state = part.name().expect("lines have a state"),
                "val" => line.data = part.data(),
                "giver" | "since" => {}
                _ => panic!("the field {name} of a line is not known"),
            }
        }
        line
    }

    fn entry(self) -> Entry {
        let mut entry = Entry::default();
        for (name, part) in self.fields() {
            match name {
                "state" => entry.state = part.name().expect("the directory has a state"),
                "val" => entry.data = part.data(),
                "owner" => entry.owner = part.node(),
                "sharer" => entry.sharer = part.node(),
                "readers" => entry.readers = part.elements().map(Section::flag).collect(),
                "other_reads" => entry.other_reads = part.flag(),
                "unacked" => entry.unacked = part.elements().map(Section::flag).collect(),
                "other_unacked" => entry.other_unacked = part.flag(),
                "newcomer" | "former" => {}
                _ => panic!("the field {name} of the directory is not known"),
            }
        }
        entry
    }

    /// A message, if it is about the address.
    fn message(self) -> Option<Message> {
        let mut message = Message::default();
        for (name, part) in self.fields() {
            match name {
                "mtype" => message.kind = part.name().expect("messages have a type"),
                "src" => message.from = part.node(),
                "dst" => message.to = part.node(),
                "addr" if part.number() != Some(self.reader.address as i64) => return None,
                "addr" => {}
                "val" => message.data = part.data(),
                "grant" => message.grant = part.name(),
                "ack" => message.ack = part.number(),
                "requester" => message.requester = part.node(),
                _ => panic!("the field {name} of a message is not known"),
            }
        }
        Some(message)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Node::Directory => write!(f, "the directory"),
            Node::Cache(number) => write!(f, "cache {}", number + 1),
            Node::Other => write!(f, "another cache"),
        }
    }
}

/// Writes what is defined.
fn defined(f: &mut fmt::Formatter, name: &str, value: Option<impl fmt::Display>) -> fmt::Result {
    match value {
        Some(value) => write!(f, ", {name} {value}"),
        None => Ok(()),
    }
}

/// Writes which caches are meant.
fn marked(f: &mut fmt::Formatter, name: &str, caches: &[bool], other: bool) -> fmt::Result {
    let nodes = caches.iter().enumerate();
    let nodes = nodes.filter_map(|(number, is_marked)| is_marked.then_some(Node::Cache(number)));
    for node in nodes.chain(other.then_some(Node::Other)) {
        write!(f, ", {name} {node}")?;
    }
    Ok(())
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let entry = &self.entry;
        write!(f, "  directory: {}", entry.state)?;
        defined(f, "value", entry.data)?;
        defined(f, "owner", entry.owner)?;
        defined(f, "sharer", entry.sharer)?;
        marked(f, "reader", &entry.readers, entry.other_reads)?;
        marked(f, "awaits AckRO of", &entry.unacked, entry.other_unacked)?;
        for (number, (line, buffers)) in self.caches.iter().zip(&self.possible).enumerate() {
            write!(f, "\n  cache {}: {}", number + 1, line.state)?;
            defined(f, "value", line.data)?;
            for &buffer in buffers {
                defined(f, "may have buffered", buffer)?;
            }
        }
        for message in &self.network {
            write!(f, "\n  message: {}", message.kind)?;
            defined(f, "from", message.from)?;
            defined(f, "to", message.to)?;
            defined(f, "value", message.data)?;
            defined(f, "grant", message.grant.as_deref())?;
            defined(f, "ack", message.ack)?;
            defined(f, "requester", message.requester)?;
        }
        write!(f, "\n  global memory")?;
        defined(f, "value", self.global)
    }
}
