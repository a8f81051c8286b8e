//! The programs as closures. The text is the same for all tools; only the paths differ.

/// Defines `body`, which runs a program once with the threads and atomics of a tool. `Arc` and
/// `Program` are to be in scope.
macro_rules! define_body {
    ($thread:path, $atomic:path) => {
        /// Runs the program once.
        fn body(program: Program) {
            use $atomic::{AtomicUsize, Ordering::*};
            use $thread as thread;

            let cells = |count: usize| -> Arc<Vec<AtomicUsize>> {
                Arc::new((0..count).map(|_| AtomicUsize::new(0)).collect())
            };
            let mut handles = Vec::new();
            match program {
                Program::StoreBuffering { threads } => {
                    let cells = cells(threads);
                    for index in 0..threads {
                        let cells = Arc::clone(&cells);
                        handles.push(thread::spawn(move || {
                            cells[index].store(1, Release);
                            cells[(index + 1) % threads].load(Acquire);
                        }));
                    }
                }
                Program::SafeStoreBuffering { threads } => {
                    let cells = cells(threads);
                    for index in 0..threads {
                        let cells = Arc::clone(&cells);
                        handles.push(thread::spawn(move || {
                            cells[index].store(1, SeqCst);
                            cells[(index + 1) % threads].load(SeqCst);
                        }));
                    }
                }
                Program::Counter { threads, additions } => {
                    let cells = cells(1);
                    for _ in 0..threads {
                        let cells = Arc::clone(&cells);
                        handles.push(thread::spawn(move || {
                            for _ in 0..additions {
                                cells[0].fetch_add(1, Relaxed);
                            }
                        }));
                    }
                }
                Program::Readers { readers } => {
                    let cells = cells(1);
                    for index in 0..=readers {
                        let cells = Arc::clone(&cells);
                        handles.push(thread::spawn(move || match index {
                            0 => cells[0].store(1, Release),
                            _ => _ = cells[0].load(Acquire),
                        }));
                    }
                }
                Program::LastZero { elements } => {
                    let array = cells(elements + 1);
                    for index in 0..=elements {
                        let array = Arc::clone(&array);
                        handles.push(thread::spawn(move || {
                            if index == 0 {
                                let mut last = elements;
                                while array[last].load(Acquire) != 0 {
                                    last -= 1;
                                }
                            } else {
                                let left = array[index - 1].load(Acquire);
                                array[index].store(left + 1, Release);
                            }
                        }));
                    }
                }
            }
            for handle in handles {
                handle.join().expect("no thread panics");
            }
        }
    };
}

pub(crate) use define_body;
