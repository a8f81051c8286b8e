//! What is read of a file: names, conditions, observables, memory.

use crate::common;

use common::read;
use fencepost_litmus::code::{Operation, Width};
use fencepost_litmus::test::{Architecture, Observable, Quantifier, Test};

fn names(test: &Test) -> Vec<&str> {
    test.observed
        .iter()
        .map(|observable| match observable {
            Observable::Register { name, .. } | Observable::Cell { name, .. } => name.as_str(),
        })
        .collect()
}

/// A test with an initial state, the rows of two threads, and an ending.
fn with(initial: &str, ending: &str) -> Test {
    read(&format!(
        "X86 test\n{{ {initial} }}\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n\
         {ending}\n"
    ))
}

#[test]
fn header() {
    let test = read(
        "X86_64 2+2W+mfence+po[1] \"a text\"\nCycle=Coe PodWW {x}\nCom = Co Co\r\n\
         (* a comment { *)\nsomething else\n{\n}\n P0 ;\n",
    );
    assert_eq!(test.architecture, Architecture::X86_64);
    assert_eq!(test.name, "2+2W+mfence+po[1]");
    assert_eq!(test.documentation.as_deref(), Some("a text"));
    let info = [("Cycle", "Coe PodWW {x}"), ("Com", "Co Co")];
    assert_eq!(
        test.info,
        info.map(|(key, value)| (key.to_owned(), value.to_owned()))
    );
    assert_eq!(test.condition_text, "forall (true)");
    assert_eq!(test.quantifier, Quantifier::ForAll);
    let below = read("X86 a\n  \"on the next line\"\n{}\nP0;\n");
    assert_eq!(below.documentation.as_deref(), Some("on the next line"));
}

#[test]
fn line_ends_tabs_and_a_byte_order_mark_do_not_matter() {
    let plain = "X86 a\n\"t\"\nKey=value\n{ x=1; }\n P0 | P1 ;\n MOV EAX,[x] | MOV [x],$2 ;\n\
                 exists (0:EAX=2)\n";
    let plain_test = read(plain);
    let returned = read(&plain.replace('\n', "\r\n"));
    assert_eq!(plain_test, returned);
    let marked = read(&format!("\u{feff}{plain}"));
    assert_eq!(plain_test, marked);
    let tabbed = read(&plain.replace(' ', "\t"));
    assert_eq!(plain_test, tabbed);
}

#[test]
fn what_follows_two_angle_brackets_does_not_count() {
    let test = with("", "exists (x=1) << anything /\\ \"");
    assert_eq!(test.condition_text, "exists ([x]=1)");
}

#[test]
fn comments_are_no_text() {
    let test = read(
        "X86 a {(* x=1; (* y=1; *) } *)}\n P0 (* here *) | P1 ;\n \
         MOV (* a *) EAX (* b *) , [x] | (* empty *) ; # to the end | of ; the line\n # here too\n \
         MOV # a\n [y],$1 | ; exists (* c *) (0:EAX=0)",
    );
    assert_eq!(test.threads[0].instructions[1].text, "MOV [y],$1");
    assert_eq!(test.threads[0].instructions[0].text, "MOV EAX,[x]");
    assert_eq!(test.condition_text, "exists (0:EAX=0)");
}

#[test]
fn comments_to_the_end_of_the_line_are_read_everywhere() {
    let test = read(
        "# before { \nX86 a # a name\n# Key=value {\nKind=#1\n{ # an initial state }\n x=1; }\n P0 ; # threads\n \
         MOV EAX,[x] ;\n# a condition\nexists # not yet\n (0:EAX=1 # /\\ x=2\n)\n# the end",
    );
    assert_eq!(test.name, "a");
    assert_eq!(test.info, [("Kind".to_owned(), "#1".to_owned())]);
    assert_eq!(test.cells[0].initial, 1);
    assert_eq!(test.condition_text, "exists (0:EAX=1)");
}

#[test]
fn what_is_claimed_of_models_is_read_and_not_used() {
    for ending in [
        "with tso: ~exists",
        "; with tso: ~exists;",
        "with sc: exists; tso: ~exists; arm: forall",
    ] {
        let test = with("", &format!("exists (0:EAX=0 /\\ 1:EAX=0) {ending}"));
        assert_eq!(test.quantifier, Quantifier::Exists);
        assert_eq!(test.condition_text, "exists (0:EAX=0 /\\ 1:EAX=0)");
    }
}

