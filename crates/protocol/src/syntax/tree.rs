//! The syntax tree, before names are resolved.

use crate::source::Span;

/// A name and its span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'s> {
    pub text: &'s str,
    pub span: Span,
}

/// A whole file.
#[derive(Debug, Default)]
pub(crate) struct File<'s> {
    pub declarations: Vec<Declaration<'s>>,
    pub functions: Vec<Function<'s>>,
    pub rules: Vec<RuleTree<'s>>,
}

/// One group of a `const`, `type` or `var` section.
#[derive(Debug)]
pub(crate) enum Declaration<'s> {
    Constant(Vec<Name<'s>>, Expr<'s>),
    Type(Vec<Name<'s>>, TypeTree<'s>),
    Variable(Vec<Name<'s>>, TypeTree<'s>),
}

/// A type.
#[derive(Debug)]
pub(crate) struct TypeTree<'s> {
    pub kind: TypeTreeKind<'s>,
    pub span: Span,
}

#[derive(Debug)]
pub(crate) enum TypeTreeKind<'s> {
    Named(&'s str),
    Range(Box<Expr<'s>>, Box<Expr<'s>>),
    Enum(Vec<Name<'s>>),
    Record(Vec<(Vec<Name<'s>>, TypeTree<'s>)>),
    Array(Box<TypeTree<'s>>, Box<TypeTree<'s>>),
    Scalarset(Box<Expr<'s>>),
    Union(Vec<TypeTree<'s>>),
    Multiset(Box<Expr<'s>>, Box<TypeTree<'s>>),
}

/// An expression.
#[derive(Debug)]
pub(crate) struct Expr<'s> {
    pub kind: ExprKind<'s>,
    pub span: Span,
    /// How deep it is.
    pub depth: u16,
}

#[derive(Debug)]
pub(crate) enum ExprKind<'s> {
    Number(i64),
    Name(&'s str),
    Field(Box<Expr<'s>>, Name<'s>),
    Index(Box<Expr<'s>>, Box<Expr<'s>>),
    Call(Name<'s>, Vec<Expr<'s>>),
    Unary(&'static str, Box<Expr<'s>>),
    Binary(&'static str, Box<Expr<'s>>, Box<Expr<'s>>),
    /// Operands joined by `&`, `&&`, `|` or `||`. A list, because generated models have
    /// thousands in a row.
    Chain(&'static str, Vec<Expr<'s>>),
    Conditional(Box<[Expr<'s>; 3]>),
    Quantified {
        every: bool,
        quantifiers: Vec<Quantifier<'s>>,
        body: Box<Expr<'s>>,
    },
    IsUndefined(Box<Expr<'s>>),
    IsMember(Box<Expr<'s>>, Box<TypeTree<'s>>),
    MultisetCount {
        binder: Name<'s>,
        multiset: Box<Expr<'s>>,
        condition: Box<Expr<'s>>,
    },
}

/// `i : T` or `i := a to b by c`.
#[derive(Debug)]
pub(crate) struct Quantifier<'s> {
    pub name: Name<'s>,
    pub domain: DomainTree<'s>,
}

#[derive(Debug)]
pub(crate) enum DomainTree<'s> {
    Type(TypeTree<'s>),
    Steps {
        from: Expr<'s>,
        to: Expr<'s>,
        by: Option<Expr<'s>>,
    },
}

/// `name : expression` after `alias`.
#[derive(Debug)]
pub(crate) struct AliasTree<'s> {
    pub name: Name<'s>,
    pub meaning: Expr<'s>,
}

/// A function or a procedure.
#[derive(Debug)]
pub(crate) struct Function<'s> {
    pub name: Name<'s>,
    pub parameters: Vec<ParameterTree<'s>>,
    pub result: Option<TypeTree<'s>>,
    pub is_function: bool,
    pub body: Body<'s>,
    /// What closes it.
    pub end: Span,
}

#[derive(Debug)]
pub(crate) struct ParameterTree<'s> {
    pub names: Vec<Name<'s>>,
    pub by_reference: bool,
    pub type_tree: TypeTree<'s>,
}

/// Declarations and statements.
#[derive(Debug, Default)]
pub(crate) struct Body<'s> {
    pub declarations: Vec<Declaration<'s>>,
    pub statements: Vec<Statement<'s>>,
}

/// A rule, or what has rules in it.
#[derive(Debug)]
pub(crate) enum RuleTree<'s> {
    Rule {
        name: Option<&'s str>,
        priority: i64,
        guard: Option<Expr<'s>>,
        body: Body<'s>,
        span: Span,
    },
    Startstate {
        name: Option<&'s str>,
        body: Body<'s>,
        span: Span,
    },
    Property {
        kind: PropertyKind,
        name: Option<&'s str>,
        condition: Expr<'s>,
        span: Span,
    },
    Ruleset(Vec<Quantifier<'s>>, Vec<RuleTree<'s>>),
    Alias(Vec<AliasTree<'s>>, Vec<RuleTree<'s>>),
    Choose {
        binder: Name<'s>,
        multiset: Expr<'s>,
        rules: Vec<RuleTree<'s>>,
    },
}

/// What is claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PropertyKind {
    Invariant,
    Assume,
    Cover,
}

/// A statement.
#[derive(Debug)]
pub(crate) struct Statement<'s> {
    pub kind: StatementKind<'s>,
    pub span: Span,
}

#[derive(Debug)]
pub(crate) enum StatementKind<'s> {
    Assign(Expr<'s>, Expr<'s>),
    If {
        branches: Vec<Branch<'s>>,
        otherwise: Option<(Span, Vec<Statement<'s>>)>,
    },
    Switch {
        subject: Expr<'s>,
        arms: Vec<(Span, Vec<Expr<'s>>, Vec<Statement<'s>>)>,
        otherwise: Option<(Span, Vec<Statement<'s>>)>,
    },
    For(Vec<Quantifier<'s>>, Vec<Statement<'s>>),
    While(Expr<'s>, Vec<Statement<'s>>),
    Call(Name<'s>, Vec<Expr<'s>>),
    Clear(Expr<'s>),
    Undefine(Expr<'s>),
    Error(&'s str),
    Property {
        kind: PropertyKind,
        name: Option<&'s str>,
        condition: Expr<'s>,
    },
    Put(Option<Expr<'s>>),
    Alias(Vec<AliasTree<'s>>, Vec<Statement<'s>>),
    Return(Option<Expr<'s>>),
    MultisetAdd(Expr<'s>, Expr<'s>),
    MultisetRemove(Expr<'s>, Expr<'s>),
    MultisetRemovePred {
        binder: Name<'s>,
        multiset: Expr<'s>,
        condition: Expr<'s>,
    },
}

/// `if` or `elsif` with what follows.
#[derive(Debug)]
pub(crate) struct Branch<'s> {
    pub span: Span,
    pub test: Expr<'s>,
    pub body: Vec<Statement<'s>>,
}
