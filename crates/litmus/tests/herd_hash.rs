//! The checksums of tests, as herd7 has them in its logs.

use crate::common;

use common::read;

fn hash(source: &str) -> Option<String> {
    read(source).hash
}

/// Checksums that herd7 and litmus7 printed.
#[test]
fn known_tests_have_their_checksums() {
    for (source, known) in [
        (
            "X86 SB\n{ x=0; y=0; }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n\
             exists (0:EAX=0 /\\ 1:EAX=0)\n",
            "7dbd6b8e6dd4abc2ef3d48b0376fb2e3",
        ),
        (
            "X86_64 A\n{}\nP0;\n  NOP;\nforall 0:rax = 0\n",
            "e7aa09c554ad7af2223102c50db5f77a",
        ),
        (
            "X86_64 A\n{ }\nP0;\n  endbr64;\nforall 0:RAX = 0\n",
            "33e970980643a03ccf92e4989259cd01",
        ),
        (
            "X86_64 A\n{}\nP0;\n  nopl 0(%rax,%eax,0);\n  nopw 0(%rax,%eax,0);\nforall 0:RAX = 0\n",
            "1d377b1f6bfaa1897dfe7962885d908c",
        ),
        (
            "X86_64 A\n{}\nP0;\n  NOPL %cs:0(%rax,%eax,0);\nforall (0:RAX = 0)\n",
            "33e970980643a03ccf92e4989259cd01",
        ),
        (
            "X86_64 A\nVariant=telechat\n{ [P1_r0]=0;[x]=0;[y]=0; }\n P0 | P1 ;\n \
             movl $2,(x) | mov (y),%eax ;\n movl $1,(y) | cmp $1,%eax ;\n ret | je L0x3b ;\n | L0x31: ;\n \
             | mov %eax,(P1_r0) ;\n | ret ;\n | L0x3b: ;\n | movl $1,(x) ;\n | jmp L0x31 ;\n\
             exists ([x]=2 /\\ P1_r0=1)\n",
            "129271caa23e144554d29606dbb498d0",
        ),
        (
            "X86_64 A\n{ 0:RAX=1}\nP0;\nshl 2,%eax;\nforall 0:RAX=4\n",
            "a335aafc9060d9b8c4320424ba909740",
        ),
        (
            "X86_64 A\n{ 0:RAX=1}\nP0;\nand %eax,%eax;\nforall 0:RAX=1\n",
            "0f619956115409bcfddfe64524121ac4",
        ),
        (
            "X86_64 A\n{\nint64_t t[2]={1,-1};\n0:rax=t;\n0:rbx=1;\nint64_t 0:rcx;\n}\nP0 ;\n\
             movq 0(%rax,%rbx,8),%rcx ;\nforall 0:rcx = -1\n",
            "7ca3c35015d75a877ccf509d75062e79",
        ),
        (
            "X86_64 A\n{\n uint64_t x;\n 0:RBX=0x202020202020202;\n}\n P0 ;\n MOVQ %RBX,(x) ;\n\
             locations [x;]\nforall [x] = 0x202020202020202\n",
            "a4f2c7b46c9fe04acb695c7d4ca4630b",
        ),
        (
            "X86_64 A\n{\n int y;\n}\n P0 | P1 ;\n movl $1,(y) | movl $2,%eax ;\n | xchgl (y),%eax ;\n\
             ~exists 1:rax=1 /\\ [y]=1\n",
            "49bac67e78712413113b7c93e987b364",
        ),
        (
            "X86_64 A\n{ }\n P0 ;\n movl $1,(x) ;\nforall [x]=1\n",
            "3b021e40517dcff1f1cb8894d645b677",
        ),
    ] {
        assert_eq!(hash(source).as_deref(), Some(known), "{source}");
    }
}

const MP: &str = "X86 MP\n{ x=0; }\n P0 | P1 ;\n MOV [x],$1 | MOV EAX,[y] ;\n MOV [y],$1 | MOV EBX,[x] ;\n\
                  exists (1:EAX=1 /\\ 1:EBX=0)\n";

#[test]
fn only_what_is_executed_and_observed_counts() {
    let plain = hash(MP);
    assert!(plain.is_some());
    for (old, new) in [
        ("X86 MP", "X86 Other \"text\"\nKey=value"),
        ("MOV [x],$1 |", "MOV   [ x ] , $1 (* comment *) |"),
        (
            "exists (1:EAX=1 /\\ 1:EBX=0)",
            "forall (1:EBX=5 \\/ 1:EAX=2)",
        ),
        ("[x],$1", "[x],1"),
    ] {
        assert_eq!(hash(&MP.replace(old, new)), plain, "{new}");
    }
    for (old, new) in [
        ("x=0;", "x=1;"),
        ("x=0;", "int x=0;"),
        ("MOV [y],$1", "MOV [y],$2"),
        ("/\\ 1:EBX=0", ""),
        ("exists", "locations [y;]\nexists"),
        ("EBX,[x] ;", "EBX,[x] ;\n MFENCE | ;"),
    ] {
        let other = hash(&MP.replace(old, new));
        assert!(other.is_some() && other != plain, "{new}");
    }
}

#[test]
fn a_given_checksum_is_kept_and_tests_beyond_herd7_have_none() {
    let given = MP.replace("X86 MP\n", "X86 MP\nhash=0123\n");
    assert_eq!(hash(&given).as_deref(), Some("0123"));
    for (old, new) in [
        ("MOV [y],$1", "NEG [y]"),
        ("MOV [y],$1", "MOV [y],0x1"),
        ("x=0;", "unsigned int x=0;"),
    ] {
        assert_eq!(hash(&MP.replace(old, new)), None, "{new}");
    }
}
