//! What was found before, in a folder: the results of rows that ended, and the searches of those that did not.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::rows::{Expected, Row};
use super::{Agreement, Found, object};
use crate::executable;
use crate::exit::Failure;

/// A folder with what was found before.
pub(super) struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// The folder, made if it is not there.
    pub(super) fn new(folder: &Path) -> Result<Kept, Failure> {
        fs::create_dir_all(folder).map_err(|error| {
            let shown = folder.display();
            let message = format!(
                "error: cannot keep results in {shown}: {error}\n  = help: --checkpoint names a folder"
            );
            Failure::BadInput(message)
        })?;
        Ok(Kept {
            folder: folder.to_owned(),
        })
    }

    /// Where the search of a row is kept that does not end.
    pub(super) fn search_of(&self, row: &Row) -> PathBuf {
        self.file_of(row, "search")
    }

    fn file_of(&self, row: &Row, ending: &str) -> PathBuf {
        let letters = row.name.chars().map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' => letter.to_ascii_lowercase(),
            _ => '-',
        });
        let name: String = letters.collect();
        self.folder.join(format!("{name}.{ending}"))
    }

    /// What was found, if it was for the same model.
    pub(super) fn found(&self, row: &Row) -> Option<Found> {
        let text = fs::read_to_string(self.file_of(row, "json")).ok()?;
        let kept: Value = serde_json::from_str(&text).ok()?;
        (kept["of"] == of(row))
            .then(|| read(&kept["row"]))
            .flatten()
    }

    /// Keeps what was found, unless the search did not end. If that is not possible, it will be searched again.
    pub(super) fn keep(&self, row: &Row, found: &Found) {
        if found.agreement == Agreement::Unknown || matches!(row.expected, Expected::Unfinished) {
            return;
        }
        let kept = json!({ "of": of(row), "row": object(row, found) });
        let path = self.file_of(row, "json");
        if let Err(error) = fs::write(&path, format!("{kept}\n")) {
            let shown = path.display();
            let _ = writeln!(
                anstream::stderr(),
                "warning: the result could not be kept in {shown}: {error}"
            );
        }
    }
}

/// What a result depends on: the model, its constants, what is expected, and the program that searches. The models are
/// part of the program.
fn of(row: &Row) -> String {
    let (command, expected) = (row.command(), super::expectation(row.expected));
    format!("{command}: {expected}: {:016x}", executable::checksum())
}

/// Reads what [`object`] wrote.
fn read(row: &Value) -> Option<Found> {
    Some(Found {
        sizes: row["sizes"].as_str()?.to_owned(),
        result: row["result"].as_str()?.to_owned(),
        steps: row["steps"].as_u64().map(|steps| steps as usize),
        vacuous: row["vacuous"].as_u64()? as usize,
        states: row["states"].as_u64()?,
        depth: row["depth"].as_u64()?,
        memory: row["memory"].as_u64()?,
        seconds: row["seconds"].as_f64()?,
        agreement: match row["agrees"].as_bool()? {
            true => Agreement::Same,
            false => Agreement::Different,
        },
    })
}