#[test]
fn long_nops_have_operands_that_are_not_accessed() {
    let test = read(
        "X86_64 a\n{ }\n P0 ;\n nopw 0x0(%rax,%rax,1) ;\n nopl (%rax) ;\n NOPL %cs:0(%rax,%eax,0) ;\n nop ;\n \
         movl $1,(x) ;\nexists (x=1)",
    );
    assert_eq!(test.cells.len(), 1);
    assert_eq!(test.threads[0].operations.len(), 2);
    assert_eq!(test.threads[0].instructions.len(), 5);
}

#[test]
fn what_is_only_initialized_can_be_asked_about() {
    let test = with("z=0; 0:EBX=0;", "exists (z=0 /\\ 0:EBX=0)");
    assert_eq!(test.cells.len(), 3);
    // A thread without an operation uses nothing, and nothing was misspelled.
    let idle = read("X86 a\n{ }\n P0 | P1 ;\n NOP | MOV EAX,[x] ;\nforall (0:EAX=0)");
    assert_eq!(idle.observed.len(), 1);
}

#[test]
fn instructions_are_tidied_and_know_their_places() {
    let test = read(
        "X86_64 a {}\n P3 | P1 ;\n l0:  lock  ;  incq\t( x )|movq 8( %rax , %rbx , 8 ) , %rcx ;\n\
         | mfence ;\n",
    );
    let thread = &test.threads[0];
    assert_eq!(thread.number, 3);
    assert_eq!(thread.instructions[0].text, "lock; incq (x)");
    assert_eq!(
        test.threads[1].instructions[0].text,
        "movq 8(%rax,%rbx,8),%rcx"
    );
    let position = test.threads[1].instructions[0].position;
    assert_eq!((position.line, position.column), (3, 27));
    // Begin, load, compute, store, end; and the end of the thread.
    assert_eq!(thread.instruction_of, [0, 0, 0, 0, 0, 1]);
    assert_eq!(thread.operations.last(), Some(&Operation::End));
}

#[test]
fn conditions_are_printed_as_herd7_prints_them() {
    for (written, printed) in [
        (
            "exists (0:EAX=0 /\\ 1:EAX=0)",
            "exists (0:EAX=0 /\\ 1:EAX=0)",
        ),
        ("exists 0:eax = 0x10", "exists (0:EAX=16)"),
        ("exists (P0:EAX == -1)", "exists (0:EAX=-1)"),
        ("~exists (x=1 /\\ [y]=2)", "~exists ([x]=1 /\\ [y]=2)"),
        ("~ exists x=1", "~exists ([x]=1)"),
        ("forall (x!=1)", "forall (not ([x]=1))"),
        ("forall (x<>1)", "forall (not ([x]=1))"),
        ("final (x=1)", "exists ([x]=1)"),
        ("(x=1)", "exists ([x]=1)"),
        ("observed (x=1);", "exists ([x]=1)"),
        (
            "observed x=1; y=1; and x=2; y=2;",
            "exists ([x]=1 /\\ [y]=1 \\/ [x]=2 /\\ [y]=2)",
        ),
        ("exists (true)", "exists (true)"),
        (
            "exists (not true \\/ ~false)",
            "exists (not (true) \\/ not (false))",
        ),
        (
            "exists (x=1 \\/ y=1 /\\ x=2)",
            "exists ([x]=1 \\/ [y]=1 /\\ [x]=2)",
        ),
        (
            "exists ((x=1 \\/ y=1) /\\ x=2)",
            "exists (([x]=1 \\/ [y]=1) /\\ [x]=2)",
        ),
        (
            "exists (((x=1 /\\ (y=1 /\\ x=2))))",
            "exists ([x]=1 /\\ [y]=1 /\\ [x]=2)",
        ),
        (
            "exists (x=1 => y=1 => x=2)",
            "exists ([x]=1 => [y]=1 => [x]=2)",
        ),
        (
            "exists ((x=1 => y=1) => x=2)",
            "exists (([x]=1 => [y]=1) => [x]=2)",
        ),
        (
            "exists (x=1 /\\ y=1 => x=2)",
            "exists ([x]=1 /\\ ([y]=1 => [x]=2))",
        ),
        ("exists (x=y)", "exists ([x]=y)"),
        ("exists (x=&y)", "exists ([x]=y)"),
        ("exists (x=[y])", "exists ([x]=[y])"),
        ("exists (x=*y)", "exists ([x]=[y])"),
        ("exists (0:EAX=1:EAX)", "exists (0:EAX=1:EAX)"),
        ("exists ([x]=P1:EAX)", "exists ([x]=1:EAX)"),
        ("", "forall (true)"),
    ] {
        assert_eq!(with("", written).condition_text, printed, "{written}");
    }
}

