//! Round trips, and input that is not what was written.

use std::collections::BTreeMap;
use std::io::Read;

use fencepost_checkpoint::{
    Kind, OpenError, StreamError, StreamReader, StreamWriter, open, seal, write_atomically,
};
use fencepost_memory::random::Random;
use serde::{Deserialize, Serialize};

const VERSION: u32 = 7;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Sample {
    name: String,
    counts: Vec<u64>,
    steps: Vec<Step>,
    limits: BTreeMap<String, i32>,
    share: f64,
    best: Option<Box<str>>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
enum Step {
    Start,
    Read { thread: u32, value: i64 },
    Write(u32, [u64; 3]),
}

fn sample() -> Sample {
    Sample {
        name: "dekker — with fences".to_owned(),
        counts: vec![0, 1, 127, 128, u64::MAX],
        steps: vec![
            Step::Start,
            Step::Read {
                thread: 1,
                value: i64::MIN,
            },
            Step::Write(u32::MAX, [1, 2, 3]),
        ],
        limits: BTreeMap::from([("steps".to_owned(), -1), ("threads".to_owned(), 64)]),
        share: 0.1,
        best: Some("none".into()),
    }
}

fn sealed() -> Vec<u8> {
    seal(Kind::Check, VERSION, &sample())
}

fn opened(bytes: &[u8]) -> Result<Sample, OpenError> {
    open(Kind::Check, VERSION, bytes)
}

#[test]
fn a_value_survives_the_round_trip() {
    assert_eq!(opened(&sealed()), Ok(sample()));
}

#[test]
fn sealing_is_deterministic() {
    assert_eq!(sealed(), sealed());
}

#[test]
fn every_truncation_is_refused() {
    let bytes = sealed();
    assert_eq!(opened(&[]), Err(OpenError::NotACheckpoint));
    for length in 1..bytes.len() {
        assert_eq!(
            opened(&bytes[..length]),
            Err(OpenError::Truncated),
            "{length} bytes"
        );
    }
}

#[test]
fn every_changed_byte_is_refused() {
    let bytes = sealed();
    for at in 0..bytes.len() {
        for change in 1..=u8::MAX {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            let error = opened(&changed).expect_err("a changed byte");
            match at {
                0..8 => assert_eq!(error, OpenError::NotACheckpoint),
                16..24 => assert!(matches!(
                    error,
                    OpenError::Truncated | OpenError::TrailingBytes
                )),
                _ => assert_eq!(error, OpenError::Damaged, "byte {at} ^ {change:#x}"),
            }
        }
    }
}

#[test]
fn another_kind_is_refused() {
    let bytes = seal(Kind::ProtocolSearch, VERSION, &sample());
    let error = opened(&bytes).expect_err("another kind");
    assert_eq!(
        error.to_string(),
        "expected a checkpoint of a check, found one of a protocol search"
    );
}

#[test]
fn another_version_is_refused() {
    let error = open::<Sample>(Kind::Check, VERSION + 1, &sealed()).expect_err("another version");
    assert_eq!(
        error.to_string(),
        "written by another version of Fencepost (format 7; this version reads format 8)"
    );
}

#[test]
fn another_type_is_malformed() {
    // Too few bytes for the type, and too many.
    let error = open::<(Sample, u64)>(Kind::Check, VERSION, &sealed());
    assert_eq!(error, Err(OpenError::Malformed));
    let error = open::<u8>(Kind::Check, VERSION, &sealed());
    assert_eq!(error, Err(OpenError::Malformed));
}

#[test]
fn trailing_bytes_are_refused() {
    let mut bytes = sealed();
    bytes.push(0);
    assert_eq!(opened(&bytes), Err(OpenError::TrailingBytes));
}

#[test]
fn announced_lengths_take_no_memory() {
    // A sequence of 2^63 numbers in ten bytes: the checksum is right, the length is not.
    let announced = seal(Kind::Check, VERSION, &(u64::MAX / 2, 1_u8));
    let error = open::<Vec<[u64; 4]>>(Kind::Check, VERSION, &announced);
    assert_eq!(error, Err(OpenError::Malformed));
    let error = open::<String>(Kind::Check, VERSION, &announced);
    assert_eq!(error, Err(OpenError::Malformed));
}

#[test]
fn random_payloads_are_refused_or_decoded() {
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        let length = random.below(200) as usize;
        let payload: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        assert_eq!(opened(&payload), Err(OpenError::NotACheckpoint));
        // The same bytes behind a good header: a tuple of bytes is its bytes.
        let mut bytes = seal(Kind::Check, VERSION, &payload);
        let after_length = bytes.len() - length;
        bytes.drain(28..after_length);
        bytes[16..24].copy_from_slice(&(length as u64).to_le_bytes());
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&bytes[..24]);
        hasher.update(&bytes[28..]);
        let checksum = hasher.finalize().to_le_bytes();
        bytes[24..28].copy_from_slice(&checksum);
        match opened(&bytes) {
            // Varints have several encodings, so only the value has to survive.
            Ok(value) => assert!(opened(&seal(Kind::Check, VERSION, &value)).is_ok()),
            Err(error) => assert_eq!(error, OpenError::Malformed),
        }
    }
}

