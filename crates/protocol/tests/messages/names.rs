//! Names that are not declared, or of another kind.

use super::refused;

#[test]
fn unknown_variable() {
    refused(
        "var x: 0..3;\n\
         var owner: 0..3;\n\
         rule ownr := 1; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: name `ownr` is not declared
 --> model.m:3:6
  |
3 | rule ownr := 1; end;
  |      ^^^^ did you mean `owner`?
  |
  = help: names are case-sensitive, keywords are not
"#,
    );
}

#[test]
fn unknown_variable_unlike_others() {
    refused(
        "var x: 0..3;\n\
         rule x := frobnicate; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: name `frobnicate` is not declared
 --> model.m:2:11
  |
2 | rule x := frobnicate; end;
  |           ^^^^^^^^^^ expected a name that is declared above
  |
  = help: names are case-sensitive, keywords are not
"#,
    );
}

#[test]
fn unknown_type() {
    refused(
        "type Node: 0..3;\n\
         var x: Nod;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: type `Nod` is not declared
 --> model.m:2:8
  |
2 | var x: Nod;
  |        ^^^ did you mean `Node`?
  |
  = help: types are declared in a `type` section before they are used
"#,
    );
}

#[test]
fn unknown_function() {
    refused(
        "var x: 0..3;\n\
         rule advance(); end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: function `advance` is not declared
 --> model.m:2:6
  |
2 | rule advance(); end;
  |      ^^^^^^^ expected a function or procedure of the model
  |
  = help: functions and procedures stand beside the rules, in any order
"#,
    );
}

#[test]
fn case_matters_in_names() {
    refused(
        "const N: 3;\n\
         var x: 0..n;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: name `n` is not declared
 --> model.m:2:11
  |
2 | var x: 0..n;
  |           ^ did you mean `N`?
  |
  = help: names are case-sensitive, keywords are not
"#,
    );
}

#[test]
fn duplicate_variable() {
    refused(
        "var x: 0..3;\n\
         var x: boolean;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `x` is declared twice
 --> model.m:2:5
  |
2 | var x: boolean;
  |     ^ expected another name
  |
  = help: it is declared in line 1, column 5 too; rename one of them
"#,
    );
}

#[test]
fn duplicate_enum_member() {
    refused(
        "type A: enum {idle, busy};\n\
         type B: enum {busy};\n",
        r#"
error: `busy` is declared twice
 --> model.m:2:15
  |
2 | type B: enum {busy};
  |               ^^^^ expected another name
  |
  = help: it is declared in line 1, column 21 too; rename one of them
"#,
    );
}

#[test]
fn duplicate_field() {
    refused(
        "var r: record a: 0..1; a: 0..2; end;\n",
        r#"
error: `a` is declared twice
 --> model.m:1:24
  |
1 | var r: record a: 0..1; a: 0..2; end;
  |                        ^ expected another name
  |
  = help: it is declared in line 1, column 15 too; rename one of them
"#,
    );
}

#[test]
fn built_in_name() {
    refused(
        "const True: 3;\n",
        r#"
error: `True` is built in
 --> model.m:1:7
  |
1 | const True: 3;
  |       ^^^^ expected another name
  |
  = help: this name is built in; choose another one
"#,
    );
}

#[test]
fn variable_as_type() {
    refused(
        "var x: 0..3;\n\
         var y: x;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `x` is a variable
 --> model.m:2:8
  |
2 | var y: x;
  |        ^ expected a type
  |
  = help: constants, types, variables, enum members and functions share one namespace
"#,
    );
}

#[test]
fn type_as_value() {
    refused(
        "type T: 0..3;\n\
         var x: T;\n\
         rule x := T; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `T` is a type
 --> model.m:3:11
  |
3 | rule x := T; end;
  |           ^ expected a variable or a constant
  |
  = help: constants, types, variables, enum members and functions share one namespace
"#,
    );
}

