//! The words that cannot be names: those that both CMurphi and Rumur reserve.
//!
//! Words that only one of them reserves (`choose`, `union`, `multiset`, `cover`, `assume`, …) are
//! keywords only where a name could not stand, so that models of the other one can use them.

macro_rules! keywords {
    ($($variant:ident $text:literal)*) => {
        /// A reserved word.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Keyword {
            $(#[doc = $text] $variant,)*
        }

        impl Keyword {
            /// The keyword that a word is, whatever its case.
            pub fn of(word: &str) -> Option<Keyword> {
                const LONGEST: usize = 13;
                let mut lower = [0; LONGEST];
                let lower = lower.get_mut(..word.len())?;
                lower.copy_from_slice(word.as_bytes());
                lower.make_ascii_lowercase();
                $(if lower == $text.as_bytes() { return Some(Keyword::$variant); })*
                None
            }
        }
    };
}

keywords! {
    Alias "alias" Array "array" Assert "assert" Begin "begin" By "by" Case "case" Clear "clear"
    Const "const" Do "do" Else "else" Elsif "elsif" End "end" EndAlias "endalias"
    EndChoose "endchoose" EndExists "endexists" EndFor "endfor" EndForall "endforall"
    EndFunction "endfunction" EndIf "endif" EndProcedure "endprocedure" EndRecord "endrecord"
    EndRule "endrule" EndRuleset "endruleset" EndStartstate "endstartstate"
    EndSwitch "endswitch" EndWhile "endwhile" Enum "enum" Error "error" Exists "exists"
    For "for" Forall "forall" Function "function" If "if" Invariant "invariant"
    IsUndefined "isundefined" Of "of" Procedure "procedure" Put "put" Record "record"
    Return "return" Rule "rule" Ruleset "ruleset" Scalarset "scalarset"
    Startstate "startstate" Switch "switch" Then "then" To "to" Type "type"
    Undefine "undefine" Var "var" While "while"
}

impl Keyword {
    /// Whether it closes a block.
    pub fn is_end(self) -> bool {
        use Keyword::*;
        matches!(
            self,
            End | EndAlias
                | EndChoose
                | EndExists
                | EndFor
                | EndForall
                | EndFunction
                | EndIf
                | EndProcedure
                | EndRecord
                | EndRule
                | EndRuleset
                | EndStartstate
                | EndSwitch
                | EndWhile
        )
    }
}

/// The kinds of blocks, for errors about a missing `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Block {
    Alias,
    Choose,
    Exists,
    For,
    Forall,
    Function,
    Procedure,
    If,
    Record,
    Rule,
    Ruleset,
    Startstate,
    Switch,
    While,
}

impl Block {
    /// Whether the keyword closes it.
    pub fn closed_by(self, keyword: Keyword) -> bool {
        keyword == Keyword::End
            || match self {
                Block::Alias => keyword == Keyword::EndAlias,
                Block::Choose => keyword == Keyword::EndChoose,
                Block::Exists => keyword == Keyword::EndExists,
                Block::For => keyword == Keyword::EndFor,
                Block::Forall => keyword == Keyword::EndForall,
                Block::Function | Block::Procedure => {
                    matches!(keyword, Keyword::EndFunction | Keyword::EndProcedure)
                }
                Block::If => keyword == Keyword::EndIf,
                Block::Record => keyword == Keyword::EndRecord,
                Block::Rule => keyword == Keyword::EndRule,
                Block::Ruleset => keyword == Keyword::EndRuleset,
                Block::Startstate => keyword == Keyword::EndStartstate,
                Block::Switch => keyword == Keyword::EndSwitch,
                Block::While => keyword == Keyword::EndWhile,
            }
    }

    /// Its keyword and what closes it, for messages.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Block::Alias => ("alias", "`end` or `endalias`"),
            Block::Choose => ("choose", "`end` or `endchoose`"),
            Block::Exists => ("exists", "`end` or `endexists`"),
            Block::For => ("for", "`end` or `endfor`"),
            Block::Forall => ("forall", "`end` or `endforall`"),
            Block::Function => ("function", "`end` or `endfunction`"),
            Block::Procedure => ("procedure", "`end` or `endprocedure`"),
            Block::If => ("if", "`end` or `endif`"),
            Block::Record => ("record", "`end` or `endrecord`"),
            Block::Rule => ("rule", "`end` or `endrule`"),
            Block::Ruleset => ("ruleset", "`end` or `endruleset`"),
            Block::Startstate => ("startstate", "`end` or `endstartstate`"),
            Block::Switch => ("switch", "`end` or `endswitch`"),
            Block::While => ("while", "`end` or `endwhile`"),
        }
    }
}
