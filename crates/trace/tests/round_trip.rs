//! What is written is read again, in every format.

use crate::support;

use fencepost_memory::{Access, Address, LocationId, Operation, Random};
use fencepost_trace::{
    BinaryWriter, Compression, Format, GenerateOptions, Names, OutputFormat, Shape, TextWriter,
    TraceReader, TraceWriter, WriteError,
};
use support::{access, describe, random_trace, read, to_binary, to_bytes, to_text};

#[test]
fn random_traces_survive_every_format() {
    let formats = [Format::Text, Format::Binary];
    let compressions = [Compression::None, Compression::Gzip, Compression::Zstd];
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let events = random.below(600) as usize;
        let (names, accesses) = random_trace(&mut random, events);
        let expected = describe(&names, &accesses);
        for format in formats {
            for compression in compressions {
                let bytes = to_bytes(&names, &accesses, format, compression);
                let (names, accesses) = read(&bytes).unwrap_or_else(|error| {
                    panic!("seed {seed}, {format:?}, {compression:?}: {error}");
                });
                let found = describe(&names, &accesses);
                assert_eq!(found, expected, "seed {seed}, {format:?}, {compression:?}");
            }
        }
    }
}

#[test]
fn binary_keeps_even_the_numbers() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let (names, accesses) = random_trace(&mut random, 300);
        let binary = to_binary(&names, &accesses);
        let (names_again, accesses_again) = read(&binary).unwrap();
        assert_eq!(accesses_again, accesses, "seed {seed}");
        assert_eq!(
            to_binary(&names_again, &accesses_again),
            binary,
            "seed {seed}"
        );
    }
}

#[test]
fn text_to_binary_to_text_changes_nothing() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let (names, accesses) = random_trace(&mut random, 300);
        let text = to_text(&names, &accesses);
        let (names, accesses) = read(&text).unwrap();
        let binary = to_binary(&names, &accesses);
        let (names, accesses) = read(&binary).unwrap();
        assert_eq!(to_text(&names, &accesses), text, "seed {seed}");
    }
}

#[test]
fn names_may_appear_while_writing() {
    let mut names = Names::new();
    let mut text = TextWriter::new(Vec::new());
    let mut binary = BinaryWriter::new(Vec::new());
    let mut expected = Vec::new();
    for number in 0..50_000 {
        let thread = names.thread(number % 1000 * 7).unwrap();
        let address = names.address(&format!("x{number}")).unwrap();
        let mut access = Access::new(thread, Operation::Store(address));
        access.location = Some(names.location(&format!("file.c:{}", number / 2)).unwrap());
        expected.push(access);
        if number % 1000 == 999 {
            let part = &expected[expected.len() - 1000..];
            text.write(&names, part).unwrap();
            binary.write(&names, part).unwrap();
        }
    }
    let expected = describe(&names, &expected);
    for bytes in [text.finish().unwrap(), binary.finish().unwrap()] {
        let (names, accesses) = read(&bytes).unwrap();
        assert_eq!(describe(&names, &accesses), expected);
    }
}

#[test]
fn long_traces_of_every_shape_survive() {
    for shape in Shape::ALL {
        let options = GenerateOptions {
            threads: 200,
            addresses: 40_000,
            events: 200_000,
            shape,
            ..GenerateOptions::default()
        };
        let accesses: Vec<Access> = options.generate().unwrap().collect();
        let binary = to_binary(&options.names(), &accesses);
        let (names, accesses_again) = read(&binary).unwrap();
        assert_eq!(accesses_again, accesses, "{shape}");
        assert_eq!(names.address_count(), 40_000);
        let text = to_text(&options.names(), &accesses);
        let (text_names, text_accesses) = read(&text).unwrap();
        let expected = describe(&names, &accesses);
        assert_eq!(describe(&text_names, &text_accesses), expected, "{shape}");
    }
}

#[test]
fn an_empty_trace_is_a_trace() {
    for format in [Format::Text, Format::Binary] {
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            let bytes = to_bytes(&Names::new(), &[], format, compression);
            assert_eq!(read(&bytes).unwrap().1, []);
        }
    }
}

