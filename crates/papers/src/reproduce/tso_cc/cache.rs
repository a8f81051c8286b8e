//! Results of earlier runs, in a folder: a file for each row that finished, and a checkpoint for
//! each that did not.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::rows::{Expected, Row};
use super::{Agreement, ReproduceError, RowResult, expectation};

/// A folder with results of earlier runs.
pub(super) struct ResultCache {
    folder: PathBuf,
    build: u64,
}

impl ResultCache {
    /// Opens the folder, and creates it if necessary.
    pub(super) fn open(folder: &Path, build: u64) -> Result<Self, ReproduceError> {
        fs::create_dir_all(folder).map_err(|error| {
            ReproduceError::BadInput(format!(
                "error: cannot store results in {}: {error}\n  = help: --checkpoint takes a directory",
                folder.display()
            ))
        })?;
        Ok(ResultCache {
            folder: folder.to_owned(),
            build,
        })
    }

    /// The checkpoint of a search that does not finish.
    pub(super) fn checkpoint_of(&self, row: &Row) -> PathBuf {
        self.file_of(row, "search")
    }

    fn file_of(&self, row: &Row, extension: &str) -> PathBuf {
        let letters = row.name.chars().map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' => letter.to_ascii_lowercase(),
            _ => '-',
        });
        let name: String = letters.collect();
        self.folder.join(format!("{name}.{extension}"))
    }

    /// The result of a row, if it is of the same model and build.
    pub(super) fn get(&self, row: &Row) -> Option<RowResult> {
        let text = fs::read_to_string(self.file_of(row, "json")).ok()?;
        let entry: Value = serde_json::from_str(&text).ok()?;
        (entry["of"] == self.key(row))
            .then(|| read(&entry["row"]))
            .flatten()
    }

    /// Stores a result, unless the search did not finish. Fails with a warning.
    pub(super) fn put(&self, row: &Row, result: &RowResult) -> Result<(), String> {
        if result.agreement == Agreement::Unknown || matches!(row.expected, Expected::Unfinished) {
            return Ok(());
        }
        let entry = json!({ "of": self.key(row), "row": super::json(row, result) });
        let path = self.file_of(row, "json");
        fs::write(&path, format!("{entry}\n"))
            .map_err(|error| format!("cannot store the result in {}: {error}", path.display()))
    }

    /// Everything that a result depends on: the model and its constants, the expected result, and
    /// the build, which contains the models.
    fn key(&self, row: &Row) -> String {
        let (command, expected) = (row.command(), expectation(row.expected));
        format!("{command}: {expected}: {:016x}", self.build)
    }
}

/// Parses the output of [`super::json()`].
fn read(row: &Value) -> Option<RowResult> {
    Some(RowResult {
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
