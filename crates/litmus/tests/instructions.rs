//! Every form of every instruction, run alone: what it leaves behind, and which accesses it makes.

use crate::common;

use common::{read, run};

/// Architecture, initial state, instructions (rows), observed, accesses, final state.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

fn check(cases: &[Case]) {
    for case in cases {
        let (architecture, initial, code, observed, events, state) = case;
        let source = format!(
            "{architecture} test\n{{ {initial} }}\n P0 ;\n {code} ;\nlocations [{observed}]\n"
        );
        let test = read(&source);
        let found = match run(&test) {
            Ok(found) => found,
            Err(fault) => panic!("{source}{fault:?}"),
        };
        assert_eq!(
            (found.events.join(" ").as_str(), found.state.as_str()),
            (*events, *state),
            "{source}{:#?}",
            test.threads[0].operations
        );
    }
}

const I: &str = "X86";
const A: &str = "X86_64";

#[test]
#[rustfmt::skip]
fn moves() {
    check(&[
        (I, "", "MOV [x],$1", "x", "W x", "[x]=1;"),
        (I, "", "MOV [x],1", "x", "W x", "[x]=1;"),
        (I, "", "mov [x],-1", "x", "W x", "[x]=-1;"),
        (I, "", "MOV [x],$0x10", "x", "W x", "[x]=16;"),
        (I, "", "MOV (x),$1", "x", "W x", "[x]=1;"),
        (I, "x=7", "MOV EAX,[x]", "0:EAX", "R x", "0:EAX=7;"),
        (I, "0:EBX=3", "MOV EAX,EBX", "0:EAX", "", "0:EAX=3;"),
        (I, "0:EBX=3", "MOV [x],EBX", "x", "W x", "[x]=3;"),
        (I, "0:EBX=x", "MOV [EBX],$5", "x", "W x", "[x]=5;"),
        (I, "0:EBX=x", "MOV (EBX),$5", "x", "W x", "[x]=5;"),
        (I, "", "MOV EBX,$x; MOV [EBX],$5", "x", "W x", "[x]=5;"),
        (I, "", "MOVL [x],$5", "x", "W x", "[x]=5;"),
        (I, "", "MOVB [x],$-1", "x", "W x", "[x]=-1;"),
        (I, "uint8_t x", "MOVB [x],$-1", "x", "W x", "[x]=255;"),
        (I, "", "MOVW [x],$-2", "x", "W x", "[x]=-2;"),
        (I, "", "MOVQ [x],$0x100000000", "x", "W x", "[x]=4294967296;"),
        (I, "0:EAX=0x1234", "MOVB [x],EAX", "x", "W x", "[x]=52;"),
        (I, "0:EAX=0x1234; x=1", "MOVB EAX,[x]", "0:EAX", "R x", "0:EAX=4609;"),
        (I, "0:EAX=0x1234; x=1", "MOVB AH,[x]", "0:EAX", "R x", "0:EAX=308;"),
        (I, "0:EAX=0x1234", "MOV [x],AH", "x", "W x", "[x]=18;"),
        (I, "", "MOV %a,$4; MOV [x],%a", "x", "W x", "[x]=4;"),
        (A, "", "movq $1,(x)", "x", "W x", "[x]=1;"),
        (A, "", "movq $1,[x]", "x", "W x", "[x]=1;"),
        (A, "", "MOVQ $0x1122334455667788,(x)", "x", "W x", "[x]=1234605616436508552;"),
        (A, "", "movl $-1,(x)", "x", "W x", "[x]=-1;"),
        (A, "uint64_t x", "movq $-1,(x)", "x", "W x", "[x]=18446744073709551615;"),
        (A, "0:rax=-1", "movl $1,%eax", "0:rax", "", "0:rax=1;"),
        (A, "0:rax=-1", "movw $1,%ax", "0:rax", "", "0:rax=-65535;"),
        (A, "0:rax=-1", "movb $0,%ah", "0:rax", "", "0:rax=-65281;"),
        (A, "0:rax=-1; x=1", "movl (x),%eax", "0:rax", "R x", "0:rax=1;"),
        (A, "0:rax=-1; x=1", "movb (x),%al", "0:rax", "R x", "0:rax=-255;"),
        (A, "0:r8=-1", "mov %r8d,%r9d", "0:r9", "", "0:r9=4294967295;"),
        (A, "0:rax=1", "mov %rax,(x)", "x", "W x", "[x]=1;"),
        (A, "0:rax=x", "movq $9,(%rax)", "x", "W x", "[x]=9;"),
        (A, "0:rax=x", "movq $9,0(%rax)", "x", "W x", "[x]=9;"),
        (A, "", "movq $x,%rax; movq %rax,(p); movq (p),%rbx", "0:rbx; p", "W p R p", "0:rbx=x; [p]=x;"),
        (A, "", "mov $3,%tmp; mov %tmp,(x)", "x; %tmp", "W x", "0:rax=3; [x]=3;"),
    ]);
}

