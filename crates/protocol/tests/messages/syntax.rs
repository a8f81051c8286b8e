//! Syntax errors.

use super::refused;

#[test]
fn bad_character() {
    refused(
        "var x: 0..3 §§;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: unexpected character `§§`
 --> model.m:1:13
  |
1 | var x: 0..3 §§;
  |             ^^ expected a name, a number or an operator
  |
  = help: comments begin with `--`, or stand in `/* … */`
"#,
    );
}

#[test]
fn unterminated_comment() {
    refused(
        "var x: 0..3;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n\
         /* the end",
        r#"
error: this comment does not end
 --> model.m:4:1
  |
4 | /* the end
  | ^^ expected `*/`
  |
  = help: comments do not nest; this one never ends
"#,
    );
}

#[test]
fn unterminated_text() {
    refused(
        "var x: 0..3;\n\
         rule \"name x := 1; end;\n",
        r#"
error: this text in quotes does not end
 --> model.m:2:6
  |
2 | rule "name x := 1; end;
  |      ^^^^^^^^^^^^^^^^^^ expected `"` on the same line
  |
  = help: put the closing quote before the end of the line

error: the file ends here
 --> model.m:3:1
  |
3 |
  | ^ expected `end` or `endrule`
  |
  = help: close every block with `end`; the file may be truncated
"#,
    );
}

#[test]
fn bad_number() {
    refused(
        "const N: 12ab;\n",
        r#"
error: `12ab` is not a number
 --> model.m:1:10
  |
1 | const N: 12ab;
  |          ^^^^ expected decimal digits, or hexadecimal ones after `0x`
  |
  = help: names do not begin with a digit
"#,
    );
}

#[test]
fn number_too_large() {
    refused(
        "const N: 99999999999999999999;\n",
        r#"
error: number 99999999999999999999 is too large
 --> model.m:1:10
  |
1 | const N: 99999999999999999999;
  |          ^^^^^^^^^^^^^^^^^^^^ expected a number up to 9223372036854775807
  |
  = help: numbers are 64 bits wide
"#,
    );
}

#[test]
fn floating_point_number() {
    refused(
        "const N: 1.5;\n",
        r#"
error: floating-point numbers are not supported
 --> model.m:1:10
  |
1 | const N: 1.5;
  |          ^^^ expected an integer
  |
  = help: models are read as by CMurphi and Rumur, but without floating-point numbers, probabilities, liveness and functions in C++
"#,
    );
}

#[test]
fn floating_point_type() {
    refused(
        "var t: real(6, 10);\n",
        r#"
error: floating-point types are not supported
 --> model.m:1:8
  |
1 | var t: real(6, 10);
  |        ^^^^ expected an integer range
  |
  = help: models are read as by CMurphi and Rumur, but without floating-point numbers, probabilities, liveness and functions in C++
"#,
    );
}

#[test]
fn probabilistic_formula() {
    refused(
        "var x: 0..3;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n\
         pctl [x = 1];\n",
        r#"
error: probabilistic formulas are not supported
 --> model.m:4:1
  |
4 | pctl [x = 1];
  | ^^^^ expected `invariant`, `assert` or `cover`
  |
  = help: models are read as by CMurphi and Rumur, but without floating-point numbers, probabilities, liveness and functions in C++
"#,
    );
}

#[test]
fn function_in_cpp() {
    refused(
        "var x: 0..3;\n\
         externfun f(): boolean \"f.h\";\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: functions in C++ are not supported
 --> model.m:2:1
  |
2 | externfun f(): boolean "f.h";
  | ^^^^^^^^^ expected a function in Murphi
  |
  = help: models are read as by CMurphi and Rumur, but without floating-point numbers, probabilities, liveness and functions in C++
"#,
    );
}

#[test]
fn liveness() {
    refused(
        "var x: 0..3;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n\
         liveness x = 1;\n",
        r#"
error: liveness properties are not supported
 --> model.m:4:1
  |
4 | liveness x = 1;
  | ^^^^^^^^ expected `invariant`, `assert` or `cover`
  |
  = help: models are read as by CMurphi and Rumur, but without floating-point numbers, probabilities, liveness and functions in C++
"#,
    );
}

#[test]
fn keyword_as_name() {
    refused(
        "var\n\
         \x20 rule: 0..3;\n",
        r#"
error: unexpected `rule`
 --> model.m:2:3
  |
2 |   rule: 0..3;
  |   ^^^^ expected a name, which cannot be a keyword
  |
  = help: it is a keyword: the text before may be unfinished, or it is used as a name
"#,
    );
}

#[test]
fn missing_type() {
    refused(
        "var x: ;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: unexpected `;`
 --> model.m:1:8
  |
1 | var x: ;
  |        ^ expected a type: a name, a range, `enum`, `record`, `array`, `scalarset`, `union` or `multiset`
  |
  = help: something is missing before it
"#,
    );
}

#[test]
fn missing_of() {
    refused(
        "var a: array [0..3] 0..1;\n",
        r#"
error: unexpected `0`
 --> model.m:1:21
  |
1 | var a: array [0..3] 0..1;
  |                     ^ expected `of` and the type of the elements
  |
  = help: the text before may be unfinished
"#,
    );
}