#[test]
fn conditions_mean_what_they_say() {
    // The state is `0:EAX`, `1:EAX`, `[x]`, `[y]`.
    let cases: [(&str, [u64; 4], bool); 12] = [
        ("0:EAX=1", [1, 0, 0, 0], true),
        ("0:EAX!=1", [1, 0, 0, 0], false),
        ("0:EAX=-1", [0xffff_ffff, 0, 0, 0], true),
        ("0:EAX=1:EAX", [3, 3, 0, 0], true),
        ("x=[y]", [0, 0, 3, 4], false),
        ("x=1 /\\ y=1", [0, 0, 1, 2], false),
        ("x=1 \\/ y=1", [0, 0, 1, 2], true),
        ("x=1 => y=1", [0, 0, 1, 2], false),
        ("x=2 => y=1", [0, 0, 1, 2], true),
        ("not (x=2) /\\ true", [0, 0, 1, 2], true),
        // Implication binds most tightly.
        ("x=2 /\\ x=2 => y=1", [0, 0, 1, 2], false),
        ("false => x=1", [0, 0, 0, 0], true),
    ];
    for (claim, state, expected) in cases {
        let test = with(
            "",
            &format!("locations [0:EAX; 1:EAX; x; y] exists ({claim})"),
        );
        assert_eq!(names(&test), ["0:EAX", "1:EAX", "[x]", "[y]"]);
        assert_eq!(test.condition.holds(&state), expected, "{claim}");
    }
}

#[test]
fn observables_are_in_herd7s_order() {
    let test = read(
        "X86_64 a\n{ int b[2]; int a; z; 0:r8; 0:rsp; 0:rbp; 2:rdi; 2:rsi; 2:rdx; 2:rcx; 2:rbx; }\n P2 | P0 ;\n nop | nop ;\n\
         locations [z; a; b; 0:r8; 0:rsp; 0:rbp]\n\
         exists (2:rdi=0 /\\ 2:rsi=0 /\\ 2:rdx=0 /\\ 2:rcx=0 /\\ 2:rbx=0 /\\ 2:eax=0 /\\ b[1]=0)",
    );
    let expected = [
        "0:rbp", "0:rsp", "0:r8", "2:eax", "2:rbx", "2:rcx", "2:rdx", "2:rsi", "2:rdi", "[a]",
        "b[0]", "b[1]", "[z]",
    ];
    assert_eq!(names(&test), expected);
}

#[test]
fn the_filter_observes_without_printing() {
    let test = with(
        "",
        "locations [x] filter (0:EAX=1 /\\ x=1) exists (1:EAX=0)",
    );
    assert_eq!(names(&test), ["1:EAX", "[x]"]);
    assert_eq!(test.observed_by_filter.len(), 1);
    assert!(test.passes_filter(&[0, 1, 1]));
    assert!(!test.passes_filter(&[0, 1, 0]));
    assert!(!test.passes_filter(&[0, 0, 1]));
    assert_eq!(test.format_state(&[5, 1, 1]), "1:EAX=5; [x]=1;");
    let address = test.cells[1].address;
    assert_eq!(
        test.format_state(&[address, u64::from(u32::MAX)]),
        "1:EAX=y; [x]=-1;"
    );
}

/// herd7 gives symbolic registers the first ones that the thread does not name.
#[test]
fn symbolic_registers_are_printed_as_those_that_they_get() {
    let test = read(
        "X86 a {0:ECX;}\n P0 | P1 ;\n MOV %b,[x] | MOV %b,[y] ;\n MOV %a,EAX | ;\n\
         exists (%a=1 /\\ 0:%b=1 /\\ 0:ECX=0 /\\ 1:%b=1)",
    );
    assert_eq!(
        test.condition_text,
        "exists (0:EBX=1 /\\ 0:EDX=1 /\\ 0:ECX=0 /\\ 1:EAX=1)"
    );
    let crowded = read(
        "X86 a {}\n P0 ;\n MOV %a,%b ;\n MOV %c,%d ;\n MOV %e,%f ;\n MOV %g,%h ;\n exists (0:%h=1 /\\ 0:%a=1)",
    );
    assert_eq!(names(&crowded), ["0:EAX", "0:%h"]);
}

