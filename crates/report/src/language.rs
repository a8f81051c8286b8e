//! The language of a checked program, in whose words its report is.

use std::path::Path;

use crate::check::FenceOrdering;

/// The language of a checked program, and how its users change settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProgramLanguage {
    /// Rust: settings are methods of `Checker` and environment variables.
    #[default]
    Rust,
    /// C and C++: settings are options of the command. What is said of a place in a C++ file is said in C++.
    C,
}

/// The language of a source file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dialect {
    Rust,
    C,
    Cpp,
}

/// Extensions of files that are C++ and not C.
const CPP_EXTENSIONS: [&str; 12] = [
    "cc", "cpp", "cxx", "c++", "C", "hh", "hpp", "hxx", "h++", "ipp", "tpp", "tcc",
];

impl ProgramLanguage {
    fn dialect(self, file: Option<&str>) -> Dialect {
        let extension = file.and_then(|file| Path::new(file).extension()?.to_str());
        match (self, extension) {
            (ProgramLanguage::Rust, _) => Dialect::Rust,
            (ProgramLanguage::C, Some(extension)) if CPP_EXTENSIONS.contains(&extension) => {
                Dialect::Cpp
            }
            // The headers of the C++ library, most of which have no extension.
            (ProgramLanguage::C, _) if file.is_some_and(|file| file.contains("/c++/")) => {
                Dialect::Cpp
            }
            (ProgramLanguage::C, _) => Dialect::C,
        }
    }

    /// A fence as code of this file: `fence(Ordering::SeqCst)`.
    pub fn fence(self, fence: FenceOrdering, file: Option<&str>) -> &'static str {
        match (self.dialect(file), fence) {
            (Dialect::Rust, FenceOrdering::Release) => "fence(Ordering::Release)",
            (Dialect::Rust, FenceOrdering::SeqCst) => "fence(Ordering::SeqCst)",
            (Dialect::C, FenceOrdering::Release) => "atomic_thread_fence(memory_order_release)",
            (Dialect::C, FenceOrdering::SeqCst) => "atomic_thread_fence(memory_order_seq_cst)",
            (Dialect::Cpp, FenceOrdering::Release) => {
                "std::atomic_thread_fence(std::memory_order_release)"
            }
            (Dialect::Cpp, FenceOrdering::SeqCst) => {
                "std::atomic_thread_fence(std::memory_order_seq_cst)"
            }
        }
    }

    /// The ordering of an access as code of this file: `Ordering::SeqCst`.
    pub fn ordering(self, ordering: FenceOrdering, file: Option<&str>) -> &'static str {
        match (self.dialect(file), ordering) {
            (Dialect::Rust, FenceOrdering::Release) => "Ordering::Release",
            (Dialect::Rust, FenceOrdering::SeqCst) => "Ordering::SeqCst",
            (Dialect::C, FenceOrdering::Release) => "memory_order_release",
            (Dialect::C, FenceOrdering::SeqCst) => "memory_order_seq_cst",
            (Dialect::Cpp, FenceOrdering::Release) => "std::memory_order_release",
            (Dialect::Cpp, FenceOrdering::SeqCst) => "std::memory_order_seq_cst",
        }
    }

    /// The name of an ordering, without what is before it: `SeqCst`.
    pub fn short_ordering(self, ordering: FenceOrdering) -> &'static str {
        match (self, ordering) {
            (ProgramLanguage::Rust, ordering) => ordering.name(),
            (ProgramLanguage::C, FenceOrdering::Release) => "release",
            (ProgramLanguage::C, FenceOrdering::SeqCst) => "seq_cst",
        }
    }

    /// A setting as users change it, by the name of its method: `max_steps`, or `--max-steps`.
    pub fn setting(self, method: &str) -> String {
        match self {
            ProgramLanguage::Rust => method.to_owned(),
            ProgramLanguage::C => format!("--{}", method.replace('_', "-")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_and_orderings_are_code_of_the_file() {
        let seq_cst = |language: ProgramLanguage, file| {
            let ordering = FenceOrdering::SeqCst;
            (
                language.fence(ordering, file),
                language.ordering(ordering, file),
            )
        };
        let c = (
            "atomic_thread_fence(memory_order_seq_cst)",
            "memory_order_seq_cst",
        );
        let cpp = (
            "std::atomic_thread_fence(std::memory_order_seq_cst)",
            "std::memory_order_seq_cst",
        );
        for file in [None, Some("queue.c"), Some("queue.h"), Some("main")] {
            assert_eq!(seq_cst(ProgramLanguage::C, file), c, "{file:?}");
        }
        for file in [
            "a/queue.cc",
            "queue.cpp",
            "queue.hpp",
            "queue.C",
            "/usr/include/c++/12/atomic",
        ] {
            assert_eq!(seq_cst(ProgramLanguage::C, Some(file)), cpp, "{file:?}");
        }
        let rust = ("fence(Ordering::SeqCst)", "Ordering::SeqCst");
        assert_eq!(seq_cst(ProgramLanguage::Rust, Some("queue.cc")), rust);
        let release = FenceOrdering::Release;
        assert_eq!(
            ProgramLanguage::C.fence(release, Some("a.c")),
            "atomic_thread_fence(memory_order_release)"
        );
    }

    #[test]
    fn settings_are_options_of_the_command() {
        let setting = |language: ProgramLanguage| language.setting("continue_after_failure");
        assert_eq!(setting(ProgramLanguage::Rust), "continue_after_failure");
        assert_eq!(setting(ProgramLanguage::C), "--continue-after-failure");
    }
}