#[test]
#[rustfmt::skip]
fn addresses() {
    check(&[
        (A, "int64_t t[2]={1,-1}; 0:rax=t; 0:rbx=1", "movq 0(%rax,%ebx,8),%rcx", "0:rcx", "R t[1]", "0:rcx=-1;"),
        (A, "int64_t t[3]={1,2,3}; 0:rax=t", "movq 8(%rax),%rcx", "0:rcx", "R t[1]", "0:rcx=2;"),
        (A, "int64_t t[3]={1,2,3}; 0:rax=t[2]", "movq -8(%rax),%rcx", "0:rcx", "R t[1]", "0:rcx=2;"),
        (A, "int64_t t[3]={1,2,3}; 0:rax=2", "movq t(,%rax,8),%rcx", "0:rcx", "R t[2]", "0:rcx=3;"),
        (A, "int64_t t[3]={1,2,3}; 0:rax=8", "movq t(%rax),%rcx", "0:rcx", "R t[1]", "0:rcx=2;"),
        (A, "int64_t t[3]={1,2,3}", "movq (t+16),%rcx", "0:rcx", "R t[2]", "0:rcx=3;"),
        (A, "int64_t t[3]={1,2,3}", "movq (t[1]),%rcx", "0:rcx", "R t[1]", "0:rcx=2;"),
        (A, "int64_t t[3]={1,2,3}", "movq (t),%rcx", "0:rcx", "R t[0]", "0:rcx=1;"),
        (I, "int t[3]={1,2,3}; 0:EAX=t", "MOV ECX,[EAX+4]", "0:ECX", "R t[1]", "0:ECX=2;"),
        (I, "int t[3]={1,2,3}; 0:EAX=t[2]", "MOV ECX,[EAX-4]", "0:ECX", "R t[1]", "0:ECX=2;"),
        (I, "int t[3]={1,2,3}; 0:EAX=t; 0:EBX=2", "MOV ECX,[EAX+EBX*4]", "0:ECX", "R t[2]", "0:ECX=3;"),
        (I, "int t[3]={1,2,3}; 0:EAX=t; 0:EBX=1", "MOV ECX,[EBX*4+EAX+4]", "0:ECX", "R t[2]", "0:ECX=3;"),
        (I, "int t[3]={1,2,3}; 0:EAX=t; 0:EBX=8", "MOV ECX,[EAX+EBX]", "0:ECX", "R t[2]", "0:ECX=3;"),
        (I, "int t[3]={1,2,3}; 0:EBX=1", "MOV ECX,[t+EBX*4]", "0:ECX", "R t[1]", "0:ECX=2;"),
        (I, "int t[3]={1,2,3}", "MOV EBX,$t[2]; MOV ECX,[EBX]", "0:ECX", "R t[2]", "0:ECX=3;"),
        (I, "int *p = x; x=4", "MOV EAX,[p]; MOV EBX,[EAX]", "p; 0:EBX", "R p R x", "0:EBX=4; [p]=x;"),
        (I, "p = &x; x=4", "MOV EAX,[p]; MOV EBX,[EAX]", "p; 0:EBX", "R p R x", "0:EBX=4; [p]=x;"),
    ]);
}

