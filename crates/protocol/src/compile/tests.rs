//! Compiled code and the reference, one step at a time, in random states that need not be
//! reachable: the same instances enabled, the same states after them, the same faults at the same
//! places.

mod generate;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fencepost_memory::random::SplitMix64;

use super::{FaultCode, Program, status};
use crate::model::types::{TypeId, TypeKind, Types};
use crate::model::{Model, PropertyKind};
use crate::outcome::Fault;
use crate::outcome::Value;
use crate::reference::{Options, Stepper};
use crate::search::retrace::lay_out;
use crate::{Limits, Model as Read};

struct RandomValues(SplitMix64);

impl RandomValues {
    fn value(&mut self, types: &Types, id: TypeId) -> Value {
        match &types[id].kind {
            TypeKind::Record(fields) => {
                let fields = fields.iter();
                Value::Parts(fields.map(|f| self.value(types, f.type_id)).collect())
            }
            TypeKind::Array { index, element } => {
                let many = types[*index].cardinality().unwrap_or(0);
                Value::Parts((0..many).map(|_| self.value(types, *element)).collect())
            }
            TypeKind::Multiset { capacity, element } => Value::Elements(
                (0..*capacity)
                    .map(|_| match self.0.below(2) {
                        0 => None,
                        _ => Some(self.value(types, *element)),
                    })
                    .collect(),
            ),
            _ => match self.0.below(6) {
                0 => Value::Undefined,
                _ => {
                    let (low, high) = types[id].bounds().unwrap_or((0, 0));
                    Value::Simple(low + self.0.below((high - low + 1) as u64) as i64)
                }
            },
        }
    }
}

fn site(fault: &Fault) -> u64 {
    FaultCode::of(&fault.kind).site(fault.span)
}

fn words(program: &Program, model: &Model, state: &[Value]) -> Vec<u64> {
    let mut words = vec![0; program.layout.masks.len()];
    lay_out(model, &program.layout, state, &mut words);
    words
}

/// Returns how many steps and faults were compared.
fn compare(text: &str, random: &mut RandomValues, states: u64) -> (u64, u64) {
    let model = Read::read(text.as_bytes(), &[], &Limits::default())
        .unwrap_or_else(|error| panic!("{}", error.render("model.m")));
    let options = Options {
        max_loop_iterations: 20,
        ..Options::default()
    };
    let program = Program::new(&model, true, options.max_loop_iterations).expect("compiles");
    let mut stepper = Stepper::new(&model, &options);
    let mut context = program.context(Arc::new(AtomicBool::new(false)));
    let (mut steps, mut faults) = (0, 0);
    for _ in 0..states {
        let globals = model.globals.iter();
        let state: Vec<Value> = globals
            .map(|g| random.value(&model.types, g.type_id))
            .collect();
        let before = words(&program, &model, &state);
        for (index, rule) in model.rules.iter().enumerate() {
            let mut scanned = before.clone();
            context.save(&before);
            context.forget();
            let found = program.scan(index, &mut scanned, &mut context);
            assert_eq!(scanned, before, "guards change nothing for good\n{text}");
            let expected = stepper.enabled_of(&state, index);
            let enabled = match expected {
                Err(fault) => {
                    faults += 1;
                    assert_eq!(found, status::FAULT, "{rule:?}\n{state:?}\n{text}");
                    assert_eq!(context.site(), site(&fault), "{fault:?}\n{state:?}\n{text}");
                    continue;
                }
                Ok(enabled) => enabled,
            };
            assert_eq!(
                found,
                status::DONE,
                "{}\n{state:?}\n{text}",
                model.rule_name(index)
            );
            let flat: Vec<i64> = enabled
                .iter()
                .flat_map(|each| {
                    std::iter::once(index as i64).chain(each.parameters.iter().copied())
                })
                .collect();
            assert_eq!(
                context.enabled(),
                flat,
                "{}\n{state:?}\n{text}",
                model.rule_name(index)
            );
            for instance in enabled {
                steps += 1;
                let mut after = before.clone();
                let fired = program.fire(index, &mut after, &mut context, &instance.parameters);
                match stepper.try_fire(&state, &instance) {
                    Ok(Some(next)) => {
                        assert_eq!(fired, status::DONE, "{instance:?}\n{state:?}\n{text}");
                        let expected = words(&program, &model, &next);
                        assert_eq!(after, expected, "{instance:?}\n{state:?}\n{text}");
                    }
                    Ok(None) => assert_eq!(fired, status::ASSUMPTION),
                    Err(fault) => {
                        faults += 1;
                        assert_eq!(fired, status::FAULT, "{fault:?}\n{state:?}\n{text}");
                        assert_eq!(context.site(), site(&fault), "{fault:?}\n{state:?}\n{text}");
                    }
                }
            }
        }
        for (index, property) in model.properties.iter().enumerate() {
            if property.kind != PropertyKind::Invariant {
                continue;
            }
            let mut scratch = before.clone();
            let found = program.property(index, &mut scratch, &mut context);
            match stepper.holds(&state, index) {
                Ok(holds) => assert_eq!(found, i64::from(holds), "{state:?}\n{text}"),
                Err(fault) => {
                    faults += 1;
                    assert_eq!(found, status::FAULT, "{fault:?}\n{state:?}\n{text}");
                    assert_eq!(context.site(), site(&fault), "{fault:?}\n{state:?}\n{text}");
                }
            }
        }
    }
    (steps, faults)
}

