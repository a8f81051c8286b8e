//! What every function that the program calls begins with.

/// Clears the stack below the stack pointer, as far as the frames of Fencepost's functions go. Changes this register and `xmm15`.
macro_rules! clear_below {
    ($register:literal) => {
        concat!(
            "lea ",
            $register,
            ", [rsp - 4096]\n",
            "pxor xmm15, xmm15\n",
            "9:\n",
            "movups xmmword ptr [",
            $register,
            "], xmm15\n",
            "add ",
            $register,
            ", 16\n",
            "cmp ",
            $register,
            ", rsp\n",
            "jb 9b",
        )
    };
}

/// Declares functions of the program's binary interface. Each finds out where it returns to, which says which operation of
/// the source it is, clears the stack below the frame of the program if states are compared, and continues in a Rust function
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
        $crate::hooks::hook! {
            after $crate::hooks::nothing;
            $(fn $name($($argument: $type),*) $(-> $result)? = $implementation;)*
        }
    };
    // If states are compared, another function is called first, with the first argument and the address of return. What it looks
    // up need not be looked up then: so what the implementation leaves in its own frame does not depend on whether another
    // thread has been here before.
    (
        after $first:path;
        $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? = $implementation:path;)*
    ) => {
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
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "push rcx",
                    "push r8",
                    "mov rsi, qword ptr [rsp + 40]",
                    "call {first}",
                    "pop r8",
                    "pop rcx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    $crate::hooks::clear_below!("rax"),
                    concat!("mov ", $crate::hooks::hook!(@register $($argument)*), ", qword ptr [rsp]"),
                    "push 0",
                    "call {implementation}",
                    // The program may have its next frame where those of the implementation were.
                    $crate::hooks::clear_below!("rcx"),
                    "add rsp, 8",
                    "ret",
                    clears = sym $crate::operations::CLEARS_STACK,
                    first = sym $first,
                    implementation = sym $implementation,
                );
            }
        )*
    };
}

/// Nothing is looked up.
#[unsafe(naked)]
pub(crate) extern "C" fn nothing() {
    std::arch::naked_asm!("ret")
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

/// Declares functions that are those of the library behind this one, unless a thread of a checked program calls them. Then
/// each continues in a Rust function, as those of [`hook`] do.
macro_rules! look_alike {
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
                const _: unsafe extern "C-unwind" fn($($type,)* usize) $(-> $result)? = $implementation;
                static REAL: $crate::real::Behind = $crate::real::Behind::unknown();
                static NAME: &$crate::real::Name<{ stringify!($name).len() + 1 }> =
                    &$crate::real::name(stringify!($name));
                $crate::real::sought!(std::ptr::from_ref(NAME).cast(), REAL.cache());
                std::arch::naked_asm!(
                    "mov r11, qword ptr [rip + fencepost_native_home@GOTTPOFF]",
                    "cmp qword ptr fs:[r11], 0",
                    "je 5f",
                    "cmp byte ptr [rip + {clears}], 0",
                    "jne 3f",
                    "2:",
                    concat!("mov ", $crate::hooks::hook!(@register $($argument)*), ", qword ptr [rsp]"),
                    "jmp {implementation}",
                    "3:",
                    $crate::hooks::clear_below!("rax"),
                    "jmp 2b",
                    $crate::hooks::look_alike!(@behind),
                    clears = sym $crate::operations::CLEARS_STACK,
                    implementation = sym $implementation,
                    real = sym REAL,
                    name = sym NAME,
                    find = sym $crate::real::find_behind,
                );
            }
        )*
    };
    // Continues in the function of the library behind this one, with all arguments as they are.
    (@behind) => {
        "5:
        mov r11, qword ptr [rip + {real}]
        test r11, r11
        jne 6f
        push rdi
        push rsi
        push rdx
        push rcx
        push r8
        push r9
        push rax
        mov rdi, qword ptr [rip + {name}]
        lea rsi, [rip + {real}]
        call {find}
        mov r11, rax
        pop rax
        pop r9
        pop r8
        pop rcx
        pop rdx
        pop rsi
        pop rdi
        6:
        jmp r11"
    };
}

/// Declares functions that a checked program must not call, each with what is said about it.
macro_rules! refused {
    ($($name:ident $why:literal;)*) => {
        $(
            /// Called by the program, if it is not checked.
            ///
            /// # Safety
            /// As of the function of this name.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                static REAL: $crate::real::Behind = $crate::real::Behind::unknown();
                static NAME: &$crate::real::Name<{ stringify!($name).len() + 1 }> =
                    &$crate::real::name(stringify!($name));
                $crate::real::sought!(std::ptr::from_ref(NAME).cast(), REAL.cache());
                extern "C-unwind" fn refuse(returns_to: usize) -> ! {
                    $crate::refused::refuse(stringify!($name), $why, returns_to)
                }
                std::arch::naked_asm!(
                    "mov r11, qword ptr [rip + fencepost_native_home@GOTTPOFF]",
                    "cmp qword ptr fs:[r11], 0",
                    "je 5f",
                    "mov rdi, qword ptr [rsp]",
                    "jmp {refuse}",
                    $crate::hooks::look_alike!(@behind),
                    refuse = sym refuse,
                    real = sym REAL,
                    name = sym NAME,
                    find = sym $crate::real::find_behind,
                );
            }
        )*
    };
}

pub(crate) use {clear_below, hook, ignored, look_alike, refused};
