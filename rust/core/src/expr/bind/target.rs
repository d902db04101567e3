//! The part of a condition that refers to the target table only.

use crate::expr::node::predicate::{Expr, Operand, Path, Predicate};
use crate::spec::schema::{StructType, same_name};

impl Predicate {
    /// Returns the conjuncts that refer to columns of the target table only, without its alias; the condition
    /// implies them. `None` if there are none.
    ///
    /// # Arguments
    ///
    /// * `alias`: the qualifier of the table's columns in the condition.
    /// * `joined`: true if the condition also refers to a source; a dotted name is then a column of the target
    ///   only if it begins with the alias.
    pub fn of_target(
        &self,
        schema: &StructType,
        alias: Option<&str>,
        joined: bool,
    ) -> Option<Self> {
        let target = Target { alias, joined };
        let parts = match &self.root {
            Expr::And(parts) => parts.as_slice(),
            other => std::slice::from_ref(other),
        };
        let own: Vec<Expr> = parts
            .iter()
            .filter_map(|part| target.condition(part))
            .filter(|part| Self { root: part.clone() }.bind(schema).is_ok())
            .collect();
        (!own.is_empty()).then(|| Self {
            root: Expr::all(own),
        })
    }
}

/// Rewrites a condition to the target table's own names; `None` if it refers to anything else.
struct Target<'a> {
    alias: Option<&'a str>,
    joined: bool,
}

impl Target<'_> {
    fn condition(&self, expr: &Expr) -> Option<Expr> {
        let all = |parts: &[Expr]| -> Option<Vec<Expr>> {
            parts.iter().map(|part| self.condition(part)).collect()
        };
        let boxed = |inner: &Expr| self.condition(inner).map(Box::new);
        Some(match expr {
            Expr::And(parts) => Expr::all(all(parts)?),
            Expr::Or(parts) => Expr::any(all(parts)?),
            Expr::Not(inner) => Expr::Not(boxed(inner)?),
            Expr::IsNull(inner) => Expr::IsNull(boxed(inner)?),
            Expr::Is(inner, value) => Expr::Is(boxed(inner)?, *value),
            Expr::Value(operand) => Expr::Value(self.operand(operand)?),
            Expr::Compare(left, op, right) => {
                Expr::Compare(self.operand(left)?, *op, self.operand(right)?)
            }
            Expr::In(path, list) => Expr::In(self.path(path)?, list.clone()),
            Expr::Like {
                column,
                pattern,
                escape,
            } => Expr::Like {
                column: self.path(column)?,
                pattern: pattern.clone(),
                escape: *escape,
            },
            // the names in the text of a formula are not rewritten
            Expr::Formula(_) if self.alias.is_some() || self.joined => return None,
            Expr::Formula(formula) => Expr::Formula(formula.clone()),
        })
    }

    fn operand(&self, operand: &Operand) -> Option<Operand> {
        Some(match operand {
            Operand::Column(path) => Operand::Column(self.path(path)?),
            Operand::Literal(literal) => Operand::Literal(literal.clone()),
        })
    }

    fn path(&self, path: &Path) -> Option<Path> {
        match path.0.as_slice() {
            [first, rest @ ..]
                if !rest.is_empty() && self.alias.is_some_and(|alias| same_name(alias, first)) =>
            {
                Some(Path(rest.to_vec()))
            }
            [_, _, ..] if self.joined => None,
            _ => Some(path.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