#[test]
#[rustfmt::skip]
fn computations() {
    check(&[
        (I, "0:EAX=5", "ADD EAX,$3", "0:EAX", "", "0:EAX=8;"),
        (I, "0:EAX=5; x=2", "ADD EAX,[x]", "0:EAX", "R x", "0:EAX=7;"),
        (I, "0:EAX=5; x=2", "ADD [x],EAX", "x", "R x W x", "[x]=7;"),
        (I, "x=2", "LOCK ADD [x],$5", "x", "( R x W x )", "[x]=7;"),
        (I, "x=2", "LOCK; ADD [x],$5", "x", "( R x W x )", "[x]=7;"),
        (I, "x=2", "SUB [x],$5", "x", "R x W x", "[x]=-3;"),
        (I, "x=6", "XOR [x],$5", "x", "R x W x", "[x]=3;"),
        (I, "x=6", "OR [x],$5", "x", "R x W x", "[x]=7;"),
        (I, "x=6", "LOCK AND [x],$5", "x", "( R x W x )", "[x]=4;"),
        (I, "x=6", "INC [x]", "x", "R x W x", "[x]=7;"),
        (I, "x=6", "LOCK INC [x]", "x", "( R x W x )", "[x]=7;"),
        (I, "x=6", "LOCK DEC [x]", "x", "( R x W x )", "[x]=5;"),
        (I, "x=6", "LOCK NOT [x]", "x", "( R x W x )", "[x]=-7;"),
        (I, "x=6", "NEG [x]", "x", "R x W x", "[x]=-6;"),
        (I, "0:EAX=6", "NEG EAX", "0:EAX", "", "0:EAX=-6;"),
        (I, "0:EAX=6", "DEC EAX", "0:EAX", "", "0:EAX=5;"),
        (I, "0:EAX=6", "NOT EAX", "0:EAX", "", "0:EAX=-7;"),
        (I, "0:EAX=3", "SHL EAX,2", "0:EAX", "", "0:EAX=12;"),
        (I, "0:EAX=3", "SHL EAX", "0:EAX", "", "0:EAX=6;"),
        (I, "x=3; 0:ECX=4", "SHL [x],CL", "x", "R x W x", "[x]=48;"),
        (A, "0:RAX=1", "shl 2,%eax", "0:RAX", "", "0:rax=4;"),
        (A, "0:rax=1; 0:rcx=40", "shlq %cl,%rax", "0:rax", "", "0:rax=1099511627776;"),
        (A, "0:rax=5; 0:rbx=3", "subq %rbx,%rax", "0:rax", "", "0:rax=2;"),
        (A, "x=5", "addl $1,(x)", "x", "R x W x", "[x]=6;"),
        (A, "x=5", "add $1,(x)", "x", "R x W x", "[x]=6;"),
        (A, "int8_t x=127", "add $1,(x)", "x", "R x W x", "[x]=-128;"),
        (A, "x=5", "lock incq (x)", "x", "( R x W x )", "[x]=6;"),
        (A, "int16_t x=5; 0:rax=x", "lock decw (%rax)", "x", "( R x W x )", "[x]=4;"),
        (A, "int16_t x=5; 0:rax=x", "lock inc (%rax)", "x", "( R x W x )", "[x]=6;"),
        (A, "0:rax=0x1ff", "incb %al", "0:rax", "", "0:rax=256;"),
        (A, "0:rax=0x1ff; x=1", "addb (x),%ah", "0:rax", "R x", "0:rax=767;"),
    ]);
}

