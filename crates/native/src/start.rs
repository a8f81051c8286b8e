//! From the start of the program to the end of its check.

use std::ffi::{c_char, c_int, c_void};
use std::io::Write;
use std::sync::Arc;

use fencepost_check::{Checker, Finding, ForeignProgram, Outcome};
use fencepost_report::check::{program_output, program_output_json, unseen_instructions};
use fencepost_runtime::{ForeignCode, LocationRef, SourceLocation};
use rustc_hash::FxHashMap;

use crate::blocks::Layout;
use crate::image::Image;
use crate::locals::Keys;
use crate::objects::{self, is_of_program};
use crate::output::Output;
use crate::real::{self, Main};
use crate::state::{self, Program, State};
use crate::symbols::Symbols;
use crate::{accesses, assembly, atomics, failures, leaks, locks, memory, threads, world};

/// The variable that asks for a check: `text` or `json`.
pub(crate) const REQUEST: &str = "FENCEPOST_NATIVE";

/// The variable that says whether races are errors: `error` or `allow`.
const RACES: &str = "FENCEPOST_RACES";

/// The start of every program. The C library calls `main` through it; in a check, that is ours.
///
/// # Safety
/// Only the start-up code of the program calls it.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: Option<unsafe extern "C" fn()>,
    fini: Option<unsafe extern "C" fn()>,
    rtld_fini: Option<unsafe extern "C" fn()>,
    stack_end: *mut c_void,
) -> c_int {
    let main = match std::env::var_os(REQUEST) {
        None => main,
        Some(_) => {
            // SAFETY: the arguments are those of the process.
            unsafe { start_without_randomisation(argv) };
            MAIN.store(main as *mut (), std::sync::atomic::Ordering::Relaxed);
            check
        }
    };
    // SAFETY: the arguments are passed on; `check` has the type of `main`.
    unsafe { real::__libc_start_main(main, argc, argv, init, fini, rtld_fini, stack_end) }
}

static MAIN: std::sync::atomic::AtomicPtr<()> =
    std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());

/// Starts the program again with the same addresses as in every other check, unless it has them or the system does not let it:
/// a schedule must mean the same execution every time.
///
/// # Safety
/// The arguments must be those of the process.
unsafe fn start_without_randomisation(argv: *mut *mut c_char) {
    const ASK: libc::c_ulong = 0xffff_ffff;
    let fixed = libc::ADDR_NO_RANDOMIZE;
    // SAFETY: it has no preconditions.
    let flags = unsafe { libc::personality(ASK) };
    if flags == -1 || flags & fixed != 0 {
        return;
    }
    // SAFETY: as above.
    let is_set = unsafe {
        libc::personality((flags | fixed) as libc::c_ulong) != -1
            && libc::personality(ASK) & fixed != 0
    };
    if is_set {
        // It returns only if it fails.
        // SAFETY: the promise of the caller; the environment is that of the process.
        unsafe { libc::execve(c"/proc/self/exe".as_ptr(), argv.cast(), environ.cast()) };
    }
}

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// What is called instead of `main`.
unsafe extern "C" fn check(argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) -> c_int {
    let main = MAIN.load(std::sync::atomic::Ordering::Relaxed);
    // SAFETY: it was stored as a function of this type.
    let main: Main = unsafe { std::mem::transmute(main) };
    if !world::is_supported() {
        refuse("this machine lets no program change its thread pointer (FSGSBASE)");
    }
    let program = Program {
        main,
        argc,
        argv,
        envp,
    };
    let location = prepare(program);
    refuse_assembly();
    let allows_races = are_races_allowed();
    if allows_races {
        accesses::make_operations();
    }
    let code = ForeignCode {
        leave: world::leave_interrupted,
        location: |instruction| {
            let returns_to = atomics::touching(instruction).unwrap_or(instruction + 1);
            state::state().location(returns_to)
        },
        leaked_blocks: leaks::leaked_blocks,
    };
    code.register();
    let is_json = std::env::var_os(REQUEST).is_some_and(|format| format == "json");
    let checker = Checker::new().stack_size(threads::STACK_SIZE);
    std::panic::set_hook(Box::new(print_refusal));
    let program = || ForeignProgram {
        allows_races,
        ..foreign(location)
    };
    let run = || program().run(&checker);
    let Ok(outcome) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) else {
        // What is wrong has been printed: a setting, or the checkpoint file.
        exit_process(2);
    };
    let replayable = outcome.findings().first();
    let replayable = replayable.filter(|finding| !finding.schedule().is_empty());
    let output = replayable.and_then(|finding| {
        let replayed = program().replay(&checker, finding.schedule());
        let output = state::state().output.take();
        (replayed.has_failed() && !output.is_empty()).then_some(output)
    });
    print(&outcome, output, is_json);
    exit_process(match &outcome {
        Outcome::Verified(_) => 0,
        _ if outcome.findings().iter().any(Finding::prevents_check) => 2,
        Outcome::ProgramError(_) | Outcome::NotStoreBufferSafe(_) => 1,
        _ => 3,
    })
}

