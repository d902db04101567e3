//! Extracts the equalities between target and source from the condition of a join.

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
};

use crate::expr::node::formula::Formula;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Target,
    Source,
}

/// Two values that must be equal.
#[derive(Clone, Debug)]
pub(crate) struct Equality {
    /// An expression over columns of the target.
    pub(crate) target: Formula,
    /// An expression over columns of the source.
    pub(crate) source: Formula,
    /// The column of the target, if `target` is a plain column.
    pub(crate) column: Option<String>,
    /// True if nulls are equal.
    pub(crate) null_safe: bool,
}

/// Returns the side of a name, if known, and whether the name is the alias of that side.
type SideOf<'a> = &'a dyn Fn(&str) -> Option<(Side, bool)>;

/// Splits a join condition into the equalities between target and source, and the rest.
pub(crate) fn equalities(on: &Formula, side_of: SideOf<'_>) -> (Vec<Equality>, Option<Formula>) {
    let mut parts = Vec::new();
    split(on.root(), &mut parts);
    let (mut equalities, mut others) = (Vec::new(), Vec::new());
    for part in parts {
        match equality(part, side_of) {
            Some(equality) => equalities.push(equality),
            None => others.push(Expr::Nested(Box::new(part.clone()))),
        }
    }
    let rest = others.into_iter().reduce(|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::And,
        right: Box::new(right),
    });
    (equalities, rest.as_ref().map(Formula::part))
}

fn split<'a>(expr: &'a Expr, parts: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Nested(inner) => split(inner, parts),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            split(left, parts);
            split(right, parts);
        }
        other => parts.push(other),
    }
}

fn equality(part: &Expr, side_of: SideOf<'_>) -> Option<Equality> {
    let (left, right, null_safe) = match part {
        Expr::BinaryOp {
            left,
            op: op @ (BinaryOperator::Eq | BinaryOperator::Spaceship),
            right,
        } => (left, right, *op == BinaryOperator::Spaceship),
        Expr::IsNotDistinctFrom(left, right) => (left, right, true),
        _ => return None,
    };
    let uses_only = |expr: &Expr, side: Side| {
        let mut sides = Vec::new();
        let all_known = sides_of(expr, side_of, &mut sides);
        all_known && !sides.is_empty() && sides.iter().all(|used| *used == side)
    };
    let (target, source) = if uses_only(left, Side::Target) && uses_only(right, Side::Source) {
        (left, right)
    } else if uses_only(right, Side::Target) && uses_only(left, Side::Source) {
        (right, left)
    } else {
        return None;
    };
    let names = names_of(target);
    let side = names.first().and_then(|first| side_of(&first.value));
    let column = match (side, names) {
        (Some((_, false)), [name]) | (Some((_, true)), [_, name]) => Some(name.value.clone()),
        _ => None,
    };
    Some(Equality {
        target: Formula::part(target),
        source: Formula::part(source),
        column,
        null_safe,
    })
}

/// Returns the names of a column; empty if the expression is not a column.
fn names_of(expr: &Expr) -> &[Ident] {
    match expr {
        Expr::Identifier(name) => std::slice::from_ref(name),
        Expr::CompoundIdentifier(names) => names,
        _ => &[],
    }
}

/// Collects the sides whose columns an expression uses; returns `false` if they cannot all be determined.
fn sides_of(expr: &Expr, side_of: SideOf<'_>, sides: &mut Vec<Side>) -> bool {
    let mut all = |parts: &[&Expr]| parts.iter().all(|part| sides_of(part, side_of, sides));
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
            let first = names_of(expr).first();
            let Some((side, _)) = first.and_then(|first| side_of(&first.value)) else {
                return false;
            };
            sides.push(side);
            true
        }
        Expr::Value(_) | Expr::TypedString(_) => true,
        Expr::Nested(inner) => all(&[inner]),
        Expr::Cast { expr, .. } | Expr::UnaryOp { expr, .. } => all(&[expr]),
        Expr::BinaryOp { left, right, .. } => all(&[left, right]),
        Expr::Function(function) => match &function.args {
            FunctionArguments::List(list) => list.args.iter().all(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => all(&[value]),
                _ => false,
            }),
            _ => false,
        },
        _ => false,
    }
}