#[test]
fn single_steps_agree_on_random_models() {
    let mut random = RandomValues(SplitMix64::new(0x1234_5678_9abc_def1));
    let (mut steps, mut faults) = (0, 0);
    for seed in 0..60 {
        let text = generate::Generator::new(seed, false).model();
        let compared = compare(&text, &mut random, 40);
        steps += compared.0;
        faults += compared.1;
    }
    assert!(
        steps > 1000 && faults > 1000,
        "{steps} steps, {faults} faults"
    );
}

/// What random models have not, or seldom.
#[test]
fn single_steps_agree_on_chosen_models() {
    let mut random = RandomValues(SplitMix64::new(99));
    let (mut steps, mut faults) = (0, 0);
    for text in [
        // Wide ranges, arithmetic that overflows, shifts, division.
        "var a: -5000000000..5000000000; b: 0..70000; c: -300..300; d: 0..9223372036854775806;
         startstate end;
         rule a := a * b; end; rule a := a / c; end; rule a := a % c; end; rule c := b - 60000; end;
         rule d := d + b; end; rule d := d * d; end; rule c := -c; end; rule b := (a >> c) & 255; end;
         rule d := (d << c) | 1; end; rule c := (c ^ b) & 63; end; rule d := d - 1; end;",
        // Functions with side effects in guards, results that are records, undefined results.
        "type R: record f: 0..3; g: boolean; end; var x: R; y: array [0..3] of R; n: 0..3; z: R;
         function change(): boolean; begin n := 3 - n; return true; end;
         function whole(i: 0..3): R; begin if i > 2 then return undefined; end; return y[i]; end;
         function maybe(i: 0..3): 0..3; begin if i = 1 then return undefined; end;
           if i = 2 then return i; end; end;
         startstate end;
         rule change() & n > 1 ==> x := whole(n); end;
         ruleset i: 0..3 do rule whole(i) = x ==> n := maybe(i); end; rule n = maybe(i) ==> n := 0; end;
           rule (i = 1 ? x : whole(i)) = whole(3 - i) ==> y[i] := whole(3 - i); end; end;
         rule y[n].f = 1 ==> y[n].f := y[n].f + y[3 - n].f; end;
         invariant change() -> n = 2;",
        // Multisets within records within multisets; elements that go while they are used.
        "type M: multiset [2] of 0..2; E: record k: 0..2; m: M; end;
         var bag: multiset [2] of E; other: multiset [2] of E; one: E; n: 0..3;
         procedure drop(var e: E; v: 0..2); begin MultiSetRemovePred(i: bag, bag[i].k = v); e.k := v; end;
         startstate end;
         choose i: bag do rule MultiSetRemove(i, bag); bag[i].k := 1; end;
           rule drop(bag[i], 1); end;
           alias e: bag[i] do rule e.k = 1 ==> MultiSetAdd(2, e.m); end;
             rule MultiSetRemove(i, bag); e.k := 2; end; end;
           choose j: bag do rule bag[i].k < bag[j].k ==> bag[i] := bag[j]; end; end;
           rule MultiSetAdd(bag[i], other); end; end;
         rule bag = other ==> clear bag; end; rule one.m != one.m ==> undefine bag; end;
         rule n := MultiSetCount(i: bag, MultiSetCount(j: bag[i].m, bag[i].m[j] = 1) = 1); end;
         invariant MultiSetCount(i: bag, isundefined(bag[i].k)) = 0;",
        // Unions, conversions, arrays with unions as index.
        "type P: scalarset(3); H: enum {h, k}; U: union {P, H}; V: union {H, enum {none}};
         var p: P; u: U; v: V; e: H; a: array [U] of V; b: array [P] of U;
         startstate end;
         rule p := u; end; rule u := v; end; rule v := u; end; rule e := v; end; rule u := p; end;
         rule a[u] := e; end; rule a[v] := v; end; rule b[p] := u; end; rule b[u] = v ==> p := b[p]; end;
         rule ismember(u, P) ==> u := b[u]; end; rule a[p] = e ==> undefine a; end;
         ruleset q: P do rule b[q] = q ==> clear b; end; end;
         rule switch u case h: v := none; case p: v := h; else e := k; end; end;
         invariant forall q: U do q = u -> a[q] != v end;",
        // Loops with computed ends and steps, while, return within loops, assume, cover, put.
        "var x: 0..9; y: -3..9; z: array [0..9] of 0..9;
         function first(v: 0..9): 0..9; begin for i := 0 to 9 by 2 do if z[i] = v then return i; end;
           end; while true do y := y + 1; if y = v then return y; end; end; end;
         procedure fill(var t: 0..9; n: 0..9); begin for i := n to 0 by y do t := i; end; end;
         startstate end;
         rule x := first(x); end; rule fill(z[x], x); end; rule fill(x, y); end;
         rule assume x < 5; cover y = 1; put x; assert y > 0 \"positive\"; x := y; end;
         rule error \"always\"; end; rule for i := x to y do z[i] := i; end; end;
         rule x := y = 0 ? z[x] : z[y]; end; rule alias a: z[x]; b: a + 1 do x := 9 - x; a := b; end; end;
         invariant exists i := x to y do z[i] = i end;",
    ] {
        let compared = compare(text, &mut random, 300);
        steps += compared.0;
        faults += compared.1;
    }
    assert!(
        steps > 1000 && faults > 1000,
        "{steps} steps, {faults} faults"
    );
}