/// A stream of `count` words, each its own number.
fn stream(count: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::new(&mut bytes, Kind::ProtocolSearch, VERSION, &sample())
        .expect("a vector can be written");
    let words: Vec<u64> = (0..count).collect();
    let (first, rest) = words.split_at(words.len() / 3);
    writer.write(first).expect("a vector can be written");
    writer.write(rest).expect("a vector can be written");
    writer.finish().expect("a vector can be written");
    bytes
}

fn read_stream(bytes: &[u8], count: u64) -> Result<Vec<u64>, StreamError> {
    let mut from = bytes;
    let (mut reader, header) =
        StreamReader::new::<Sample>(&mut from, Kind::ProtocolSearch, VERSION)?;
    assert_eq!(header, sample());
    let mut words = vec![0; count as usize];
    if let Some((last, others)) = words.split_last_mut() {
        reader.read(others)?;
        *last = reader.read_one()?;
    }
    reader.finish()?;
    Ok(words)
}

#[test]
fn a_stream_survives_the_round_trip() {
    for count in [0, 1, 100, 8191, 8192, 8193, 50_000] {
        let words = read_stream(&stream(count), count).expect("what was written");
        assert!(words.into_iter().eq(0..count), "{count} words");
    }
}

fn refusal(result: Result<Vec<u64>, StreamError>) -> OpenError {
    match result {
        Err(StreamError::Open(error)) => error,
        other => panic!("expected a refusal, found {other:?}"),
    }
}

#[test]
fn every_truncation_of_a_stream_is_refused() {
    let bytes = stream(20);
    for length in 1..bytes.len() {
        let error = refusal(read_stream(&bytes[..length], 20));
        assert_eq!(error, OpenError::Truncated, "{length} bytes");
    }
}

#[test]
fn every_changed_byte_of_a_stream_is_refused() {
    let bytes = stream(20);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            refusal(read_stream(&changed, 20));
        }
    }
}

#[test]
fn a_block_that_was_refused_is_not_returned_later() {
    let mut bytes = stream(20);
    let last_word = bytes.len() - 8 - 8;
    bytes[last_word] ^= 1;
    for length in [bytes.len(), last_word] {
        let mut from = &bytes[..length];
        let (mut reader, _) = StreamReader::new::<Sample>(&mut from, Kind::ProtocolSearch, VERSION)
            .expect("a header");
        reader.read_one().expect_err("a block that was changed");
        reader.read_one().expect_err("the same block");
        reader.finish().expect_err("the same block");
    }
}

#[test]
fn the_header_of_a_stream_is_bounded() {
    const MOST: usize = 64 << 20;
    // Endless input behind a header that announces too much: only the fixed part is read.
    let mut announcing = stream(0);
    announcing[16..24].copy_from_slice(&(MOST as u64 + 1).to_le_bytes());
    let mut from = announcing.chain(std::io::repeat(0));
    let result = StreamReader::new::<Sample>(&mut from, Kind::ProtocolSearch, VERSION);
    let error = refusal(result.map(|_| Vec::new()));
    assert_eq!(error, OpenError::HeaderTooLarge);
    // What could not be read is not written.
    let mut bytes = Vec::new();
    let header = "x".repeat(MOST);
    let result = StreamWriter::new(&mut bytes, Kind::ProtocolSearch, VERSION, &header);
    assert!(result.is_err());
    assert!(bytes.is_empty());
}

