//! What the program prints, and what it reads.
//!
//! An execution that nobody looks at shall print nothing. So the standard streams of the C library write to a file in memory,
//! which is emptied before each execution, and the output of one execution can be taken from it. Standard input is at its
//! beginning in each.

use std::ffi::{c_char, c_int, c_void};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd};

use crate::hooks::{hook, look_alike};
use crate::real;
use crate::refused::refuse;
use crate::state::state;
use crate::world::{inside, outside};

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// Where the C library keeps the descriptor of a stream; part of its binary interface.
const DESCRIPTOR: usize = 112;
/// More output of one execution is not shown.
const MOST: u64 = 64 << 10;

/// The size of a stream of the C library; part of its binary interface.
const STREAM: usize = 216;
/// The size of the buffers of the standard streams.
const BUFFER: usize = 4096;

/// A standard stream as it was when the program began.
struct Stream {
    stream: *mut libc::FILE,
    saved: [u8; STREAM],
}

impl Stream {
    /// Gives the stream a buffer, since the C library would have one of the program's heap, and saves it.
    fn prepare(stream: *mut libc::FILE, mode: c_int) -> Self {
        let buffer = Box::leak(Box::new([0_u8; BUFFER]));
        let mut saved = [0; STREAM];
        // SAFETY: it is a stream of the C library of this size, and nobody else uses the buffer.
        unsafe {
            libc::setvbuf(stream, buffer.as_mut_ptr().cast(), mode, BUFFER);
            saved.copy_from_slice(std::slice::from_raw_parts(stream.cast(), STREAM));
        }
        Stream { stream, saved }
    }

    /// Puts it back.
    fn restore(&self) {
        // SAFETY: as above. No code of the program runs.
        unsafe { std::ptr::copy_nonoverlapping(self.saved.as_ptr(), self.stream.cast(), STREAM) };
    }
}

/// The output of the program.
pub(crate) struct Output {
    streams: Vec<Stream>,
    file: Option<File>,
    is_input_a_file: bool,
    /// The open descriptors: the standard streams, where the report goes, and those of the check.
    kept: Vec<c_int>,
}

/// Descriptors that may be open when a check begins are below.
const DESCRIPTORS: c_int = 4096;

fn open_descriptors() -> Vec<c_int> {
    // SAFETY: it only looks at a descriptor, which need not be open.
    let is_open = |&descriptor: &c_int| unsafe { libc::fcntl(descriptor, libc::F_GETFD) } >= 0;
    (0..DESCRIPTORS).filter(is_open).collect()
}

impl Output {
    /// Lets the streams of the C library write to a file in memory.
    pub(crate) fn capture() -> Self {
        let is_input_a_file = prepare_input();
        // SAFETY: the name is a text; the result is checked.
        let descriptor = unsafe { libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Output {
                streams: Vec::new(),
                file: None,
                is_input_a_file: false,
                kept: open_descriptors(),
            };
        }
        // SAFETY: the descriptor is new, and belongs to nobody else.
        let file = unsafe { File::from_raw_fd(descriptor) };
        // SAFETY: these are the streams of the C library. A stream has its descriptor there if it says so.
        unsafe {
            for (stream, usual) in [(stdout, 1), (stderr, 2)] {
                let place = stream.byte_add(DESCRIPTOR).cast::<c_int>();
                if libc::fileno(stream) == usual && place.read() == usual {
                    place.write(descriptor);
                }
            }
        }
        // SAFETY: these are the streams of the C library.
        let standard = unsafe {
            [
                (stdin, libc::_IOFBF),
                (stdout, libc::_IOFBF),
                (stderr, libc::_IONBF),
            ]
        };
        Output {
            streams: standard
                .map(|(stream, mode)| Stream::prepare(stream, mode))
                .into(),
            file: Some(file),
            is_input_a_file,
            kept: open_descriptors(),
        }
    }

    /// Forgets what was printed, and goes back to the beginning of the input.
    pub(crate) fn begin_execution(&mut self) {
        self.streams.iter().for_each(Stream::restore);
        if self.is_input_a_file {
            // SAFETY: it has no preconditions.
            unsafe { libc::lseek(0, 0, libc::SEEK_SET) };
        }
        if let Some(file) = &mut self.file
            && file.stream_position().is_ok_and(|length| length > 0)
        {
            let _ = file.set_len(0);
            let _ = file.rewind();
        }
    }