#[test]
fn the_name_of_a_file_chooses_the_format() {
    use Compression::{Gzip, None, Zstd};
    let cases = [
        ("run.fpt", Format::Binary, None),
        ("run.FPT", Format::Binary, None),
        ("/tmp/a.b/run.fpt.gz", Format::Binary, Gzip),
        ("run.fpt.zst", Format::Binary, Zstd),
        ("run.trace", Format::Text, None),
        ("run", Format::Text, None),
        ("run.gz", Format::Text, Gzip),
        ("run.txt.zst", Format::Text, Zstd),
        ("fpt", Format::Text, None),
        ("-", Format::Text, None),
    ];
    for (path, format, compression) in cases {
        let chosen = OutputFormat::of_path(path.as_ref()).unwrap();
        let expected = OutputFormat {
            format,
            compression,
        };
        assert_eq!(chosen, expected, "{path}");
    }
    let refused = OutputFormat::of_path("run.fpt.xz".as_ref()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "cannot write run.fpt.xz: `.xz` files are not supported; use `.gz`, `.zst` or no \
         compression"
    );
}

#[test]
fn files_are_written_and_read_by_name() {
    let folder = std::env::temp_dir().join(format!("fencepost-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (names, accesses) = random_trace(&mut Random::new(5), 500);
    for name in ["a.fpt", "a.fpt.gz", "a.fpt.zst", "a.txt", "a.gz", "a.zst"] {
        let path = folder.join(name);
        let mut writer = TraceWriter::create(&path).unwrap();
        writer.write(&names, &accesses).unwrap();
        writer.finish().unwrap();
        let mut reader = TraceReader::open_path(&path, &Default::default()).unwrap();
        let asked = OutputFormat::of_path(&path).unwrap();
        assert_eq!(
            (reader.format(), reader.compression()),
            (asked.format, asked.compression)
        );
        let again = reader.read_to_end().unwrap();
        assert_eq!(
            reader.bytes_consumed(),
            std::fs::metadata(&path).unwrap().len()
        );
        assert!(reader.memory() >= reader.names().memory());
        assert_eq!(
            describe(reader.names(), &again),
            describe(&names, &accesses),
            "{name}"
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let Err(error) = TraceWriter::create("/no/such/folder/a.fpt".as_ref()) else {
        panic!("created a file in no folder");
    };
    assert_eq!(
        error.to_string(),
        "cannot create /no/such/folder/a.fpt: No such file or directory (os error 2)"
    );
}

#[test]
fn what_no_reader_accepts_is_not_written() {
    let mut names = Names::new();
    names.thread(0).unwrap();
    names.address("x").unwrap();
    let good = access(0, Operation::Load(Address(0)));
    let mut valued_fence = access(0, Operation::Fence);
    valued_fence.value = Some(1);
    let mut elsewhere = good;
    elsewhere.location = Some(LocationId::from_index(0));
    let cases = [
        (
            access(1, Operation::Fence),
            "event 2 uses thread number 1, but there are only 1",
        ),
        (
            access(0, Operation::Load(Address(7))),
            "event 2 uses address number 7, but there are only 1",
        ),
        (
            elsewhere,
            "event 2 uses location number 0, but there are only 0",
        ),
        (valued_fence, "event 2 has a value but no address"),
    ];
    for (bad, expected) in cases {
        let text = TextWriter::new(Vec::new()).write(&names, &[good, bad]);
        let binary = BinaryWriter::new(Vec::new()).write(&names, &[good, bad]);
        assert_eq!(text.unwrap_err().to_string(), expected);
        assert_eq!(binary.unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_failing_output_is_reported() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for name in ["a.fpt", "a.txt", "a.gz", "a.zst"] {
        let format = OutputFormat::of_path(name.as_ref()).unwrap();
        let writer = TraceWriter::new(Closed, format);
        let error: WriteError = writer.finish().unwrap_err();
        assert!(error.is_broken_pipe());
        assert_eq!(error.to_string(), "cannot write the trace: broken pipe");
    }
}
