//! Makes random models: all kinds of types, expressions and statements, small enough to search.

/// Makes one model.
pub struct Generator {
    random: u64,
    /// Whether values of scalarsets are used only in ways that have no order.
    is_symmetric: bool,
    /// Names in scope that stand for values of a kind.
    scope: Vec<(Kind, String)>,
    fresh: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Boolean,
    Range,
    Enum,
    Scalar,
    Union,
}

const KINDS: [Kind; 5] = [
    Kind::Boolean,
    Kind::Range,
    Kind::Enum,
    Kind::Scalar,
    Kind::Union,
];

impl Generator {
    pub fn new(seed: u64, is_symmetric: bool) -> Self {
        let mut generator = Generator {
            random: seed ^ 0x9e37_79b9_7f4a_7c15,
            is_symmetric,
            scope: Vec::new(),
            fresh: 0,
        };
        for _ in 0..8 {
            generator.below(2);
        }
        generator
    }

    fn below(&mut self, many: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % many
    }

    fn one(&mut self, choices: &[&str]) -> String {
        choices[self.below(choices.len() as u64) as usize].to_owned()
    }

    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("n{}", self.fresh)
    }

    pub fn model(&mut self) -> String {
        let size = 2 + self.below(2);
        let mut text = format!(
            "type P: scalarset({size}); E: enum {{ea, eb, ec}}; R: 0..3; S: -1..1;
             U: union {{P, enum {{none}}}};
             Rec: record f: R; g: E; q: P; w: U; end;
             var x: R; y: R; b: boolean; e: E; p: P; u: U; rec: Rec;
             rows: array [P] of Rec; nums: array [R] of R; held: array [U] of 0..1;
             bag: multiset [3] of Rec; few: multiset [2] of P;
             solo: array [P] of record only: P; end; deep: array [P] of array [0..0] of U;
             pair: array [P] of array [P] of boolean; net: array [P] of multiset [2] of Rec;\n"
        );
        text += "function bump(v: R): R; begin if v = 3 then return 0; else return v + 1; endif; end;\n";
        text += "function either(v: boolean; var r: Rec): E;
                 begin if v then return eb; endif; if isundefined(r.g) then return ea; endif;
                 return r.g; end;\n";
        text += "procedure mark(var r: Rec; v: R); var old: R;
                 begin if !isundefined(r.f) then old := r.f; r.f := v; else r.f := 0; endif; end;\n";
        let start = self.start();
        text += &start;
        for _ in 0..2 + self.below(4) {
            let rule = self.rule();
            text += &rule;
        }
        for _ in 0..self.below(3) {
            let condition = match self.below(4) {
                0 => self.condition(2),
                // Mostly true, so that searches go on.
                _ => format!("x = 3 & y = 3 & b -> {}", self.condition(2)),
            };
            let name = self.name();
            text += &format!("invariant \"{name}\" {condition};\n");
        }
        text
    }

    fn start(&mut self) -> String {
        let mut text = String::from(
            "startstate begin x := 0; y := 1; b := false; e := ea; clear nums; clear rec;
             undefine rec.q; undefine rec.w; ",
        );
        if self.below(3) > 0 {
            text += "for i: P do rows[i].f := 0; rows[i].g := ea; rows[i].w := none; end; ";
            text += "for i: U do held[i] := 0; end; ";
        }
        if self.below(3) > 0 {
            text += "u := none; ";
        }
        text + "end;\n"
    }

    fn with<T>(&mut self, kind: Kind, name: &str, make: impl FnOnce(&mut Self) -> T) -> T {
        self.scope.push((kind, name.to_owned()));
        let made = make(self);
        self.scope.pop();
        made
    }

    fn rule(&mut self) -> String {
        let (i, r) = (self.name(), self.name());
        let shape = self.below(5);
        let inner = |generator: &mut Self| {
            let guard = generator.condition(2);
            let mut body = String::new();
            for _ in 0..1 + generator.below(3) {
                body += &generator.statement(2);
            }
            let name = generator.name();
            format!("rule \"{name}\" {guard} ==> var l: R; k: Rec; begin {body} end;\n")
        };
        match shape {
            0 => inner(self),
            1 => {
                let rule = self.with(Kind::Range, &r, inner);
                format!("ruleset {r}: R do {rule} end;\n")
            }
            2 => {
                let rule = self.with(Kind::Scalar, &i, inner);
                format!("choose c{i}: few do alias {i}: few[c{i}] do {rule} end; end;\n")
            }
            3 => {
                let rule = self.with(Kind::Scalar, &i, |generator| {
                    generator.with(Kind::Range, &format!("{r}.f"), inner)
                });
                format!(
                    "ruleset {i}: P do choose c{r}: bag do alias {r}: bag[c{r}] do {rule} end; end; end;\n"
                )
            }
            _ => {
                let rule = self.with(Kind::Scalar, &i, inner);
                format!("ruleset {i}: P do {rule} end;\n")
            }
        }
    }

    fn in_scope(&mut self, kind: Kind) -> Option<String> {
        let found: Vec<String> = self
            .scope
            .iter()
            .filter(|(k, _)| *k == kind)
            .map(|(_, name)| name.clone())
            .collect();
        match found.is_empty() {
            true => None,
            false => Some(found[self.below(found.len() as u64) as usize].clone()),
        }
    }

    /// A place that holds a value of a kind.
    fn place(&mut self, kind: Kind) -> String {
        let row = match self.in_scope(Kind::Scalar) {
            Some(index) if self.below(3) > 0 => format!("rows[{index}]"),
            _ if self.below(4) == 0 => "rows[p]".into(),
            _ => "rec".into(),
        };
        match kind {
            Kind::Boolean => match (self.below(3), self.in_scope(Kind::Scalar)) {
                (0, Some(index)) => format!("pair[{index}][{}]", self.one(&["p", &index])),
                _ => "b".into(),
            },
            Kind::Range => match self.below(4) {
                0 => self.one(&["x", "y", "nums[x]", "nums[2]"]),
                1 => format!("{row}.f"),
                2 => format!("nums[{}]", self.one(&["x", "y", "1"])),
                _ => self.one(&["x", "y"]),
            },
            Kind::Enum => match self.below(2) {
                0 => "e".into(),
                _ => format!("{row}.g"),
            },
            Kind::Scalar => match (self.below(3), self.in_scope(kind)) {
                (0, _) => "p".into(),
                (1, Some(index)) => format!("solo[{index}].only"),
                _ => format!("{row}.q"),
            },
            Kind::Union => match (self.below(3), self.in_scope(Kind::Scalar)) {
                (0, _) => "u".into(),
                (1, Some(index)) => format!("deep[{index}][0]"),
                _ => format!("{row}.w"),
            },
        }
    }

    fn value(&mut self, kind: Kind, depth: u32) -> String {
        if depth > 0 && self.below(3) == 0 {
            let (test, a, b) = (
                self.condition(depth - 1),
                self.value(kind, depth - 1),
                self.value(kind, depth - 1),
            );
            return format!("({test} ? {a} : {b})");
        }
        if self.below(3) == 0
            && let Some(name) = self.in_scope(kind)
        {
            return name;
        }
        match kind {
            Kind::Boolean => self.condition(depth.saturating_sub(1)),
            Kind::Range if depth > 0 => match self.below(6) {
                0 => format!("bump({})", self.value(kind, depth - 1)),
                1 => format!("({} + 1) % 4", self.value(kind, depth - 1)),
                2 => format!("MultiSetCount(z: bag, bag[z].f = {})", self.place(kind)),
                3 => format!("3 - {}", self.place(kind)),
                4 => format!("({} / 2)", self.value(kind, depth - 1)),
                _ => self.place(kind),
            },
            Kind::Range => self.one(&["0", "1", "2", "3", "x", "y"]),
            Kind::Enum => match self.below(3) {
                0 => self.one(&["ea", "eb", "ec"]),
                1 => format!("either({}, rec)", self.one(&["b", "true", "x = 1"])),
                _ => self.place(kind),
            },
            Kind::Scalar => self.place(kind),
            Kind::Union => match self.below(3) {
                0 => "none".into(),
                _ => self.place(kind),
            },
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.below(6) {
                0 => "b".into(),
                1 => format!("{} < {}", self.place(Kind::Range), self.below(4)),
                2 => format!("isundefined({})", self.one(&["p", "u", "rec.q", "rec.w"])),
                3 => "ismember(u, P)".into(),
                4 => format!("e = {}", self.one(&["ea", "eb", "ec"])),
                _ => "true".into(),
            };
        }
        let less = depth - 1;
        match self.below(9) {
            0 => format!("({} & {})", self.condition(less), self.condition(less)),
            1 => format!("({} | {})", self.condition(less), self.condition(less)),
            2 => format!("!({})", self.condition(less)),
            3 => format!("({} -> {})", self.condition(less), self.condition(less)),
            4 => {
                let kind = KINDS[1 + self.below(4) as usize];
                let how = self.one(&["=", "!="]);
                format!("{} {how} {}", self.place(kind), self.value(kind, less))
            }
            5 => {
                let name = self.name();
                let how = self.one(&["forall", "exists"]);
                let body = self.with(Kind::Scalar, &name, |g| g.condition(less));
                format!("{how} {name}: P do isundefined(rows[{name}].f) | {body} end")
            }
            6 => {
                let name = self.name();
                let how = self.one(&["forall", "exists"]);
                let body = self.with(Kind::Range, &name, |g| g.condition(less));
                format!(
                    "{how} {name} := {} to {} do {body} end",
                    self.below(3),
                    self.one(&["2", "x"])
                )
            }
            7 => "MultiSetCount(z: few, few[z] = p) = 1".into(),
            _ => self.one(&[
                "rec = rows[p]",
                "rec != rec",
                "isundefined(rec.f)",
                "x >= y",
            ]),
        }
    }

    fn statement(&mut self, depth: u32) -> String {
        let less = depth.saturating_sub(1);
        match self.below(if depth > 0 { 16 } else { 8 }) {
            0..4 => {
                let kind = KINDS[self.below(5) as usize];
                let target = self.place(kind);
                match self.below(12) {
                    0 => format!("{target} := undefined; "),
                    _ => format!("{target} := {}; ", self.value(kind, less)),
                }
            }
            4 => "if MultiSetCount(z: bag, true) < 3 then MultiSetAdd(rec, bag); endif; ".into(),
            5 => match self.in_scope(Kind::Scalar) {
                Some(index) => {
                    format!(
                        "if MultiSetCount(z: few, true) < 2 then MultiSetAdd({index}, few); endif; "
                    )
                }
                None => "undefine few; ".into(),
            },
            6 => format!("mark(rec, {}); ", self.value(Kind::Range, less)),
            7 => self.one(&[
                "rec := rows[p]; ",
                "if !isundefined(p) then rows[p] := rec; endif; ",
                "k := rec; rec.f := bump(rec.f); ",
                "MultiSetRemovePred(z: bag, bag[z].f = x); ",
                "if x = 3 then clear bag; endif; ",
                "l := x; x := y; y := l; ",
            ]),
            8 | 9 => {
                let (test, yes, no) = (
                    self.condition(1),
                    self.statement(less),
                    self.statement(less),
                );
                format!("if {test} then {yes} else {no} endif; ")
            }
            10 => {
                let (a, b) = (self.statement(less), self.statement(less));
                format!("switch e case ea: {a} case eb, ec: {b} endswitch; ")
            }
            11 => {
                let name = self.name();
                let value = self.one(&["0", "x", "2", "3 - y"]);
                format!("for {name}: P do rows[{name}].f := {value}; endfor; ")
            }
            12 if !self.is_symmetric => {
                let name = self.name();
                let body = self.with(Kind::Scalar, &name, |g| g.statement(less));
                format!("for {name}: P do {body} endfor; ")
            }
            12 | 13 => {
                let name = self.name();
                let body = self.with(Kind::Range, &name, |g| g.statement(less));
                format!(
                    "for {name} := x to {} do {body} endfor; ",
                    self.one(&["3", "y"])
                )
            }
            14 => format!("while x < {} do x := x + 1; endwhile; ", 1 + self.below(3)),
            _ => {
                let (place, name) = (self.one(&["rec.f", "nums[x]", "y"]), self.name());
                let body = self.with(Kind::Range, &name, |g| g.statement(less));
                format!("alias {name}: {place} do {body} end; ")
            }
        }
    }
}