#[test]
fn blocks_in_another_order_are_refused() {
    let bytes = stream(3 * 8192);
    let block = 8 + 8192 * 8;
    let first = bytes.len() - 8 - 3 * block;
    let mut swapped = bytes.clone();
    let (one, two) = swapped[first..first + 2 * block].split_at_mut(block);
    one.swap_with_slice(two);
    assert_eq!(refusal(read_stream(&swapped, 3 * 8192)), OpenError::Damaged);
    let mut dropped = bytes;
    dropped.drain(first..first + block);
    assert_eq!(refusal(read_stream(&dropped, 2 * 8192)), OpenError::Damaged);
}

#[test]
fn another_number_of_words_is_malformed() {
    for count in [20, 8192] {
        let bytes = stream(count);
        assert_eq!(
            refusal(read_stream(&bytes, count - 1)),
            OpenError::Malformed
        );
        assert_eq!(
            refusal(read_stream(&bytes, count + 1)),
            OpenError::Malformed
        );
    }
}

#[test]
fn bytes_after_a_stream_are_refused() {
    let mut bytes = stream(20);
    bytes.push(0);
    assert_eq!(refusal(read_stream(&bytes, 20)), OpenError::TrailingBytes);
}

#[test]
fn errors_of_the_reader_are_passed_on() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("unplugged"))
        }
    }
    let bytes = stream(20);
    let mut from = bytes[..100].chain(Failing);
    let result = StreamReader::new::<Sample>(&mut from, Kind::ProtocolSearch, VERSION)
        .and_then(|(mut reader, _)| reader.read(&mut [0; 20]));
    match result {
        Err(StreamError::Io(error)) => assert_eq!(error.to_string(), "unplugged"),
        other => panic!("expected an I/O error, found {other:?}"),
    }
}

