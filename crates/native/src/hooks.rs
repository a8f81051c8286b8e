//! What every function that the program calls begins with.

/// Declares functions of the program's binary interface. Each finds out where it returns to, which says which operation of
/// the source it is, clears the stack below the frame of the program if states are compared, and goes on in a Rust function
/// that has this address as one more parameter.
///
/// It is assembly because only the first instructions of a function know where it returns to, and since a frame of its own
/// would be below that of the program, with whatever was there before.
macro_rules! hook {
    (@register) => { "rdi" };
    (@register $a:ident) => { "rsi" };
    (@register $a:ident $b:ident) => { "rdx" };
    (@register $a:ident $b:ident $c:ident) => { "rcx" };
    (@register $a:ident $b:ident $c:ident $d:ident) => { "r8" };
    (@register $a:ident $b:ident $c:ident $d:ident $e:ident) => { "r9" };
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? = $implementation:path;)*) => {
        $(
            /// Called by the program.
            ///
            /// # Safety
            /// As of the function of this name.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                // It has these parameters.
                const _: unsafe extern "C" fn($($type,)* usize) $(-> $result)? = $implementation;
                std::arch::naked_asm!(
                    "cmp byte ptr [rip + {clears}], 0",
                    "jne 3f",
                    "2:",
                    concat!("mov ", $crate::hooks::hook!(@register $($argument)*), ", qword ptr [rsp]"),
                    "jmp {implementation}",
                    "3:",
                    "lea rax, [rsp - 4096]",
                    "pxor xmm15, xmm15",
                    "4:",
                    "movups xmmword ptr [rax], xmm15",
                    "add rax, 16",
                    "cmp rax, rsp",
                    "jb 4b",
                    "jmp 2b",
                    clears = sym $crate::operations::CLEARS_STACK,
                    implementation = sym $implementation,
                );
            }
        )*
    };
}

/// Declares functions of the program's binary interface that do nothing.
macro_rules! ignored {
    ($($name:ident;)*) => {
        $(
            /// Called by the program, for nothing.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            pub extern "C" fn $name() {
                std::arch::naked_asm!("ret");
            }
        )*
    };
}

pub(crate) use {hook, ignored};
