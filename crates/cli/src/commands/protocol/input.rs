//! Reading a model.

use fencepost_protocol::{Limits, Model};

use crate::args::ProtocolArguments;
use crate::exit::Failure;
use crate::files;

/// Reads the model of `--const` and the file.
pub fn model(arguments: &ProtocolArguments) -> Result<Model, Failure> {
    let path = &arguments.file;
    let file = path.display().to_string();
    check_constants(&arguments.constants)?;
    if path.is_dir() {
        let message = format!(
            "error: cannot read {file}: it is a directory\n  = help: name one model, such as {}",
            path.join("model.m").display()
        );
        return Err(Failure::BadInput(message));
    }
    let limits = Limits::default();
    let bytes = files::read_up_to(path, limits.bytes as u64)
        .map_err(|error| Failure::BadInput(format!("error: cannot read {file}: {error}")))?;
    Model::read(&bytes, &arguments.constants, &limits).map_err(|error| {
        let message = error.render(&file);
        match error.is_limit() {
            true => Failure::Limit(message),
            false => Failure::BadInput(message),
        }
    })
}

/// Refuses two values for one constant.
fn check_constants(constants: &[(String, i64)]) -> Result<(), Failure> {
    for (number, (name, value)) in constants.iter().enumerate() {
        let before = constants[..number].iter().find(|(other, _)| other == name);
        if let Some((_, other)) = before
            && other != value
        {
            let message = format!("error: --const gives {name} two values, {other} and {value}");
            return Err(Failure::BadInput(message));
        }
    }
    Ok(())
}
