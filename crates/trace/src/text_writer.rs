//! Writing text traces.

use std::io::Write;

use fencepost_memory::Access;

use crate::error::WriteError;
use crate::names::Names;
use crate::text_reader::{TEXT_HEADER, TEXT_VERSION};
use crate::writer::check_access;

/// When this much has gathered it is passed on.
const BUFFER_BYTES: usize = 64 << 10;

/// Writes a text trace, one event per line.
///
/// ```
/// use fencepost_memory::{Access, Operation};
/// use fencepost_trace::{Names, TextWriter};
///
/// let mut names = Names::new();
/// let mut store = Access::new(names.thread(0)?, Operation::Store(names.address("x")?));
/// store.value = Some(1);
/// let mut writer = TextWriter::new(Vec::new());
/// writer.write(&names, &[store])?;
/// assert_eq!(writer.finish()?, b"fencepost-trace 1\nT0 st x =1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TextWriter<W: Write> {
    output: W,
    buffer: Vec<u8>,
    events: u64,
}

impl<W: Write> TextWriter<W> {
    /// A writer to `output`, which need not be buffered.
    pub fn new(output: W) -> Self {
        let header = format!("{TEXT_HEADER} {TEXT_VERSION}\n");
        TextWriter {
            output,
            buffer: header.into_bytes(),
            events: 0,
        }
    }

    /// Writes some accesses, whose numbers are those of `names`.
    pub fn write(&mut self, names: &Names, accesses: &[Access]) -> Result<(), WriteError> {
        for access in accesses {
            self.events += 1;
            check_access(names, access, self.events)?;
            self.push_line(names, access);
            if self.buffer.len() >= BUFFER_BYTES {
                self.pass_on()?;
            }
        }
        Ok(())
    }

    fn push_line(&mut self, names: &Names, access: &Access) {
        let line = &mut self.buffer;
        line.push(b'T');
        push_decimal(line, u64::from(names.thread_number(access.thread)));
        line.push(b' ');
        line.extend(access.operation.kind().mnemonic().as_bytes());
        if let Some(address) = access.operation.address() {
            line.push(b' ');
            match names.given_address_name(address) {
                Some(name) => line.extend(name.as_bytes()),
                None => {
                    line.push(b'a');
                    push_decimal(line, u64::from(address.0));
                }
            }
        }
        if let Some(value) = access.value {
            line.extend(b" =");
            push_decimal(line, value);
        }
        if let Some(location) = access.location.and_then(|id| names.location_name(id)) {
            line.extend(b" @");
            line.extend(location.as_bytes());
        }
        line.push(b'\n');
    }

    fn pass_on(&mut self) -> Result<(), WriteError> {
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes what is still buffered and gives the output back.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.pass_on()?;
        self.output.flush()?;
        Ok(self.output)
    }
}

/// Formatting through `fmt` would cost more than all else in a line.
fn push_decimal(output: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    output.extend(&digits[first..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_format_does() {
        for value in [0, 9, 10, 99, 100, 1234567890, u64::MAX] {
            let mut digits = Vec::new();
            push_decimal(&mut digits, value);
            assert_eq!(digits, value.to_string().into_bytes());
        }
    }
}
