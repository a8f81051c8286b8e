//! The registry as text, so that a check can go on in another process with the same numbers.
//!
//! A line for each thing, in the order of their numbers: `place`, `kind` (a type of objects), `creator`,
//! `thread`, `object`; then the places of `repeated-wait`s and `visible-drop`s. Names that users gave come
//! last, after `=`.

use std::fmt::Write;
use std::panic::Location;
use std::str::{FromStr, Lines};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use fencepost_memory::{Address, LocationId, ThreadId};

use super::{
    Creator, CreatorId, END_TOKEN, ObjectKey, ObjectRecord, PARK_TOKEN, Registry, START_TOKEN,
    SourceLocation, Tables, ThreadKey, ThreadRecord, Tokens, WAIT_TOKEN,
};

/// Why a registry cannot be restored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RegistryError {
    /// The text is of a check at another place.
    OtherCheck {
        /// Where that is.
        made: String,
        /// Where this one is.
        own: String,
    },
    /// It is no such text.
    Damaged {
        /// In which line, from 1.
        line: usize,
    },
}

/// In the order of the fields of [`Tokens`].
const TOKENS: [&str; 4] = [START_TOKEN, END_TOKEN, PARK_TOKEN, WAIT_TOKEN];

/// Threads that were spawned by threads that were spawned by … this often: names of threads are found by
/// going up.
const DEEPEST: u32 = 4096;

impl Registry {
    /// Writes the registry down.
    pub fn to_text(&self) -> String {
        let tables = self.tables();
        let mut text = String::new();
        let mut line = |line: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{line}");
        };
        for location in &tables.locations {
            let SourceLocation {
                file,
                line: l,
                column,
            } = location;
            line(format_args!("place {l} {column} {}", escaped(file)));
        }
        let mut kinds: Vec<&str> = Vec::new();
        for object in &tables.objects {
            if !kinds.contains(&object.kind) {
                kinds.push(object.kind);
                line(format_args!("kind {}", escaped(object.kind)));
            }
        }
        for creator in &tables.creators {
            match creator {
                Creator::Thread(_) => line(format_args!("maker thread")),
                Creator::Static(name) => line(format_args!("maker static {}", escaped(name))),
            }
        }
        for thread in &tables.threads {
            let Tokens {
                start,
                end,
                park,
                wait,
            } = thread.tokens;
            line(format_args!(
                "thread {} {} {} {} {} {} {} {}{}",
                thread
                    .parent
                    .map_or_else(|| "-".to_owned(), |p| p.0.to_string()),
                thread.nth,
                thread.location.index(),
                thread.creator.0,
                start.0,
                end.0,
                park.0,
                wait.0,
                given(thread.name.as_deref()),
            ));
        }
        for object in &tables.objects {
            let kind = kinds.iter().position(|kind| *kind == object.kind);
            line(format_args!(
                "object {} {} {} {}{}",
                object.creator.0,
                object.nth,
                object.location.index(),
                kind.unwrap_or_default(),
                given(object.name.as_deref()),
            ));
        }
        for location in &tables.waits {
            line(format_args!("repeated-wait {}", location.index()));
        }
        for location in &tables.visible_drops {
            line(format_args!("visible-drop {}", location.index()));
        }
        text
    }

    /// The registry of a check at the same place that was written down.
    pub fn from_text(check: &'static Location<'static>, text: &str) -> Result<Self, RegistryError> {
        let mut reader = Reader {
            lines: text.lines(),
            next: None,
            number: 0,
        };
        reader.advance();
        let tables = match reader.tables(check) {
            Ok(Some(tables)) => tables,
            Ok(None) => {
                let line = reader.number;
                return Err(RegistryError::Damaged { line });
            }
            Err(error) => return Err(error),
        };
        Ok(Registry {
            insertions: Arc::default(),
            buffering: Mutex::default(),
            check,
            visible_drop_count: AtomicUsize::new(tables.visible_drops.len()),
            tables: Mutex::new(tables),
        })
    }
}

fn given(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" ={}", escaped(name)))
}

/// Without line breaks.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            other => other,
        });
    }
    Some(plain)
}

/// Names in the registry live for ever, as they do if they come from the program itself. There is one set
/// of them for each check that goes on.
fn forever(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

struct Reader<'a> {
    lines: Lines<'a>,
    next: Option<&'a str>,
    number: usize,
}

impl<'a> Reader<'a> {
    fn advance(&mut self) {
        self.next = self.lines.next();
        self.number += 1;
    }