#[test]
#[rustfmt::skip]
fn exchanges() {
    check(&[
        (I, "0:EAX=1; x=2", "XCHG [x],EAX", "0:EAX; x", "( R x W x )", "0:EAX=2; [x]=1;"),
        (I, "0:EAX=1; x=2", "XCHG EAX,[x]", "0:EAX; x", "( R x W x )", "0:EAX=2; [x]=1;"),
        (I, "0:EAX=1; x=2", "LOCK XCHG [x],EAX", "0:EAX; x", "( R x W x )", "0:EAX=2; [x]=1;"),
        (I, "0:EAX=1; 0:EBX=2", "XCHG EAX,EBX", "0:EAX; 0:EBX", "", "0:EAX=2; 0:EBX=1;"),
        (I, "0:EAX=0x102", "XCHG AH,AL", "0:EAX", "", "0:EAX=513;"),
        (A, "0:rax=1; x=2", "xchg (x),%rax", "0:rax; x", "( R x W x )", "0:rax=2; [x]=1;"),
        (A, "0:rax=1; x=2", "xchgq %rax,(x)", "0:rax; x", "( R x W x )", "0:rax=2; [x]=1;"),
        (A, "0:rax=-1; x=2", "xchgl %eax,(x)", "0:rax; x", "( R x W x )", "0:rax=2; [x]=-1;"),
        (A, "0:rax=x; x=2", "xchgq %rax,(%rax)", "0:rax; x", "( R x W x )", "0:rax=2; [x]=x;"),
        (I, "0:EAX=3; x=4", "XADD [x],EAX", "0:EAX; x", "R x W x", "0:EAX=4; [x]=7;"),
        (I, "0:EAX=3; x=4", "LOCK XADD [x],EAX", "0:EAX; x", "( R x W x )", "0:EAX=4; [x]=7;"),
        (I, "0:EAX=3; 0:EBX=4", "XADD EAX,EBX", "0:EAX; 0:EBX", "", "0:EAX=7; 0:EBX=3;"),
        (I, "0:EAX=3", "XADD EAX,EAX", "0:EAX", "", "0:EAX=6;"),
        (A, "0:rax=3; x=4", "lock xaddq %rax,(x)", "0:rax; x", "( R x W x )", "0:rax=4; [x]=7;"),
        (A, "0:rax=3; x=4", "lock xadd (x),%rax", "0:rax; x", "( R x W x )", "0:rax=4; [x]=7;"),
        (A, "0:rax=3; 0:rbx=4", "xadd %rax,%rbx", "0:rax; 0:rbx", "", "0:rax=4; 0:rbx=7;"),
        // The comparison succeeds.
        (I, "0:EAX=4; 0:EBX=9; x=4", "CMPXCHG [x],EBX", "0:EAX; x", "R x W x", "0:EAX=4; [x]=9;"),
        (I, "0:EAX=4; 0:EBX=9; x=4", "LOCK CMPXCHG [x],EBX", "0:EAX; x", "( R x W x )", "0:EAX=4; [x]=9;"),
        (A, "0:rax=4; 0:rbx=9; x=4", "lock cmpxchg (x),%rbx", "0:rax; x", "( R x W x )", "0:rax=4; [x]=9;"),
        (A, "0:rax=4; 0:rbx=9; x=4", "lock cmpxchgq %rbx,(x)", "0:rax; x", "( R x W x )", "0:rax=4; [x]=9;"),
        // And fails: what was read is written, but with LOCK nobody can tell.
        (I, "0:EAX=5; 0:EBX=9; x=4", "CMPXCHG [x],EBX", "0:EAX; x", "R x W x", "0:EAX=4; [x]=4;"),
        (I, "0:EAX=5; 0:EBX=9; x=4", "LOCK CMPXCHG [x],EBX", "0:EAX; x", "( R x )", "0:EAX=4; [x]=4;"),
        (I, "0:EAX=5; 0:EBX=9; 0:ECX=5", "CMPXCHG ECX,EBX", "0:EAX; 0:ECX", "", "0:EAX=5; 0:ECX=9;"),
        (I, "0:EAX=5; 0:EBX=9; 0:ECX=6", "CMPXCHG ECX,EBX", "0:EAX; 0:ECX", "", "0:EAX=6; 0:ECX=6;"),
        (A, "0:rax=-1; 0:rbx=9; x=4", "lock cmpxchgl %ebx,(x)", "0:rax; x", "( R x )", "0:rax=4; [x]=4;"),
        (A, "0:rax=0x104; 0:rbx=9; x=4", "lock cmpxchgb %bl,(x)", "0:rax; x", "( R x W x )", "0:rax=260; [x]=9;"),
    ]);
}

#[test]
#[rustfmt::skip]
fn conditions() {
    check(&[
        (I, "0:EAX=1", "CMP EAX,$1; CMOVE EAX,EBX", "0:EAX", "", "0:EAX=0;"),
        (I, "0:EAX=1; x=3", "CMP EAX,$1; CMOVNE EAX,[x]", "0:EAX", "R x", "0:EAX=1;"),
        (I, "0:EAX=1; x=3", "CMP EAX,$2; CMOVC EAX,[x]", "0:EAX", "R x", "0:EAX=3;"),
        (A, "0:rax=-1; x=3", "cmpq $1,%rbx; cmovel (x),%eax", "0:rax", "R x", "0:rax=4294967295;"),
        (A, "0:rax=1; x=3", "cmpq $0,%rbx; cmoveq (x),%rax", "0:rax", "R x", "0:rax=3;"),
        (A, "0:rax=1; x=3", "cmpq $0,%rbx; cmoveq %rax,(x)", "0:rax", "R x", "0:rax=3;"),
        (A, "0:rax=1; 0:rbx=3", "cmpq $0,%rcx; cmoveq %rbx,%rax", "0:rax", "", "0:rax=3;"),
        (I, "x=1", "CMP [x],$1; SETE [y]", "y", "R x W y", "[y]=1;"),
        (I, "x=1", "CMP [x],$2; SETE [y]", "y", "R x W y", "[y]=0;"),
        (I, "x=1; 0:EAX=0x100", "CMP [x],$1; SETE AL", "0:EAX", "R x", "0:EAX=257;"),
        (I, "x=1", "CMP [x],$2; SETNB EAX", "0:EAX", "R x", "0:EAX=0;"),
        (A, "x=3", "testl $4,(x); setz %al", "0:al", "R x", "0:al=1;"),
        (A, "x=3; 0:rax=2", "test %eax,(x); setz %bl", "0:bl", "R x", "0:bl=0;"),
        (A, "x=3; 0:rax=2", "test (x),%eax; setnz %bl", "0:bl", "R x", "0:bl=1;"),
        // The left side of a comparison is the destination, in both orders.
        (I, "0:EAX=1", "CMP EAX,$2; SETL BL", "0:BL", "", "0:BL=1;"),
        (A, "0:rax=1", "cmp $2,%rax; setl %bl", "0:bl", "", "0:bl=1;"),
        (A, "x=1; 0:rax=2", "cmp %rax,(x); setl %bl", "0:bl", "R x", "0:bl=1;"),
        (A, "x=1; 0:rax=2", "cmp (x),%rax; setl %bl", "0:bl", "R x", "0:bl=0;"),
    ]);
}

