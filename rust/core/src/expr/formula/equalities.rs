//! What a join condition says of the columns of its two sides.

use sqlparser::ast::{BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::Formula;

/// Two values that have to be equal.
#[derive(Clone, Debug)]
pub(crate) struct Equality {
    /// Of columns of the one side.
    pub(crate) target: Formula,
    /// Of columns of the other.
    pub(crate) source: Formula,
    /// The column, where the value of the one side is a plain one.
    pub(crate) column: Option<String>,
}

/// The equalities between the sides, which columns name, and what else there is.
pub(crate) fn equalities(
    on: &Formula,
    target: &str,
    source: &str,
) -> (Vec<Equality>, Option<Formula>) {
    let mut parts = Vec::new();
    split(&on.root, &mut parts);
    let (mut pairs, mut rest): (Vec<Equality>, Option<Expr>) = (Vec::new(), None);
    for part in parts {
        match equality(part, target, source) {
            Some(pair) => pairs.push(pair),
            None => {
                rest = Some(match rest {
                    None => part.clone(),
                    Some(before) => Expr::BinaryOp {
                        left: Box::new(before),
                        op: BinaryOperator::And,
                        right: Box::new(part.clone()),
                    },
                });
            }
        }
    }
    (pairs, rest.map(|rest| formula(&rest)))
}

fn formula(root: &Expr) -> Formula {
    Formula {
        text: root.to_string(),
        root: root.clone(),
    }
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

fn equality(part: &Expr, target: &str, source: &str) -> Option<Equality> {
    let Expr::BinaryOp {
        left,
        op: BinaryOperator::Eq,
        right,
    } = part
    else {
        return None;
    };
    let is_of = |expr: &Expr, side: &str| {
        let mut sides = Vec::new();
        let known = sides_of(expr, &mut sides);
        known && !sides.is_empty() && sides.iter().all(|one| one.eq_ignore_ascii_case(side))
    };
    let (ours, theirs) = if is_of(left, target) && is_of(right, source) {
        (left, right)
    } else if is_of(right, target) && is_of(left, source) {
        (right, left)
    } else {
        return None;
    };
    let column = match ours.as_ref() {
        Expr::CompoundIdentifier(names) if names.len() == 2 => {
            names.last().map(|name| name.value.clone())
        }
        _ => None,
    };
    Some(Equality {
        target: formula(ours),
        source: formula(theirs),
        column,
    })
}

/// The sides whose columns an expression names; false where that is not known.
fn sides_of(expr: &Expr, sides: &mut Vec<String>) -> bool {
    match expr {
        Expr::CompoundIdentifier(names) => match names.first() {
            Some(side) => {
                sides.push(side.value.clone());
                true
            }
            None => false,
        },
        Expr::Value(_) | Expr::TypedString(_) => true,
        Expr::Nested(inner) => sides_of(inner, sides),
        Expr::Cast { expr, .. } => sides_of(expr, sides),
        Expr::UnaryOp { expr, .. } => sides_of(expr, sides),
        Expr::BinaryOp { left, right, .. } => sides_of(left, sides) && sides_of(right, sides),
        Expr::Function(function) => match &function.args {
            FunctionArguments::List(list) => list.args.iter().all(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(one)) => sides_of(one, sides),
                _ => false,
            }),
            _ => false,
        },
        _ => false,
    }
}
