//! The bytes of instructions, disassembled again.

use fencepost_hardware::{Refusal, listing};
use fencepost_litmus::generate::{Shape, random_test};
use fencepost_litmus::test::{Architecture, Test};
use fencepost_memory::Random;
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter};

use crate::common::read;

fn disassemble(bytes: &[u8], offset: u64) -> Instruction {
    let mut decoder = Decoder::with_ip(64, bytes, offset, DecoderOptions::NONE);
    let instruction = decoder.decode();
    assert!(!instruction.is_invalid(), "{bytes:02x?}");
    assert!(
        !decoder.can_decode(),
        "one instruction is one: {bytes:02x?}"
    );
    instruction
}

fn text(instruction: &Instruction) -> String {
    let mut text = String::new();
    IntelFormatter::new().format(instruction, &mut text);
    text
}

/// The first instruction of the first thread, with `x`, `y` and the array `z` in a row.
fn encoded(architecture: &str, init: &str, instruction: &str) -> String {
    let test = read(&format!(
        "{architecture} T\n{{ {init} }}\n P0 ;\n {instruction} ;\n L: NOP ;\n"
    ));
    let listed = listing(&test).unwrap_or_else(|refusal| panic!("{instruction}: {refusal}"));
    text(&disassemble(&listed[0].bytes, listed[0].offset))
}

#[test]
fn instructions_of_x86_are_themselves() {
    let is = |instruction: &str, expected: &str| {
        assert_eq!(
            encoded("X86", "x; y; int z[4]; ", instruction),
            expected,
            "{instruction}"
        );
    };
    is("MOV [x],$1", "mov dword ptr [rdi],1");
    is("MOV EAX,[y]", "mov eax,[rdi+40h]");
    is("MOV [x],EAX", "mov [rdi],eax");
    is("MOVB [x],EAX", "mov [rdi],al");
    is("MOVW [x],$-1", "mov word ptr [rdi],0FFFFh");
    is("MOV ESI,$-2", "mov esi,0FFFFFFFEh");
    is("MOV EAX,[z+8]", "mov eax,[rdi+88h]");
    is("MOV EAX,[EBX]", "mov eax,[ebx]");
    is("MOV EAX,[EBX-4]", "mov eax,[ebx-4]");
    is("ADD [x],$3", "add dword ptr [rdi],3");
    is("ADD EAX,[x]", "add eax,[rdi]");
    is("SUB [x],EBX", "sub [rdi],ebx");
    is("AND EAX,EBX", "and eax,ebx");
    is("OR EAX,$8", "or eax,8");
    is("XOR EAX,EAX", "xor eax,eax");
    is("CMP [x],$1", "cmp dword ptr [rdi],1");
    is("CMP EAX,[x]", "cmp eax,[rdi]");
    is("TEST EAX,[x]", "test [rdi],eax");
    is("TEST [x],$2", "test dword ptr [rdi],2");
    is("LOCK INC [x]", "lock inc dword ptr [rdi]");
    is("DEC [x]", "dec dword ptr [rdi]");
    is("NOT EAX", "not eax");
    is("LOCK NEG [x]", "lock neg dword ptr [rdi]");
    is("XCHG [x],EAX", "xchg [rdi],eax");
    is("LOCK XCHG [x],EAX", "lock xchg [rdi],eax");
    is("XADD [x],EAX", "xadd [rdi],eax");
    is("LOCK CMPXCHG [x],EBX", "lock cmpxchg [rdi],ebx");
    is("CMOVNE EAX,[x]", "cmovne eax,[rdi]");
    is("SETL AL", "setl al");
    is("SETG [x]", "setg [rdi]");
    is("MFENCE", "mfence");
    is("SFENCE", "sfence");
    is("LFENCE", "lfence");
    is("NOP", "nop");
    is("PAUSE", "pause");
}

#[test]
fn instructions_of_x86_64_are_themselves() {
    let is = |instruction: &str, expected: &str| {
        assert_eq!(
            encoded("X86_64", "int64_t x; y; int z[4];", instruction),
            expected,
            "{instruction}"
        );
    };
    is("movq $-1,(x)", "mov qword ptr [rdi],0FFFFFFFFFFFFFFFFh");
    is("movq (x),%r9", "mov r9,[rdi]");
    is("movl $1,(y)", "mov dword ptr [rdi+40h],1");
    is("movq $81985529216486895,%rax", "mov rax,123456789ABCDEFh");
    is("movq $5,%rax", "mov rax,5");
    is("movb %ah,(y)", "mov [rdi+40h],ah");
    is("movb %r8b,%sil", "mov sil,r8b");
    is("shlq %cl,(x)", "shl qword ptr [rdi],cl");
    is("shlq $3,%rax", "shl rax,3");
    is("shl %eax", "shl eax,1");
    is("movl 4(%rbx,%rcx,4),%eax", "mov eax,[rbx+rcx*4+4]");
    assert_eq!(
        encoded("X86_64", "int z[4];", "movl z(%rax),%ebx"),
        "mov ebx,[rax+rdi]"
    );
    // It could reach another location: all are where the model has them.
    is("movl z(%rax),%ebx", "mov ebx,[rax+10000080h]");
    is("lock xaddq %rbx,(x)", "lock xadd [rdi],rbx");
    is("lock; addl $1,(y)", "lock add dword ptr [rdi+40h],1");
    is("cmpxchgq %rbx,(x)", "cmpxchg [rdi],rbx");
    is("cmovll %ebx,%eax", "cmovl eax,ebx");
    is("xchgw %ax,%bx", "xchg bx,ax");
    is("negb %dil", "neg dil");
}

