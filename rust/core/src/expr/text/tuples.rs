//! Predicates from tuples: an OR of ANDs of `(column, operator, value)`, as in pyarrow and deltalake.

use crate::error::{Error, Result};
use crate::expr::node::predicate::{Expr, Operand, Path, Predicate};
use crate::expr::text::parse;
use crate::expr::value::comparison::Op;
use crate::expr::value::literal::Literal;
use crate::spec::json::clipped;

impl Predicate {
    /// Builds a predicate from an OR of ANDs of `(column, operator, value)`.
    ///
    /// Operators: `=`, `==`, `!=`, `<>`, `<`, `<=`, `>`, `>=`, `in`, `not in`, `is`, `is not`. A column is
    /// a name, or a path into structs (`a.b`); a name with a dot is quoted by backticks.
    ///
    /// A null value is compared null-safe: `("x", "=", None)` is `x IS NULL`, `("x", "!=", None)` is `x IS
    /// NOT NULL`, and likewise for nulls among the values of `in` and `not in`. Otherwise a row whose value
    /// is null satisfies no operator, not even `!=` and `not in`; only `not in` with an empty list selects all
    /// rows.
    ///
    /// # Errors
    ///
    /// Invalid argument: `filter.empty` for no tuples, `filter.syntax` for a malformed path of a column,
    /// `filter.operator` for an unknown operator, `filter.literal` for a value that the operator does not
    /// support, `filter.too_long`.
    pub fn from_dnf(dnf: Vec<Vec<(String, String, Literal)>>) -> Result<Self> {
        if dnf.is_empty() || dnf.iter().any(Vec::is_empty) {
            return Err(Error::invalid(
                "filter.empty",
                "the filter has no tuples: omit the filter to select all",
            ));
        }
        let conjunction = |tuples: Vec<_>| {
            let parts = tuples
                .into_iter()
                .map(|(column, op, value): (String, String, _)| tuple(&column, &op, value));
            Ok(Expr::all(parts.collect::<Result<_>>()?))
        };
        let parts = dnf
            .into_iter()
            .map(conjunction)
            .collect::<Result<Vec<_>>>()?;
        Self {
            root: Expr::any(parts),
        }
        .checked()
    }
}

fn tuple(column: &str, op: &str, value: Literal) -> Result<Expr> {
    let path = if column.contains(['.', '`']) {
        parse::path(column)?
    } else {
        Path(vec![column.to_owned()])
    };
    let op_text: String = op.split_whitespace().collect::<Vec<_>>().join(" ");
    let op = match op_text.to_ascii_lowercase().as_str() {
        "=" | "==" | "is" => Op::Eq,
        "!=" | "<>" | "is not" => Op::NotEq,
        "<" => Op::Lt,
        "<=" => Op::LtEq,
        ">" => Op::Gt,
        ">=" => Op::GtEq,
        "in" => return membership(path, value, op, false),
        "not in" => return membership(path, value, op, true),
        _ => {
            let message = format!(
                "{} is not an operator of a filter: use =, !=, <, <=, >, >=, in or not in",
                clipped(op)
            );
            return Err(Error::invalid("filter.operator", message));
        }
    };
    match (op, value) {
        (Op::Eq, Literal::Null) => Ok(Expr::is_null(path)),
        (Op::NotEq, Literal::Null) => Ok(Expr::is_null(path).negated()),
        (op, value @ (Literal::Null | Literal::List(_))) => Err(literal_error(&path, op, &value)),
        (op, value) => Ok(Expr::Compare(
            Operand::Column(path),
            op,
            Operand::Literal(value),
        )),
    }
}

fn membership(path: Path, value: Literal, op: &str, negated: bool) -> Result<Expr> {
    let Literal::List(mut list) = value else {
        return Err(literal_error(&path, op, &value));
    };
    if let Some(inner) = list.iter().find(|value| matches!(value, Literal::List(_))) {
        return Err(literal_error(&path, op, inner));
    }
    let before = list.len();
    list.retain(|value| *value != Literal::Null);
    let null = (list.len() < before).then(|| Expr::is_null(path.clone()));
    let parts = [Expr::In(path, list)].into_iter().chain(null);
    Ok(if negated {
        Expr::all(parts.map(Expr::negated).collect())
    } else {
        Expr::any(parts.collect())
    })
}

fn literal_error(path: &Path, op: impl std::fmt::Display, value: &Literal) -> Error {
    let message = format!(
        "the filter on {path} has {} after {op}, which takes {}",
        value.kind(),
        match value {
            Literal::Null => "no null: use = or !=",
            Literal::List(_) => "single values: use in or not in with a flat list",
            _ => "a list",
        }
    );
    Error::invalid("filter.literal", message)
}
