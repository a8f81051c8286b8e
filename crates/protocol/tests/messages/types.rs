//! Values, types and sizes that do not fit.

use super::refused;

#[test]
fn boolean_wanted() {
    refused(
        "var x: 0..3;\n\
         rule x + 1 ==> x := 1; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is an integer
 --> model.m:2:6
  |
2 | rule x + 1 ==> x := 1; end;
  |      ^^^^^ expected a boolean
  |
  = help: only booleans are conditions; compare other values, as in `x != 0`
"#,
    );
}

#[test]
fn integer_to_boolean() {
    refused(
        "var x: 0..3; b: boolean;\n\
         rule b := x; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is an integer of 0..3
 --> model.m:2:11
  |
2 | rule b := x; end;
  |           ^ expected a boolean
  |
  = help: only booleans are conditions; compare other values, as in `x != 0`
"#,
    );
}

#[test]
fn wrong_index() {
    refused(
        "type P: scalarset(3);\n\
         var a: array [P] of boolean; x: 0..3;\n\
         rule a[1] := true; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: the index is an integer, but the array is indexed by a value of scalarset `P`
 --> model.m:3:8
  |
3 | rule a[1] := true; end;
  |        ^ expected a value of scalarset `P`
  |
  = help: index an array over a scalarset or an enum by its values
"#,
    );
}

#[test]
fn not_an_array() {
    refused(
        "var x: 0..3;\n\
         rule x[1] := 1; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is an integer of 0..3, which has no elements
 --> model.m:2:6
  |
2 | rule x[1] := 1; end;
  |      ^^^^ expected an array or a multiset before `[`
  |
  = help: arrays are declared as `array [INDEX] of TYPE`
"#,
    );
}

#[test]
fn not_a_record() {
    refused(
        "var x: 0..3;\n\
         rule x.y := 1; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is an integer of 0..3, which has no fields
 --> model.m:2:8
  |
2 | rule x.y := 1; end;
  |        ^ expected a record before `.`
  |
  = help: records are declared as `record … end`
"#,
    );
}

#[test]
fn arithmetic_on_scalarset() {
    refused(
        "type P: scalarset(3);\n\
         var p: P; x: 0..3;\n\
         rule x := p + 1; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `+` on a value of scalarset `P`
 --> model.m:3:11
  |
3 | rule x := p + 1; end;
  |           ^ expected integers
  |
  = help: scalarset values can only be compared with `=` and `!=`, because they may be permuted; use a range if they have an order
"#,
    );
}

#[test]
fn order_on_scalarset() {
    refused(
        "type P: scalarset(3);\n\
         var x: 0..3;\n\
         ruleset i: P; j: P do rule i < j ==> x := 1; end; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `<` on a value of scalarset `P`
 --> model.m:3:28
  |
3 | ruleset i: P; j: P do rule i < j ==> x := 1; end; end;
  |                            ^ expected integers
  |
  = help: scalarset values can only be compared with `=` and `!=`, because they may be permuted; use a range if they have an order

error: `<` on a value of scalarset `P`
 --> model.m:3:32
  |
3 | ruleset i: P; j: P do rule i < j ==> x := 1; end; end;
  |                                ^ expected integers
  |
  = help: scalarset values can only be compared with `=` and `!=`, because they may be permuted; use a range if they have an order
"#,
    );
}

#[test]
fn order_on_enum() {
    refused(
        "var s: enum {idle, busy}; x: 0..3;\n\
         rule s < busy ==> x := 1; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `<` on a value of enum without a name
 --> model.m:2:6
  |
2 | rule s < busy ==> x := 1; end;
  |      ^ expected integers
  |
  = help: only integers have arithmetic and an order

error: `<` on a value of enum without a name
 --> model.m:2:10
  |
2 | rule s < busy ==> x := 1; end;
  |          ^^^^ expected integers
  |
  = help: only integers have arithmetic and an order
"#,
    );
}