#[test]
fn locations_are_where_the_model_has_them_if_addresses_are_numbers() {
    let address = |instruction: &str| encoded("X86_64", "int64_t x; y;", instruction);
    let test = read("X86_64 T\n{ int64_t x; y; }\n P0 ;\n movq $x,%rax ;\n");
    let x = test.cells[0].address;
    assert_eq!(address("movq $x,%rax"), format!("mov rax,{x:X}h"));
    assert_eq!(
        address("movq $x,(x)"),
        format!("mov qword ptr [{x:X}h],{x:X}h")
    );
    assert_eq!(
        address("addq $x,z(%rax,%rbx,4)").split('[').next(),
        Some("add qword ptr ")
    );
}

#[test]
fn jumps_go_where_the_labels_are() {
    let test = read(
        "X86 T\n{ }\n P0 ;\n L0: CMP EAX,$0 ;\n JE L1 ;\n JMP L0 ;\n L1: RET ;\n JNE L2 ;\n L2: ;\n",
    );
    let listed = listing(&test).expect("code");
    let targets: Vec<u64> = listed
        .iter()
        .map(|item| disassemble(&item.bytes, item.offset).near_branch_target())
        .collect();
    let offset = |index: usize| listed[index].offset;
    assert_eq!(targets[1], offset(3));
    assert_eq!(targets[2], offset(0));
    // The end comes after the last instruction.
    let end = offset(4) + listed[4].bytes.len() as u64;
    assert_eq!((targets[3], targets[4]), (end, end));
}

/// Checks mnemonic, prefix and constants of every instruction of a test against its text.
fn check(test: &Test) {
    for item in listing(test).unwrap_or_else(|refusal| panic!("{}: {refusal}", test.name)) {
        let written = &test.threads[item.thread].instructions[item.instruction].text;
        let decoded = disassemble(&item.bytes, item.offset);
        let shown = text(&decoded);
        let lower = written.to_lowercase();
        let is_locked = lower.starts_with("lock");
        assert_eq!(decoded.has_lock_prefix(), is_locked, "{written}: {shown}");
        let written_name = lower
            .trim_start_matches("lock")
            .trim_start()
            .split(' ')
            .next()
            .unwrap_or("");
        let shown_name = shown
            .trim_start_matches("lock ")
            .split(' ')
            .next()
            .unwrap_or("");
        // The text may have a suffix, and conditions have several names.
        let stem = shown_name
            .len()
            .min(if shown_name.starts_with(['j', 'c', 's']) {
                1
            } else {
                usize::MAX
            });
        assert!(
            written_name.starts_with(&shown_name[..stem]),
            "{written}: {shown}"
        );
    }
}

#[test]
fn random_tests_are_disassembled_to_themselves() {
    for seed in 0..200 {
        for architecture in [Architecture::X86, Architecture::X86_64] {
            let shape = Shape {
                architecture,
                threads: 2,
                instructions: 8,
                locations: 3,
            };
            check(&read(&random_test(
                &mut Random::new(seed),
                "random",
                &shape,
            )));
        }
    }
}

#[test]
fn what_no_processor_has_is_refused() {
    let refusal = |source: &str| listing(&read(source)).expect_err("no code");
    let no_instruction = |code: &str| {
        let source = format!("X86_64 T\n{{ int64_t x; }}\n P0 ;\n nop ;\n {code} ;\n");
        match refusal(&source) {
            Refusal::NoSuchInstruction {
                thread: 0,
                instruction: 1,
                why,
            } => why,
            other => panic!("{code}: {other}"),
        }
    };
    assert!(no_instruction("movb %ah,%r8b").contains("REX"));
    assert_eq!(
        no_instruction("movq $81985529216486895,(x)"),
        "a constant of more than 32 bits"
    );
    assert_eq!(
        no_instruction("movq 81985529216486895(%rax),%rbx"),
        "a displacement of more than 32 bits"
    );
    assert_eq!(
        no_instruction("movq (%rax,%rsp,2),%rbx"),
        "the stack pointer as an index"
    );
    let many: String = (0..20).map(|n| format!(" movq $1,%sym{n} ;\n")).collect();
    let many = format!("X86_64 T\n{{ }}\n P0 ;\n{many}");
    assert_eq!(refusal(&many), Refusal::TooManyRegisters { thread: 0 });
    let wide: String = (0..5000).map(|n| format!("x[{n}];")).collect();
    let wide = format!("X86_64 T\n{{ int x[5000]; }}\n P0 ;\n nop ;\nlocations [{wide}]\n");
    assert!(matches!(
        refusal(&wide),
        Refusal::TooLarge { most: 4096, .. }
    ));
}