#[test]
fn a_file_is_replaced_as_a_whole_or_not_at_all() {
    let directory = std::env::temp_dir().join(format!("fencepost-atomic-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    let path = directory.join("search.checkpoint");
    write_atomically(&path, |to| to.write_all(b"first")).expect("a new file");
    write_atomically(&path, |to| to.write_all(b"second")).expect("an existing file");
    let failed = write_atomically(&path, |to| {
        to.write_all(b"third")?;
        Err(std::io::Error::other("no"))
    });
    assert_eq!(
        failed.expect_err("the error of the closure").to_string(),
        "no"
    );
    assert_eq!(std::fs::read(&path).expect("the file"), b"second");
    let files = std::fs::read_dir(&directory)
        .expect("the directory")
        .count();
    assert_eq!(files, 1, "a temporary file is left");
    let unwritable = directory.join("missing").join("search.checkpoint");
    write_atomically(&unwritable, |to| to.write_all(b"x")).expect_err("no such directory");
    std::fs::remove_dir_all(&directory).expect("the directory");
}

/// A folder for one test, removed at the end.
#[cfg(unix)]
struct Folder(std::path::PathBuf);

#[cfg(unix)]
impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("fencepost-checkpoint-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[cfg(unix)]
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(unix)]
#[test]
fn a_path_that_never_ends_is_refused() {
    use fencepost_checkpoint::{open_file, prepare, read};
    use std::path::Path;
    let folder = Folder::new("special");
    let pipe = folder.0.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let refused: [(&Path, &str); 4] = [
        (Path::new("/dev/zero"), "a device"),
        (Path::new("/dev/full"), "a device"),
        (&pipe, "a named pipe"),
        (&folder.0, "a directory"),
    ];
    for (path, found) in refused {
        let message = format!("expected a regular file, found {found}");
        assert_eq!(read(path).unwrap_err().to_string(), message);
        assert_eq!(open_file(path).unwrap_err().to_string(), message);
        assert_eq!(prepare(path).unwrap_err().to_string(), message);
        let written = write_atomically(path, |to| to.write_all(b"new"));
        assert_eq!(written.unwrap_err().to_string(), message);
    }
    assert_eq!(folder.names(), ["pipe"]);
}

#[cfg(unix)]
#[test]
fn a_huge_file_takes_no_memory() {
    use fencepost_checkpoint::{FileError, read};
    use std::io::{Seek, SeekFrom, Write};
    let folder = Folder::new("sparse");
    let path = folder.0.join("a.checkpoint");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    let error = read(&path).unwrap_err();
    assert!(matches!(error, FileError::Open(OpenError::NotACheckpoint)));
    // The header says that all of it belongs to the checkpoint.
    let mut file = file;
    let mut header = sealed()[..28].to_vec();
    header[16..24].copy_from_slice(&((1_u64 << 40) - 28).to_le_bytes());
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(&header).unwrap();
    let error = read(&path).unwrap_err();
    assert!(matches!(error, FileError::TooLarge { found, .. } if found == 1 << 40));
}

#[test]
fn a_file_is_read_as_it_was_written() {
    use fencepost_checkpoint::{FileError, read};
    let name = format!("fencepost-checkpoint-read-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    assert!(read(&path).unwrap_err().is_not_found());
    write_atomically(&path, |to| to.write_all(&sealed())).unwrap();
    assert_eq!(read(&path).unwrap(), sealed());
    std::fs::write(&path, [&sealed()[..], b"x"].concat()).unwrap();
    let longer = read(&path).unwrap_err();
    assert!(matches!(longer, FileError::Open(OpenError::TrailingBytes)));
    std::fs::write(&path, &sealed()[..sealed().len() - 1]).unwrap();
    let shorter = read(&path).unwrap_err();
    assert!(matches!(shorter, FileError::Open(OpenError::Truncated)));
    std::fs::remove_file(&path).unwrap();
}

#[cfg(unix)]
#[test]
fn leftovers_of_a_killed_process_are_removed() {
    use fencepost_checkpoint::prepare;
    let folder = Folder::new("leftovers");
    let path = folder.0.join("a.checkpoint");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.0.join(name), bytes).unwrap();
    write("a.checkpoint.999999-1.tmp", b"");
    write("a.checkpoint.999999-2.tmp", b"FENC");
    write("a.checkpoint.1-7.tmp", &sealed());
    // Of another checkpoint, not of Fencepost, or not temporary.
    let kept = [
        "a.checkpoint",
        "a.checkpoint.1-.tmp",
        "a.checkpoint.1-2.tmp",
        "a.checkpoint.backup.tmp",
        "b.a.checkpoint.1-3.tmp",
        "b.checkpoint.1-3.tmp",
    ];
    for name in kept {
        write(name, &sealed());
    }
    write("a.checkpoint.1-2.tmp", b"my notes");
    prepare(&path).unwrap();
    assert_eq!(folder.names(), kept);
}

/// Another check must not remove the file that this one is writing.
#[cfg(unix)]
#[test]
fn a_file_that_is_being_written_is_no_leftover() {
    use fencepost_checkpoint::prepare;
    let folder = Folder::new("busy");
    let path = folder.0.join("a.checkpoint");
    write_atomically(&path, |to| {
        to.write_all(&sealed())?;
        to.flush()?;
        prepare(&path).unwrap();
        assert_eq!(folder.names().len(), 1, "{:?}", folder.names());
        Ok(())
    })
    .unwrap();
    assert_eq!(folder.names(), ["a.checkpoint"]);
    assert_eq!(std::fs::read(&path).unwrap(), sealed());
}

#[cfg(unix)]
#[test]
fn writers_and_removers_do_not_disturb_each_other() {
    use fencepost_checkpoint::prepare;
    let folder = Folder::new("both");
    let path = folder.0.join("a.checkpoint");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..100 {
                    prepare(&path).unwrap();
                    write_atomically(&path, |to| to.write_all(&sealed())).unwrap();
                }
            });
        }
    });
    assert_eq!(folder.names(), ["a.checkpoint"]);
}

#[cfg(unix)]
#[test]
fn a_failed_write_says_why_and_keeps_the_old_file() {
    let folder = Folder::new("failing");
    let path = folder.0.join("a.checkpoint");
    write_atomically(&path, |to| to.write_all(&sealed())).unwrap();
    let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
    let error = write_atomically(&path, |_| Err(full)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(std::fs::read(&path).unwrap(), sealed());
    assert_eq!(folder.names(), ["a.checkpoint"]);
    let missing = folder.0.join("missing").join("a.checkpoint");
    let error = write_atomically(&missing, |to| to.write_all(&sealed())).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}
