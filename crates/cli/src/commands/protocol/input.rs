//! Reading a model.

use fencepost_protocol::{Limits, Model, ModelError, ModelErrorKind};

use crate::args::{ConstantArgument, ProtocolArguments};
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
    let given = arguments.constants.iter();
    let given: Vec<(String, i64)> = given.map(|c| (c.name.clone(), c.value)).collect();
    let model = Model::read(&bytes, &given, &limits).map_err(|error| {
        if let Some(message) = unknown_constant(&error) {
            return Failure::BadInput(message);
        }
        let message = error.render(&file);
        match error.is_limit() {
            true => Failure::Limit(message),
            false => Failure::BadInput(message),
        }
    })?;
    check_types(&model, &arguments.constants)?;
    Ok(model)
}

/// The message about a constant that the model does not have: the error is in the command line, not
/// in the file.
fn unknown_constant(error: &ModelError) -> Option<String> {
    let ModelErrorKind::UnknownOverride {
        name,
        suggestion,
        declared,
    } = &error.errors.first()?.kind
    else {
        return None;
    };
    let help = match (suggestion, declared.as_slice()) {
        (_, []) => "the model declares no constants".to_owned(),
        (Some(meant), declared) => format!(
            "did you mean `{meant}`? its constants are {}",
            declared.join(", ")
        ),
        (None, declared) => format!("its constants are {}", declared.join(", ")),
    };
    Some(format!(
        "error: --const {name}: the model has no such constant\n  = help: {help}"
    ))
}

/// Refuses `true` and `false` for integers.
fn check_types(model: &Model, constants: &[ConstantArgument]) -> Result<(), Failure> {
    for given in constants {
        let ConstantArgument { name, text, .. } = given;
        let mut declared = model.constants.iter();
        if given.is_boolean && declared.any(|c| c.name == *name && !c.is_boolean) {
            let message = format!(
                "error: `{name}` is an integer, and `{text}` is given for it\n  = help: give a number, such as --const {name}=3"
            );
            return Err(Failure::BadInput(message));
        }
    }
    Ok(())
}

/// Refuses two values for one constant.
fn check_constants(constants: &[ConstantArgument]) -> Result<(), Failure> {
    for (number, given) in constants.iter().enumerate() {
        let mut before = constants[..number].iter();
        if let Some(other) = before.find(|other| other.name == given.name)
            && other.value != given.value
        {
            let (name, value, other) = (&given.name, &given.text, &other.text);
            let message = format!("error: --const gives {name} two values, {other} and {value}");
            return Err(Failure::BadInput(message));
        }
    }
    Ok(())
}