    /// What the next line is about, if it begins with this word.
    fn next(&mut self, word: &str) -> Option<Fields<'a>> {
        let (first, rest) = self.next?.split_once(' ')?;
        (first == word).then_some(Fields(rest))
    }

    /// None if the text is not as it is written.
    fn tables(
        &mut self,
        check: &'static Location<'static>,
    ) -> Result<Option<Tables>, RegistryError> {
        let mut tables = Tables::default();
        if self.places(&mut tables).is_none() {
            return Ok(None);
        }
        let own = SourceLocation::from(check);
        match tables.locations.first() {
            Some(made) if *made == own => {}
            None => return Ok(None),
            Some(made) => {
                let text = |at: &SourceLocation| format!("{}:{}:{}", at.file, at.line, at.column);
                return Err(RegistryError::OtherCheck {
                    made: text(made),
                    own: text(&own),
                });
            }
        }
        Ok(self.things(&mut tables).map(|()| tables))
    }

    fn places(&mut self, tables: &mut Tables) -> Option<()> {
        while let Some(mut fields) = self.next("place") {
            let (line, column) = (fields.number()?, fields.number()?);
            let location = SourceLocation {
                file: forever(unescaped(fields.0)?),
                line,
                column,
            };
            let id = LocationId::from_index(tables.locations.len() as u32);
            if tables.location_keys.insert(location, id).is_some() {
                return None;
            }
            tables.locations.push(location);
            self.advance();
        }
        Some(())
    }

    fn things(&mut self, tables: &mut Tables) -> Option<()> {
        let mut kinds = Vec::new();
        while let Some(fields) = self.next("kind") {
            kinds.push(forever(unescaped(fields.0)?));
            self.advance();
        }
        let mut threads = Vec::new();
        while let Some(mut fields) = self.next("maker") {
            let creator = CreatorId(tables.creators.len() as u32);
            tables.creators.push(match fields.field() {
                "thread" => {
                    threads.push(creator);
                    Creator::Thread(ThreadId(threads.len() as u32 - 1))
                }
                "static" => {
                    tables.unused_statics.push(creator);
                    Creator::Static(forever(unescaped(fields.0)?))
                }
                _ => return None,
            });
            self.advance();
        }
        self.threads(tables, &threads)?;
        self.objects(tables, &kinds)?;
        for (word, is_wait) in [("repeated-wait", true), ("visible-drop", false)] {
            while let Some(mut fields) = self.next(word) {
                let location = fields.location(tables)?;
                match is_wait {
                    true => tables.waits.insert(location),
                    false => tables.visible_drops.insert(location),
                };
                self.advance();
            }
        }
        self.next.is_none().then_some(())
    }

    fn threads(&mut self, tables: &mut Tables, creators: &[CreatorId]) -> Option<()> {
        let mut depths = vec![0; tables.creators.len()];
        for (number, &creator) in creators.iter().enumerate() {
            let mut fields = self.next("thread")?;
            let parent = match fields.field() {
                "-" => None,
                digits => Some(CreatorId(plain(digits)?)),
            };
            let nth = fields.number()?;
            let location = fields.location(tables)?;
            let mut token = || fields.number().map(Address);
            let is_right_maker = token()? == Address(creator.0);
            let tokens = Tokens {
                start: token()?,
                end: token()?,
                park: token()?,
                wait: token()?,
            };
            let name = fields.given()?;
            // Only the first has no parent; the others come after theirs.
            let is_in_order = parent.is_none_or(|parent| parent < creator);
            if !is_right_maker || !is_in_order || parent.is_none() != (number == 0) {
                return None;
            }
            let thread = ThreadId(number as u32);
            if let Some(parent) = parent {
                depths[creator.index()] = depths[parent.index()] + 1;
                let key = ThreadKey {
                    creator: parent,
                    nth,
                    location,
                };
                let is_new = tables.thread_keys.insert(key, thread).is_none();
                if !is_new || depths[creator.index()] > DEEPEST {
                    return None;
                }
            }
            tables.threads.push(ThreadRecord {
                parent,
                nth,
                location,
                name,
                creator,
                tokens,
            });
            self.advance();
        }
        (!tables.threads.is_empty()).then_some(())
    }

    fn objects(&mut self, tables: &mut Tables, kinds: &[&'static str]) -> Option<()> {
        while let Some(mut fields) = self.next("object") {
            let creator = CreatorId(fields.number()?);
            let nth = fields.number()?;
            let location = fields.location(tables)?;
            let kind: u32 = fields.number()?;
            let kind = *kinds.get(kind as usize)?;
            let name = fields.given()?;
            tables.creators.get(creator.index())?;
            tables.objects.push(ObjectRecord {
                creator,
                nth,
                location,
                kind,
                name,
            });
            self.advance();
        }
        let mut is_token = vec![false; tables.objects.len()];
        for thread in &tables.threads {
            let Tokens {
                start,
                end,
                park,
                wait,
            } = thread.tokens;
            let tokens = [start, end, park, wait].into_iter();
            for (token, kind) in tokens.zip(TOKENS) {
                let object = tables.objects.get(token.index())?;
                if object.kind != kind || object.creator != thread.creator {
                    return None;
                }
                is_token[token.index()] = true;
            }
        }
        for (number, object) in tables.objects.iter().enumerate() {
            if is_token[number] {
                continue;
            }
            let key = ObjectKey {
                creator: object.creator,
                nth: object.nth,
                location: object.location,
                kind: object.kind,
            };
            let address = Address(number as u32);
            let is_known = tables.object_keys.insert(key, address).is_some();
            if is_known || TOKENS.contains(&object.kind) {
                return None;
            }
        }
        Some(())
    }
}