    /// What the last execution has printed.
    pub(crate) fn take(&mut self) -> String {
        // SAFETY: these are the streams of the C library. No code of the program runs.
        unsafe {
            libc::fflush(stdout);
            libc::fflush(stderr);
        }
        let mut bytes = Vec::new();
        if let Some(file) = &mut self.file {
            let _ = file.rewind();
            let _ = file.take(MOST).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Makes sure that each execution can read the same. Returns whether there is a file to read.
fn prepare_input() -> bool {
    // SAFETY: the functions have no preconditions; the structure is written before it is read.
    unsafe {
        let mut status = std::mem::zeroed::<libc::stat>();
        if libc::fstat(0, &raw mut status) == 0 && status.st_mode & libc::S_IFMT == libc::S_IFREG {
            return true;
        }
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if nothing > 0 {
            libc::dup2(nothing, 0);
            libc::close(nothing);
        }
    }
    false
}

hook! {
    fn write(descriptor: c_int, bytes: *const c_void, length: usize) -> isize = write_bytes;
}

unsafe extern "C" fn write_bytes(
    descriptor: c_int,
    bytes: *const c_void,
    length: usize,
    _returns_to: usize,
) -> isize {
    let to_file = || {
        let file = state().output.file.as_ref().map(AsRawFd::as_raw_fd);
        match (descriptor, file) {
            (1 | 2, Some(file)) => file,
            _ => descriptor,
        }
    };
    let descriptor = outside(to_file, || descriptor);
    // SAFETY: the arguments are passed on.
    unsafe { real::write(descriptor, bytes, length) }
}

look_alike! {
    fn close(descriptor: c_int) -> c_int = close_own;
    fn fclose(stream: *mut libc::FILE) -> c_int = close_stream;
    fn freopen(path: *const c_char, mode: *const c_char, stream: *mut libc::FILE) -> *mut libc::FILE = reopen;
    fn closefrom(first: c_int) = close_many;
    fn close_range(first: u32, last: u32, flags: c_int) -> c_int = close_some;
    fn dup2(from: c_int, to: c_int) -> c_int = duplicate;
    fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int = duplicate_with;
}

/// Whether a descriptor was open when the check began.
fn is_kept(descriptor: c_int) -> bool {
    inside(|| state().output.kept.contains(&descriptor))
}

/// What was open before the program began is so in every execution, and the check needs it: it only looks closed.
unsafe extern "C-unwind" fn close_own(descriptor: c_int, _returns_to: usize) -> c_int {
    match is_kept(descriptor) {
        true => 0,
        // SAFETY: the argument is passed on.
        false => unsafe { real::close(descriptor) },
    }
}

fn is_standard(stream: *mut libc::FILE) -> bool {
    // SAFETY: these are the streams of the C library, which only looks at them here.
    unsafe { stream == stdin || stream == stdout || stream == stderr }
}

/// As with descriptors, a standard stream only looks closed.
unsafe extern "C-unwind" fn close_stream(stream: *mut libc::FILE, _returns_to: usize) -> c_int {
    match is_standard(stream) {
        // SAFETY: the program has passed a stream.
        true => unsafe { libc::fflush(stream) },
        // SAFETY: the argument is passed on.
        false => unsafe { real::fclose(stream) },
    }
}

unsafe extern "C-unwind" fn reopen(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut libc::FILE,
    returns_to: usize,
) -> *mut libc::FILE {
    if is_standard(stream) {
        refuse("freopen", STREAMS, returns_to);
    }
    // SAFETY: the arguments are passed on.
    unsafe { real::freopen(path, mode, stream) }
}

unsafe extern "C-unwind" fn close_many(_first: c_int, returns_to: usize) {
    refuse("closefrom", OTHERS, returns_to);
}

unsafe extern "C-unwind" fn close_some(
    _first: u32,
    _last: u32,
    _flags: c_int,
    returns_to: usize,
) -> c_int {
    refuse("close_range", OTHERS, returns_to)
}

const OTHERS: &str = "the check has files of its own";
const STREAMS: &str = "the files that were open when the program began are so in every execution";

unsafe extern "C-unwind" fn duplicate(from: c_int, to: c_int, returns_to: usize) -> c_int {
    if from != to && is_kept(to) {
        refuse("dup2", STREAMS, returns_to);
    }
    // SAFETY: the arguments are passed on.
    unsafe { real::dup2(from, to) }
}

unsafe extern "C-unwind" fn duplicate_with(
    from: c_int,
    to: c_int,
    flags: c_int,
    returns_to: usize,
) -> c_int {
    if from != to && is_kept(to) {
        refuse("dup3", STREAMS, returns_to);
    }
    // SAFETY: the arguments are passed on.
    unsafe { real::dup3(from, to, flags) }
}