#[test]
fn other_enum() {
    refused(
        "type A: enum {idle}; B: enum {busy};\n\
         var a: A; x: 0..3;\n\
         invariant a = busy;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: a value of enum `A` and a value of enum `B` are compared
 --> model.m:3:11
  |
3 | invariant a = busy;
  |           ^^^^^^^^ expected two values of one type
  |
  = help: enums and scalarsets with equal members differ
"#,
    );
}

#[test]
fn range_of_variables() {
    refused(
        "var x: 0..3;\n\
         var y: 0..x;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is not a constant
 --> model.m:2:11
  |
2 | var y: 0..x;
  |           ^ expected numbers, constants and operators
  |
  = help: the end of a range must be known before the search begins
"#,
    );
}

#[test]
fn empty_range() {
    refused(
        "const N: 0;\n\
         var x: 1..N;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: the range 1..0 is empty
 --> model.m:2:8
  |
2 | var x: 1..N;
  |        ^^^^ expected an end that is 1 or more
  |
  = help: both ends belong to the range
"#,
    );
}

#[test]
fn size_of_scalarset() {
    refused(
        "type P: scalarset(0);\n\
         var x: 0..3;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: a scalarset of size 0
 --> model.m:1:19
  |
1 | type P: scalarset(0);
  |                   ^ expected a size from 1
  |
  = help: the size is the number of values
"#,
    );
}

#[test]
fn division_by_zero() {
    refused(
        "const N: 0; M: 7 / N;\n\
         var x: 0..3;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this constant cannot be computed: division by 0
 --> model.m:1:16
  |
1 | const N: 0; M: 7 / N;
  |                ^^^^^ expected a number of 64 bits
  |
  = help: constants are computed with 64 bits
"#,
    );
}

#[test]
fn step_of_zero() {
    refused(
        "var x: 0..3;\n\
         rule for i := 0 to 3 by 0 do x := i; end; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: the step is 0
 --> model.m:2:25
  |
2 | rule for i := 0 to 3 by 0 do x := i; end; end;
  |                         ^ expected a number that is not 0
  |
  = help: the loop would not end
"#,
    );
}

#[test]
fn array_too_large() {
    refused(
        "var a: array [0..100000000] of 0..1;\n\
         var x: 0..3;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: more than 1048576 cells in a variable
 --> model.m:1:8
  |
1 | var a: array [0..100000000] of 0..1;
  |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ expected at most 1048576
  |
  = help: the limit bounds the memory that reading a model takes
"#,
    );
}

#[test]
fn types_nested_too_large() {
    refused(
        "type A: array [0..9999] of 0..1; B: array [0..9999] of A;\n\
         var x: 0..3;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: more than 1048576 cells in a variable
 --> model.m:1:37
  |
1 | type A: array [0..9999] of 0..1; B: array [0..9999] of A;
  |                                     ^^^^^^^^^^^^^^^^^^^^ expected at most 1048576
  |
  = help: the limit bounds the memory that reading a model takes
"#,
    );
}

#[test]
fn array_over_record() {
    refused(
        "var a: array [record b: 0..1; end] of 0..1;\n\
         var x: 0..3;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: a record without a name has no values that can be enumerated
 --> model.m:1:15
  |
1 | var a: array [record b: 0..1; end] of 0..1;
  |               ^^^^^^^^^^^^^^^^^^^ expected a boolean, an enum, a range, a scalarset or a union
  |
  = help: the index of an array goes through all values of a type
"#,
    );
}

#[test]
fn integer_in_union() {
    refused(
        "type U: union {0..3, enum {a}};\n\
         var x: 0..3;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: an integer of 0..3 in a union
 --> model.m:1:16
  |
1 | type U: union {0..3, enum {a}};
  |                ^^^^ expected enums and scalarsets
  |
  = help: the type of a value tells which member it belongs to
"#,
    );
}