#[test]
fn missing_semicolon() {
    refused(
        "var x: 0..3;\n\
         rule\n\
         \x20 x := 1\n\
         \x20 x := 2;\n\
         end;\n",
        r#"
error: unexpected `x`
 --> model.m:4:3
  |
4 |   x := 2;
  |   ^ expected `;` or the end of the block
  |
  = help: statements are separated by `;`; the one before may be unfinished
"#,
    );
}

#[test]
fn equals_for_assignment() {
    refused(
        "var x: 0..3;\n\
         rule x = 1; end;\n",
        r#"
error: unexpected `=`
 --> model.m:2:8
  |
2 | rule x = 1; end;
  |        ^ expected `:=` and a value, or arguments in parentheses
  |
  = help: `:=` assigns, `=` compares
"#,
    );
}

#[test]
fn assignment_for_equals() {
    refused(
        "var x: 0..3;\n\
         rule x := 1 ==> x := 2; end;\n",
        r#"
error: unexpected `:=`
 --> model.m:2:8
  |
2 | rule x := 1 ==> x := 2; end;
  |        ^^ expected an operator or `==>`
  |
  = help: `:=` assigns, `=` compares
"#,
    );
}

#[test]
fn wrong_end() {
    refused(
        "var x: 0..3;\n\
         rule\n\
         \x20 if x = 1 then\n\
         \x20   x := 2;\n\
         \x20 endfor;\n\
         end;\n",
        r#"
error: `endfor` does not close the `if` of line 3, column 3
 --> model.m:5:3
  |
5 |   endfor;
  |   ^^^^^^ expected `end` or `endif`
  |
  = help: `end` alone closes any block
"#,
    );
}

#[test]
fn missing_end() {
    refused(
        "var x: 0..3;\n\
         rule\n\
         \x20 if x = 1 then\n\
         \x20   x := 2;\n",
        r#"
error: the file ends here
 --> model.m:5:1
  |
5 |
  | ^ expected `end` or `endif`
  |
  = help: close every block with `end`; the file may be truncated
"#,
    );
}

#[test]
fn missing_then() {
    refused(
        "var x: 0..3;\n\
         rule\n\
         \x20 if x = 1\n\
         \x20   x := 2;\n\
         \x20 end;\n\
         end;\n",
        r#"
error: unexpected `x`
 --> model.m:4:5
  |
4 |     x := 2;
  |     ^ expected an operator or `then`
  |
  = help: the text before may be unfinished
"#,
    );
}

#[test]
fn chained_comparison() {
    refused(
        "var x: 0..3;\n\
         invariant 0 < x < 3;\n",
        r#"
error: `<` after another operator of its kind
 --> model.m:2:17
  |
2 | invariant 0 < x < 3;
  |                 ^ expected parentheses
  |
  = help: comparisons do not chain; write `a = b & b = c`
"#,
    );
}

#[test]
fn chained_implication() {
    refused(
        "var x: 0..3;\n\
         invariant x = 1 -> x = 2 -> x = 3;\n",
        r#"
error: `->` after another operator of its kind
 --> model.m:2:26
  |
2 | invariant x = 1 -> x = 2 -> x = 3;
  |                          ^^ expected parentheses
  |
  = help: write `a -> (b -> c)` or `(a -> b) -> c`
"#,
    );
}

#[test]
fn declaration_among_statements() {
    refused(
        "var x: 0..3;\n\
         rule x := 1; var y: 0..1; begin end;\n",
        r#"
error: a declaration within statements
 --> model.m:2:14
  |
2 | rule x := 1; var y: 0..1; begin end;
  |              ^^^ expected declarations before `begin` and all statements
  |
  = help: move it there

error: unexpected `begin`
 --> model.m:2:27
  |
2 | rule x := 1; var y: 0..1; begin end;
  |                           ^^^^^ expected a statement
  |
  = help: it is a keyword: the text before may be unfinished, or it is used as a name
"#,
    );
}

#[test]
fn several_mistakes_at_once() {
    refused(
        "var x: 0..3;\n\
         rule x == 1; end;\n\
         rule\n\
         \x20 x := ;\n\
         \x20 x := (1;\n\
         \x20 x := 1;\n\
         end;\n\
         invariant x = ;\n",
        r#"
error: unexpected `==`
 --> model.m:2:8
  |
2 | rule x == 1; end;
  |        ^^ expected `:=` and a value, or arguments in parentheses
  |
  = help: `:=` assigns, `=` compares

error: unexpected `;`
 --> model.m:4:8
  |
4 |   x := ;
  |        ^ expected a value: a name, a number, `(`, an operator, `forall` or `exists`
  |
  = help: something is missing before it

error: unexpected `;`
 --> model.m:5:10
  |
5 |   x := (1;
  |          ^ expected an operator or `)`
  |
  = help: something is missing before it

error: unexpected `;`
 --> model.m:8:15
  |
8 | invariant x = ;
  |               ^ expected a value: a name, a number, `(`, an operator, `forall` or `exists`
  |
  = help: something is missing before it
"#,
    );
}

#[test]
fn nothing_at_all() {
    refused(
        "hello world\n",
        r#"
error: unexpected `hello`
 --> model.m:1:1
  |
1 | hello world
  | ^^^^^ expected a declaration, a function or a rule
  |
  = help: the text before may be unfinished
"#,
    );
}
