//! Calls, statements and rules that do not fit.

use super::refused;

#[test]
fn argument_count() {
    refused(
        "var x: 0..3;\n\
         procedure p(y: 0..3); begin end;\n\
         rule p(1, 2); end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `p` is called with 2 arguments
 --> model.m:3:6
  |
3 | rule p(1, 2); end;
  |      ^ expected 1 argument
  |
  = help: compare with the declaration of `p`
"#,
    );
}

#[test]
fn var_argument_of_other_type() {
    refused(
        "var x: 0..3;\n\
         procedure p(var y: 0..7); begin y := 1; end;\n\
         rule p(x); end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is an integer of 0..3, but parameter `y` may be changed as an integer of 0..7
 --> model.m:3:8
  |
3 | rule p(x); end;
  |        ^ expected a variable that is an integer of 0..7
  |
  = help: a `var` parameter has exactly the type of its argument
"#,
    );
}

#[test]
fn var_argument_that_is_no_variable() {
    refused(
        "var x: 0..3;\n\
         procedure p(var y: 0..3); begin y := 1; end;\n\
         rule p(2); end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is not a variable
 --> model.m:3:8
  |
3 | rule p(2); end;
  |        ^ expected a variable to be changed
  |
  = help: constants, enum members and results are not variables
"#,
    );
}

#[test]
fn function_without_return() {
    refused(
        "var x: 0..3;\n\
         function f(): boolean; begin x := 1; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: function `f` never returns a value
 --> model.m:2:10
  |
2 | function f(): boolean; begin x := 1; end;
  |          ^ expected a `return` with a value
  |
  = help: return a value, or declare it as a `procedure`
"#,
    );
}

#[test]
fn return_of_value_from_rule() {
    refused(
        "var x: 0..3;\n\
         rule return 3; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `return` with a value here
 --> model.m:2:6
  |
2 | rule return 3; end;
  |      ^^^^^^^^ expected `return` without a value
  |
  = help: only functions return values
"#,
    );
}

#[test]
fn return_of_other_type() {
    refused(
        "var x: 0..3;\n\
         function f(): boolean; begin return 3; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is an integer
 --> model.m:2:37
  |
2 | function f(): boolean; begin return 3; end;
  |                                     ^ expected a boolean
  |
  = help: only booleans are conditions; compare other values, as in `x != 0`
"#,
    );
}

#[test]
fn undefined_as_value() {
    refused(
        "var x: 0..3;\n\
         rule x = undefined ==> x := 1; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `undefined` is used as a value
 --> model.m:2:10
  |
2 | rule x = undefined ==> x := 1; end;
  |          ^^^^^^^^^ expected a value
  |
  = help: assign it, pass it to a parameter, or test `isundefined(x)`
"#,
    );
}

#[test]
fn undefined_record() {
    refused(
        "var r: record a: 0..1; end; x: 0..3;\n\
         rule isundefined(r) ==> x := 1; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `isundefined` of a record without a name
 --> model.m:2:18
  |
2 | rule isundefined(r) ==> x := 1; end;
  |                  ^ expected a boolean, an enum, a range, a scalarset or a union
  |
  = help: test its fields or elements one by one
"#,
    );
}

#[test]
fn choose_from_array() {
    refused(
        "var a: array [0..3] of 0..1; x: 0..3;\n\
         choose i: a do rule x := 1; end; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is an array without a name
 --> model.m:2:11
  |
2 | choose i: a do rule x := 1; end; end;
  |           ^ expected a multiset
  |
  = help: integers of all ranges are compatible, and so are a union and its members
"#,
    );
}

#[test]
fn element_of_another_multiset() {
    refused(
        "var m: multiset [2] of 0..1; n: multiset [3] of 0..1; x: 0..3;\n\
         choose i: m do rule MultiSetRemove(i, n); end; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `i` stands for an element of another multiset
 --> model.m:2:36
  |
2 | choose i: m do rule MultiSetRemove(i, n); end; end;
  |                                    ^ expected an element of this multiset
  |
  = help: it belongs to the multiset where it is introduced
"#,
    );
}

#[test]
fn invariant_in_choose() {
    refused(
        "var m: multiset [2] of 0..1; x: 0..3;\n\
         choose i: m do invariant m[i] = 0; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: a property within `choose`
 --> model.m:2:16
  |
2 | choose i: m do invariant m[i] = 0; end;
  |                ^^^^^^^^^^^^^^^^^^ expected rules within `choose`, and nothing else
  |
  = help: move it there
"#,
    );
}

#[test]
fn assume_where_nothing_is_done() {
    refused(
        "var x: 0..3;\n\
         function few(): boolean; begin assume x < 2; return true; end;\n\
         function also(): boolean; begin return few(); end;\n\
         startstate x := 0; end;\n\
         rule also() ==> x := 1; end;\n\
         alias a: few() do rule a ==> x := 1; end; end;\n\
         invariant x = 0 | also();\n",
        r#"
error: a call of a function that has `assume` within a guard, or an alias around a rule
 --> model.m:5:6
  |
5 | rule also() ==> x := 1; end;
  |      ^^^^ expected such calls in the statements of rules and start states
  |
  = help: move it there

error: a call of a function that has `assume` within a guard, or an alias around a rule
 --> model.m:6:10
  |
6 | alias a: few() do rule a ==> x := 1; end; end;
  |          ^^^ expected such calls in the statements of rules and start states
  |
  = help: move it there

error: a call of a function that has `assume` within a property
 --> model.m:7:19
  |
7 | invariant x = 0 | also();
  |                   ^^^^ expected such calls in the statements of rules and start states
  |
  = help: move it there
"#,
    );
}

#[test]
fn ruleset_over_variables() {
    refused(
        "var x: 0..3;\n\
         ruleset i := 0 to x do rule x := i; end; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is not a constant
 --> model.m:2:14
  |
2 | ruleset i := 0 to x do rule x := i; end; end;
  |              ^ expected numbers, constants and operators
  |
  = help: the values of a ruleset must be known before the search begins
"#,
    );
}

#[test]
fn branches_of_other_types() {
    refused(
        "var x: 0..3;\n\
         rule x := x = 1 ? 2 : true; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is a boolean
 --> model.m:2:23
  |
2 | rule x := x = 1 ? 2 : true; end;
  |                       ^^^^ expected an integer
  |
  = help: integers of all ranges are compatible, and so are a union and its members
"#,
    );
}

#[test]
fn case_of_other_type() {
    refused(
        "var s: enum {idle, busy}; x: 0..3;\n\
         rule switch s case idle: x := 1; case 2: x := 2; end; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is an integer
 --> model.m:2:39
  |
2 | rule switch s case idle: x := 1; case 2: x := 2; end; end;
  |                                       ^ expected a value of enum without a name
  |
  = help: integers of all ranges are compatible, and so are a union and its members
"#,
    );
}