#[test]
fn initial_states() {
    let test = with(
        "x=1; [y]=-2; int z; int a=0x10; uint8_t b=255; int64_t w[3]={1,-1,x}; int *p = x; q = &w[1]; \
         *r=y; unsigned long long u; _Atomic int t = 3; 0:EBX=x; P1:ECX=7; uint32_t 1:EDX; int 0:esi=-1;;",
        "locations [b; u; 1:EDX]",
    );
    let cell = |name: &str| {
        let found = test.cells.iter().find(|cell| cell.name == name);
        found.unwrap_or_else(|| panic!("there is no {name}"))
    };
    let content = |name| cell(name).initial;
    assert_eq!(content("x"), 1);
    assert_eq!(content("y"), 0xffff_fffe);
    assert_eq!(content("a"), 16);
    assert_eq!((content("b"), cell("b").width), (255, Width::Byte));
    assert!(cell("b").unsigned && cell("u").unsigned && !cell("a").unsigned);
    assert_eq!(content("w[0]"), 1);
    assert_eq!(content("w[1]"), u64::MAX);
    assert_eq!(content("w[2]"), cell("x").address);
    assert_eq!(cell("w[1]").address, cell("w[0]").address + 8);
    assert_eq!(content("p"), cell("x").address);
    assert_eq!(content("q"), cell("w[1]").address);
    assert_eq!(content("r"), cell("y").address);
    assert_eq!(cell("u").width, Width::Quad);
    assert_eq!(content("t"), 3);
    let register = |thread: usize, name: &str| {
        let mut registers = test.threads[thread].registers.iter();
        registers
            .find(|register| register.name == name)
            .map(|register| register.initial)
    };
    assert_eq!(register(0, "EBX"), Some(cell("x").address));
    assert_eq!(register(1, "ECX"), Some(7));
    assert_eq!(register(0, "ESI"), Some(0xffff_ffff));
    let unsigned = test.observed.iter().any(|observable| {
        matches!(observable, Observable::Register { name, unsigned, .. } if name == "1:EDX" && *unsigned)
    });
    assert!(unsigned);
}

#[test]
fn widths_follow_the_accesses() {
    let width = |source: &str, name: &str| {
        let test = read(source);
        let cell = test.cells.iter().find(|cell| cell.name == name);
        cell.unwrap_or_else(|| panic!("there is no {name}")).width
    };
    let program =
        |initial: &str, code: &str| format!("X86_64 a {{ {initial} }} P0 ; {code} ; locations [x]");
    let x = |initial, code| width(&program(initial, code), "x");
    assert_eq!(x("x", "nop"), Width::Long);
    assert_eq!(x("int8_t x", "nop"), Width::Byte);
    assert_eq!(x("int x", "movq $1,(x)"), Width::Quad);
    assert_eq!(x("int64_t x", "movb $1,(x)"), Width::Byte);
    assert_eq!(x("x=y", "nop"), Width::Quad);
    assert_eq!(x("0:rax=x", "movq $1,(%rax)"), Width::Quad);
    assert_eq!(x("int x; 0:rax=x", "movw $1,(%rax)"), Width::Word);
    assert_eq!(x("int64_t x; 0:rax=x", "movw $1,(%rax)"), Width::Quad);
    assert_eq!(x("0:rax=x", "movw $1,(%rax); movq $1,8(%rax)"), Width::Long);
    assert_eq!(x("int16_t x", "inc (x)"), Width::Word);
}

#[test]
fn addresses_are_no_constants_of_the_test() {
    let first = with("", "").cells[0].address;
    let test = with(&format!("z={first}; 0:EBX={}", first + 130), "");
    let constants = [first, first + 130];
    for cell in &test.cells {
        assert!(cell.address % 64 == 0 && cell.address < 1 << 31);
        assert!(
            constants
                .iter()
                .all(|constant| !(cell.address..cell.address + 64).contains(constant))
        );
    }
    let addresses: Vec<u64> = test.cells.iter().map(|cell| cell.address).collect();
    assert_eq!(addresses.len(), 3);
    assert!(addresses.windows(2).all(|pair| pair[0] + 64 <= pair[1]));
}