#[test]
fn procedure_as_value() {
    refused(
        "var x: 0..3;\n\
         procedure p(); begin x := 1; end;\n\
         rule x := p(); end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `p` is a procedure
 --> model.m:3:11
  |
3 | rule x := p(); end;
  |           ^ expected a function, which returns a value
  |
  = help: constants, types, variables, enum members and functions share one namespace
"#,
    );
}

#[test]
fn unknown_field() {
    refused(
        "var r: record value: 0..3; end;\n\
         startstate r.valeu := 1; end;\n",
        r#"
error: there is no field `valeu` in this record
 --> model.m:2:14
  |
2 | startstate r.valeu := 1; end;
  |              ^^^^^ did you mean `value`?
  |
  = help: names are case-sensitive
"#,
    );
}

#[test]
fn function_of_floating_point_numbers() {
    refused(
        "var x: 0..3;\n\
         rule x := floor(x); end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: functions on floating-point numbers are not supported
 --> model.m:2:11
  |
2 | rule x := floor(x); end;
  |           ^^^^^ expected integers
  |
  = help: models are read as by CMurphi and Rumur, but without floating-point numbers, probabilities, liveness and functions in C++
"#,
    );
}

#[test]
fn assignment_to_constant() {
    refused(
        "const N: 3;\n\
         var x: 0..3;\n\
         rule N := 1; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: constant `N` cannot be changed
 --> model.m:3:6
  |
3 | rule N := 1; end;
  |      ^ expected a variable
  |
  = help: declare it in a `var` section if it changes
"#,
    );
}

#[test]
fn assignment_to_rule_parameter() {
    refused(
        "var x: 0..3;\n\
         ruleset i: 0..3 do rule i := 1; end; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `i` cannot be changed
 --> model.m:2:25
  |
2 | ruleset i: 0..3 do rule i := 1; end; end;
  |                         ^ expected a variable
  |
  = help: parameters of rules, loop variables and names of values are fixed
"#,
    );
}

#[test]
fn assignment_to_value_parameter() {
    refused(
        "var x: 0..3;\n\
         procedure p(y: 0..3); begin y := 1; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: parameter `y` cannot be changed
 --> model.m:2:29
  |
2 | procedure p(y: 0..3); begin y := 1; end;
  |                             ^ expected a variable
  |
  = help: declare it as a `var` parameter, or copy it to a local variable
"#,
    );
}

#[test]
fn assignment_to_expression() {
    refused(
        "var x: 0..3;\n\
         rule clear f(); end;\n\
         function f(): 0..3; begin return 1; end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: this is not a variable
 --> model.m:2:12
  |
2 | rule clear f(); end;
  |            ^^^ expected a variable to clear
  |
  = help: constants, enum members and results are not variables
"#,
    );
}

#[test]
fn recursion() {
    refused(
        "var x: 0..3;\n\
         function f(a: 0..3): 0..3; begin return g(a); end;\n\
         function g(a: 0..3): 0..3; begin return f(a); end;\n\
         startstate x := 0; end;\n\
         rule x := 1; end;\n",
        r#"
error: `f` calls itself through `g`
 --> model.m:3:41
  |
3 | function g(a: 0..3): 0..3; begin return f(a); end;
  |                                         ^ expected functions that do not call themselves
  |
  = help: use a loop instead
"#,
    );
}

#[test]
fn no_start_state() {
    refused(
        "var x: 0..3;\n\
         rule x := 1; end;\n",
        r#"
error: the model has no start state
 --> model.m:2:1
  |
2 | rule x := 1; end;
  | ^^^^ expected `startstate`
  |
  = help: add `startstate … end`: the search begins with its states
"#,
    );
}

#[test]
fn no_rule() {
    refused(
        "var x: 0..3;\n\
         startstate x := 0; end;\n",
        r#"
error: the model has no rule
 --> model.m:2:1
  |
2 | startstate x := 0; end;
  | ^^^^^^^^^^ expected `rule`
  |
  = help: add `rule GUARD ==> … end`: rules lead from state to state
"#,
    );
}