/// What is left of a line.
struct Fields<'a>(&'a str);

impl<'a> Fields<'a> {
    fn field(&mut self) -> &'a str {
        let (field, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        self.0 = rest;
        field
    }

    fn number<N: FromStr>(&mut self) -> Option<N> {
        plain(self.field())
    }

    fn location(&mut self, tables: &Tables) -> Option<LocationId> {
        let index: u32 = self.number()?;
        let is_known = (index as usize) < tables.locations.len();
        is_known.then(|| LocationId::from_index(index))
    }

    /// The name that ends the line, if there is one.
    fn given(&self) -> Option<Option<String>> {
        match self.0 {
            "" => Some(None),
            name => unescaped(name.strip_prefix('=')?).map(Some),
        }
    }
}

fn plain<N: FromStr>(digits: &str) -> Option<N> {
    let is_plain = digits.bytes().all(|b| b.is_ascii_digit());
    if is_plain { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{LocalNames, Names};
    use super::*;

    fn check() -> &'static Location<'static> {
        Location::caller()
    }

    /// Makes things, in one of two orders; in both, the same are returned in the same order.
    fn make(registry: &Arc<Registry>, is_reversed: bool) -> Vec<u32> {
        let mut local = LocalNames::new(Arc::clone(registry));
        let (here, there) = (Location::caller(), Location::caller());
        let child = local.thread(CreatorId::MAIN, 0, here);
        let grandchild = local.thread(child.creator, 0, there);
        let mut made = vec![
            child.thread.0,
            grandchild.thread.0,
            grandchild.tokens.park.0,
        ];
        let identity = usize::from(is_reversed) + 77;
        let counter = local.static_creator(identity, "COUNTER");
        let creators = [CreatorId::MAIN, child.creator, grandchild.creator, counter];
        let mut objects = vec![0; creators.len() * 2];
        let mut order: Vec<usize> = (0..creators.len()).collect();
        if is_reversed {
            order.reverse();
        }
        for number in order {
            for nth in 0..2 {
                let object = local.object(creators[number], nth, "AtomicBool", here);
                objects[number * 2 + nth as usize] = object.0;
            }
        }
        made.extend(objects);
        local.name_object(Address(made[4]), "a =\\ \n name");
        local.name_thread(grandchild.thread, "");
        made
    }

    #[test]
    fn numbers_are_the_same_in_another_process() {
        let registry = Arc::new(Registry::new(check()));
        let made = make(&registry, false);
        registry.note_wait(LocationId::from_index(1));
        registry.note_visible_drop(LocationId::from_index(2));
        let text = registry.to_text();
        let again = Arc::new(Registry::from_text(registry.check, &text).unwrap());
        assert_eq!(again.to_text(), text);
        assert_eq!(make(&again, true), made);
        assert_eq!(again.to_text(), text, "nothing was new");
        assert_eq!(again.visible_drop_count(), 1);
        let names = |registry: &Registry| {
            let names = Names::new(registry, |_, _| None);
            let objects = 0..names.object_count() as u32;
            let objects = objects.map(|object| names.object(Address(object)).to_owned());
            objects.collect::<Vec<_>>()
        };
        assert_eq!(names(&again), names(&registry));
        let new = LocalNames::new(Arc::clone(&again)).object(
            CreatorId::MAIN,
            9,
            "AtomicU8",
            Location::caller(),
        );
        assert!(!made[3..].contains(&new.0));
    }

    #[test]
    fn what_is_no_registry_is_refused() {
        let registry = Arc::new(Registry::new(check()));
        make(&registry, false);
        let text = registry.to_text();
        let elsewhere = Registry::from_text(Location::caller(), &text);
        assert!(matches!(elsewhere, Err(RegistryError::OtherCheck { .. })));
        let lines: Vec<&str> = text.lines().collect();
        for number in 0..lines.len() {
            let mut twice = lines.clone();
            twice.insert(number, lines[number]);
            let twice = Registry::from_text(registry.check, &twice.join("\n"));
            // A kind or a static that is there twice is no harm.
            let is_harmless = ["kind", "maker static"].iter();
            let is_harmless = is_harmless
                .clone()
                .any(|word| lines[number].starts_with(word));
            assert!(twice.is_err() || is_harmless, "{}", lines[number]);
        }
        for word in ["place", "maker", "thread", "object"] {
            let wrong = text.replacen(word, "thing", 1);
            assert!(Registry::from_text(registry.check, &wrong).is_err());
        }
    }
}