#[test]
#[rustfmt::skip]
fn control_and_fences() {
    check(&[
        (I, "", "JMP end; MOV [x],$1; end: MOV [y],$1", "x; y", "W y", "[x]=0; [y]=1;"),
        (I, "0:EAX=3", "again: DEC EAX; INC EBX; CMP EAX,$0; JNE again", "0:EAX; 0:EBX", "", "0:EAX=0; 0:EBX=3;"),
        (I, "", "CMP EAX,$0; JE out; MOV [x],$1; out:", "x", "", "[x]=0;"),
        (I, "", "a: b: ; JMP c; MOV [x],$1; c: NOP", "x", "", "[x]=0;"),
        (I, "", "MOV [x],$1; RET; MOV [x],$2", "x", "W x", "[x]=1;"),
        (I, "", "MFENCE; SFENCE; LFENCE; NOP; PAUSE", "", "Full Store Load", ""),
        (A, "", "mfence; sfence; lfence; nop; endbr64; ret", "", "Full Store Load", ""),
        (A, "0:rax=1", "cmp $2,%rax; jlt less; mov $1,%rbx; less: nop", "0:rbx", "", "0:rbx=0;"),
        (A, "0:rax=1", "cmp $2,%rax; jgt more; mov $1,%rbx; more: nop", "0:rbx", "", "0:rbx=1;"),
    ]);
}

/// `Jcc`, `SETcc` and `CMOVcc` with every name of every condition, against the flags that `CMP` sets.
#[test]
fn every_condition_name() {
    let pairs: [(i64, i64); 7] = [
        (0, 0),
        (1, 2),
        (2, 1),
        (-1, 1),
        (1, -1),
        (i64::MIN, 1),
        (3, 0),
    ];
    type Meaning = fn(i64, i64) -> bool;
    let overflow: Meaning = |a, b| a.overflowing_sub(b).1;
    let sign: Meaning = |a, b| a.wrapping_sub(b) < 0;
    let parity: Meaning = |a, b| (a.wrapping_sub(b) as u8).count_ones() % 2 == 0;
    let below: Meaning = |a, b| (a as u64) < b as u64;
    let below_or_equal: Meaning = |a, b| a as u64 <= b as u64;
    let equal: Meaning = |a, b| a == b;
    let less: Meaning = |a, b| a < b;
    let less_or_equal: Meaning = |a, b| a <= b;
    let table: [(&[&str], &[&str], Meaning); 8] = [
        (&["o"], &["no"], overflow),
        (&["b", "c", "nae"], &["nb", "nc", "ae"], below),
        (&["e", "z"], &["ne", "nz"], equal),
        (&["be", "na"], &["nbe", "a"], below_or_equal),
        (&["s"], &["ns"], sign),
        (&["p", "pe"], &["np", "po"], parity),
        (&["l", "nge", "lt"], &["nl", "ge"], less),
        (&["le", "ng"], &["nle", "g", "gt"], less_or_equal),
    ];
    for (names, opposites, meaning) in table {
        let names = names.iter().map(|name| (name, true));
        for (name, holds) in names.chain(opposites.iter().map(|name| (name, false))) {
            for (left, right) in pairs {
                let source = format!(
                    "X86_64 conditions {{ 0:rax={left}; 0:rbx={right}; 0:rcx=1; 0:r8=1 }}\n P0 ;\n \
                     cmpq %rbx,%rax ;\n set{name} %dl ;\n cmov{name}q %r8,%r9 ;\n \
                     j{name} out ;\n movq $0,%rcx ;\n out: ;\n\
                     locations [0:rcx; 0:dl; 0:r9]"
                );
                let expected = u8::from(meaning(left, right) == holds);
                let found = run(&read(&source)).expect("no fault").state;
                let state = format!("0:rcx={expected}; 0:dl={expected}; 0:r9={expected};");
                assert_eq!(found, state, "{source}");
            }
        }
    }
}
