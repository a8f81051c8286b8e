//! Response files: `@FILE` stands for the arguments in FILE.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::DriverError;
use crate::words::split_words;

const DEEPEST: u32 = 32;
const MOST_BYTES: u64 = 64 << 20;

/// What arguments of this many bytes are passed in a file: the kernel takes 128 KiB in one and 2 MiB in all.
const LONG: usize = 100_000;

/// Replaces each `@FILE` by the arguments in the file, as the compilers do. One that cannot be read is an argument itself.
pub(crate) fn expand(arguments: Vec<OsString>) -> Result<Vec<OsString>, DriverError> {
    let mut expanded = Vec::new();
    let mut bytes_left = MOST_BYTES;
    expand_into(arguments, 0, &mut bytes_left, &mut expanded)?;
    Ok(expanded)
}

fn expand_into(
    arguments: Vec<OsString>,
    depth: u32,
    bytes_left: &mut u64,
    expanded: &mut Vec<OsString>,
) -> Result<(), DriverError> {
    for argument in arguments {
        let file = argument
            .as_bytes()
            .strip_prefix(b"@")
            .map(OsStr::from_bytes)
            .map(Path::new);
        let Some(file) = file.filter(|file| file.is_file()) else {
            expanded.push(argument);
            continue;
        };
        let refused = || DriverError::ResponseFile {
            path: file.to_owned(),
        };
        if depth == DEEPEST {
            return Err(refused());
        }
        let mut text = Vec::new();
        let read =
            fs::File::open(file).and_then(|f| f.take(*bytes_left + 1).read_to_end(&mut text));
        if read.is_err() {
            expanded.push(argument);
            continue;
        }
        *bytes_left = bytes_left
            .checked_sub(text.len() as u64)
            .ok_or_else(refused)?;
        // The compilers accept a quote that is not closed at the end.
        let words = split_words(&text).or_else(|| split_words(&[&text[..], b"'"].concat()));
        let words = words.or_else(|| split_words(&[&text[..], b"\""].concat()));
        expand_into(words.unwrap_or_default(), depth + 1, bytes_left, expanded)?;
    }
    Ok(())
}

/// The text of a response file, if there are too many arguments for a command line.
pub(crate) fn for_long(arguments: &[OsString]) -> Option<Vec<u8>> {
    let length: usize = arguments.iter().map(|argument| argument.len() + 1).sum();
    (length > LONG).then(|| {
        let mut text = Vec::new();
        for argument in arguments {
            text.push(b'"');
            for byte in argument.as_bytes() {
                if matches!(byte, b'"' | b'\\') {
                    text.push(b'\\');
                }
                text.push(*byte);
            }
            text.extend(b"\"\n");
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary::TemporaryFolder;

    fn at(path: &Path) -> OsString {
        let mut argument = OsString::from("@");
        argument.push(path);
        argument
    }

    #[test]
    fn files_stand_for_their_arguments() {
        let folder = TemporaryFolder::new().unwrap();
        let [inner, outer] = ["inner", "outer"].map(|name| folder.path().join(name));
        fs::write(&inner, "-DA='b c'\n-O2").unwrap();
        fs::write(&outer, format!("x.c \"@{}\" -g", inner.display())).unwrap();
        let expanded = expand(vec!["-c".into(), at(&outer), "@nowhere".into()]).unwrap();
        assert_eq!(expanded, ["-c", "x.c", "-DA=b c", "-O2", "-g", "@nowhere"]);
    }

    #[test]
    fn a_file_that_contains_itself_is_refused() {
        let folder = TemporaryFolder::new().unwrap();
        let file = folder.path().join("itself");
        fs::write(&file, format!("@{} @{}", file.display(), file.display())).unwrap();
        assert!(matches!(
            expand(vec![at(&file)]),
            Err(DriverError::ResponseFile { .. })
        ));
    }

    #[test]
    fn many_arguments_come_back_from_a_file() {
        let few: Vec<OsString> = vec!["-c".into()];
        assert_eq!(for_long(&few), None);
        let many: Vec<OsString> = (0..20_000)
            .map(|n| format!("a \"b\\ '{n}").into())
            .collect();
        let text = for_long(&many).unwrap();
        assert_eq!(split_words(&text).unwrap(), many);
    }
}
