//! Two threads that each want to enter alone: a lock in the style of Dekker, without fences.
//! Every access to the flags is logged, so that `fencepost monitor` can read the run.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Held while an access happens and is logged: the log has the order of the accesses.
static LOG: Mutex<()> = Mutex::new(());

macro_rules! store {
    ($thread:expr, $variable:ident, $value:expr) => {{
        let _held = LOG.lock().unwrap();
        let value: u32 = $value;
        $variable.store(value, Relaxed);
        let name = stringify!($variable);
        println!("T{} st {name} ={value} @{}:{}", $thread, file!(), line!());
    }};
}

macro_rules! load {
    ($thread:expr, $variable:ident) => {{
        let _held = LOG.lock().unwrap();
        let value = $variable.load(Relaxed);
        let name = stringify!($variable);
        println!("T{} ld {name} ={value} @{}:{}", $thread, file!(), line!());
        value
    }};
}

static FLAG0: AtomicU32 = AtomicU32::new(0);
static FLAG1: AtomicU32 = AtomicU32::new(0);

fn main() {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            store!(0, FLAG0, 1);
            if load!(0, FLAG1) == 0 {
                // Alone in here?
            }
        });
        scope.spawn(|| {
            store!(1, FLAG1, 1);
            if load!(1, FLAG0) == 0 {
                // Alone in here?
            }
        });
    });
}
