//! How fast traces are generated, written and read: `cargo bench --profile dist -p fencepost-trace`.
//!
//! Every line is the best of several passes in one run, beside the cost of copying
//! the decoded accesses, which is the least that any reader could do.

use std::io::{self, Cursor};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fencepost_memory::Access;
use fencepost_trace::{
    BinaryWriter, Compression, Format, GenerateOptions, OutputFormat, Shape, TextWriter,
    TraceReader, TraceWriter,
};

const PASSES: usize = 5;

fn main() {
    // `cargo test` runs benchmarks too, but wants no measurements.
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let events = if measuring { 10_000_000 } else { 10_000 };
    for (threads, addresses) in [(4, 64), (4, 10_000), (64, 1_000_000)] {
        println!("{threads} threads, {addresses} addresses, {events} events; ns per event");
        measure(&GenerateOptions {
            threads,
            addresses,
            events,
            ..GenerateOptions::default()
        });
    }
}

fn measure(options: &GenerateOptions) {
    let report = |what: &str, time: Duration| {
        let nanoseconds = time.as_nanos() as f64 / options.events as f64;
        println!("  {what:<28} {nanoseconds:7.2}");
    };
    for shape in Shape::ALL {
        let options = GenerateOptions {
            shape,
            ..options.clone()
        };
        let time = best(|| {
            let mut generator = options.generate().expect("sensible options");
            let mut batch = Vec::new();
            let mut sum = 0;
            while generator.next_batch(&mut batch) {
                sum += checksum(&batch);
            }
            sum
        });
        report(&format!("generate {shape}"), time);
    }

    let names = options.names();
    let trace: Vec<Access> = options.generate().expect("sensible options").collect();
    let time = best(|| {
        let mut batch = Vec::new();
        let mut sum = 0;
        for part in trace.chunks(fencepost_trace::BATCH_LENGTH) {
            batch.clear();
            batch.extend_from_slice(part);
            sum += checksum(&batch);
        }
        sum
    });
    report("copy accesses (baseline)", time);

    let mut binary = Vec::new();
    let time = best(|| {
        let mut writer = BinaryWriter::new(Vec::with_capacity(trace.len() * 6));
        writer.write(&names, &trace).expect("valid accesses");
        binary = writer.finish().expect("writing to memory");
        binary.len() as u64
    });
    report("write binary", time);
    let binary: Arc<[u8]> = binary.into();
    report("read binary", best(|| read(&binary)));

    let with_values: Vec<Access> = {
        let mut access_value = 0;
        trace
            .iter()
            .map(|&access| {
                let mut access = access;
                if access.operation.writes() {
                    access_value += 1;
                    access.value = Some(access_value % 100);
                }
                access
            })
            .collect()
    };
    let mut writer = BinaryWriter::new(Vec::new());
    writer.write(&names, &with_values).expect("valid accesses");
    let valued: Arc<[u8]> = writer.finish().expect("writing to memory").into();
    report("read binary with values", best(|| read(&valued)));

    let mut text = Vec::new();
    let time = best(|| {
        let mut writer = TextWriter::new(Vec::with_capacity(trace.len() * 12));
        writer.write(&names, &trace).expect("valid accesses");
        text = writer.finish().expect("writing to memory");
        text.len() as u64
    });
    report("write text", time);
    let text: Arc<[u8]> = text.into();
    report("read text", best(|| read(&text)));

    for compression in [Compression::Gzip, Compression::Zstd] {
        let shared = SharedOutput::default();
        let format = OutputFormat {
            format: Format::Binary,
            compression,
        };
        let started = Instant::now();
        let mut writer = TraceWriter::new(shared.clone(), format);
        writer.write(&names, &trace).expect("valid accesses");
        writer.finish().expect("writing to memory");
        let time = started.elapsed();
        let bytes: Arc<[u8]> = shared.0.lock().expect("not poisoned").as_slice().into();
        let percent = 100 * bytes.len() / binary.len();
        report(&format!("write {compression:?} ({percent} %)"), time);
        report(&format!("read {compression:?}"), best(|| read(&bytes)));
    }
}

#[derive(Clone, Default)]
struct SharedOutput(Arc<Mutex<Vec<u8>>>);

impl io::Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("not poisoned").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn read(bytes: &Arc<[u8]>) -> u64 {
    let mut reader = TraceReader::open(Cursor::new(bytes.clone())).expect("a trace");
    let mut batch = Vec::new();
    let mut sum = 0;
    while reader.next_batch(&mut batch).expect("a valid trace") {
        sum += checksum(&batch);
    }
    sum
}

/// Looks at every access, so that none is optimised away.
fn checksum(batch: &[Access]) -> u64 {
    let threads = batch.iter().map(|access| u64::from(access.thread.0));
    threads.sum()
}

fn best(mut pass: impl FnMut() -> u64) -> Duration {
    let mut fastest = Duration::MAX;
    for _ in 0..PASSES {
        let started = Instant::now();
        std::hint::black_box(pass());
        fastest = fastest.min(started.elapsed());
    }
    fastest
}