/// Captures the program before it runs. Returns the location of its `main`.
fn prepare(program: Program) -> LocationRef {
    let main = program.main;
    memory::seal();
    // What the C library allocates for this is not the program's.
    real::find_all();
    failures::prepare();
    let image = Image::capture(|path| !is_of_program(path));
    let symbols = Symbols::default();
    let executable = image.objects().first();
    let loaded = executable.map_or(&[][..], |object| &object.loaded);
    let start = loaded.iter().map(|range| range.start).min();
    let end = loaded.iter().map(|range| range.end).max();
    let code = start.unwrap_or(0)..end.unwrap_or(0);
    let location = LocationRef::leaked(SourceLocation::new("main", 0, 0));
    state::install(State {
        symbols,
        code,
        program,
        execution: 0,
        layout: Layout::of_this_process(),
        blocks: Vec::new(),
        threads: Vec::new(),
        objects: FxHashMap::default(),
        locks: locks::Known::default(),
        keys: Keys::default(),
        locations: FxHashMap::default(),
        unwinder: objects::unwinder(),
        main_location: location,
        has_overlaps: false,
        has_exited: false,
        image,
        output: Output::capture(),
        first_base: world::thread_pointer(),
    });
    let mut state = state::state();
    // The first instruction of `main`, as if a call returned behind it.
    let location = state.location(main as usize + 1);
    state.main_location = location;
    location
}

/// Whether races on memory are no errors, as the user says.
fn are_races_allowed() -> bool {
    match std::env::var(RACES).as_deref() {
        Ok("allow") => true,
        Err(std::env::VarError::NotPresent) | Ok("error") => false,
        _ => refuse("FENCEPOST_RACES is `error` or `allow`"),
    }
}

/// Prints the result, and what the program has printed in the execution that is shown.
fn print(outcome: &Outcome, output: Option<String>, is_json: bool) {
    let mut stream = anstream::stdout().lock();
    let _ = match is_json {
        true => writeln!(stream, "{}", outcome.json()),
        false => writeln!(stream, "{}", outcome.report().trim_end()),
    };
    if let Some(output) = output {
        let _ = match is_json {
            true => writeln!(stream, "{}", program_output_json(&output)),
            false => write!(stream, "{}", program_output(&output)),
        };
    }
    let _ = stream.flush();
}

/// Prints why there is no check. Only a bug in Fencepost has a place in its source, shown with `RUST_BACKTRACE`.
fn print_refusal(panic: &std::panic::PanicHookInfo<'_>) {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    eprintln!("error: {}", text.unwrap_or("the check has failed"));
    if let Some(location) = panic
        .location()
        .filter(|_| std::env::var_os("RUST_BACKTRACE").is_some())
    {
        eprintln!("  at {location}");
    }
}

/// The program, for a check.
fn foreign(location: LocationRef) -> ForeignProgram {
    ForeignProgram {
        program: Arc::new(run_execution),
        location,
        allows_races: false,
        command: std::env::var("FENCEPOST_COMMAND").unwrap_or_else(|_| "fencepost run".to_owned()),
    }
}

/// Ends the process if there are instructions in the program that a check would not see.
fn refuse_assembly() {
    let mut state = state::state();
    let code = state.image.objects().first();
    let code = code.map_or_else(Vec::new, |object| object.code.clone());
    // SAFETY: the code of the executable stays mapped.
    let unseen = code
        .iter()
        .flat_map(|code| unsafe { assembly::unseen(code) });
    let unseen: Vec<_> = unseen.collect();
    if unseen.is_empty() {
        return;
    }
    let places = unseen.iter().map(|instruction| {
        let location = state.location(instruction.returns_to);
        let place = match location.line() {
            0 => location.file().to_owned(),
            line => format!("{}:{line}", location.file()),
        };
        (instruction.name.clone(), place)
    });
    let places: Vec<_> = places.collect();
    drop(state);
    refuse(&unseen_instructions(&places))
}

/// Ends the process, since the program cannot be checked.
pub(crate) fn refuse(why: &str) -> ! {
    eprintln!("error: {why}");
    exit_process(2)
}

/// Ends the process at once: destructors of the program would find its memory as an execution has left it.
fn exit_process(code: c_int) -> ! {
    // Who watches the process must not take the end of the program for a result.
    let is_watched = std::env::var_os("FENCEPOST_WATCHED").is_some();
    let code = if is_watched { 160 + code } else { code };
    // SAFETY: it has no preconditions.
    unsafe { libc::_exit(code) }
}

/// One execution: the function of its first thread.
fn run_execution() {
    accesses::forget();
    memory::heap().begin_execution();
    {
        let mut state = state::state();
        state.execution += 1;
        state.image.restore();
        state.output.begin_execution();
    }
    threads::run_main();
}
