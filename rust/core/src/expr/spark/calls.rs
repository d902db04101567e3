//! Calls of functions, including those with a special syntax.

use std::fmt::Write;

use sqlparser::ast::{
    CeilFloorKind, DateTimeField, Expr, Function, FunctionArguments, Ident, LambdaFunction,
    LambdaSyntax, OneOrManyWithParens, TrimWhereField,
};

use super::types::datetime_field;
use super::{CannotPrint, Naming, PrintResult, Printer, functions, refused};
use crate::expr::text::calls::{function_name, plain_arguments};
use crate::spec::json::clipped;

impl Printer {
    /// Prints calls with a special syntax; other expressions are refused.
    pub(super) fn special_call(&mut self, root: &Expr) -> PrintResult {
        match root {
            Expr::Extract { field, expr, .. } => {
                let field = datetime_field(field)?;
                self.call("date_part", |it| {
                    it.string(&field);
                    it.text(", ");
                    it.value(expr)
                })
            }
            Expr::Ceil { expr, field } => self.rounded("ceil", expr, field),
            Expr::Floor { expr, field } => self.rounded("floor", expr, field),
            Expr::Position { expr, r#in } => {
                self.call("locate", |it| it.list([expr.as_ref(), r#in.as_ref()]))
            }
            Expr::Substring {
                expr,
                substring_from: Some(from),
                substring_for,
                ..
            } => self.call("substring", |it| {
                let values = [expr, from].into_iter();
                it.list(values.chain(substring_for).map(AsRef::as_ref))
            }),
            Expr::Overlay {
                expr,
                overlay_what,
                overlay_from,
                overlay_for,
            } => self.call("overlay", |it| {
                let values = [expr, overlay_what, overlay_from];
                it.list(values.into_iter().chain(overlay_for).map(AsRef::as_ref))
            }),
            Expr::Trim {
                trim_where,
                trim_what,
                expr,
                trim_characters: None,
            } => {
                let (value, characters) = (Some(expr.as_ref()), trim_what.as_deref());
                let (name, arguments) = match trim_where {
                    None | Some(TrimWhereField::Both) => ("btrim", [value, characters]),
                    Some(TrimWhereField::Leading) => ("ltrim", [characters, value]),
                    Some(TrimWhereField::Trailing) => ("rtrim", [characters, value]),
                };
                self.call(name, |it| it.list(arguments.into_iter().flatten()))
            }
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                refused("has a subquery")
            }
            other => Err(CannotPrint(format!("has {}", clipped(&other.to_string())))),
        }
    }

    fn rounded(&mut self, name: &str, expr: &Expr, field: &CeilFloorKind) -> PrintResult {
        match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => {
                self.call(name, |it| it.value(expr))
            }
            CeilFloorKind::Scale(scale) => self.call(name, |it| {
                it.value(expr)?;
                it.text(", ");
                it.literal(scale)
            }),
            CeilFloorKind::DateTimeField(field) => {
                Err(CannotPrint(format!("has {name} TO {field}")))
            }
        }
    }

    pub(super) fn function(&mut self, function: &Function) -> PrintResult {
        let excerpt = || clipped(&function.name.to_string());
        let Some(name) = function_name(function).filter(|name| functions::is_allowed(name)) else {
            return Err(CannotPrint(format!("calls the function {}", excerpt())));
        };
        let Some(arguments) = plain_arguments(function) else {
            return Err(CannotPrint(format!(
                "calls {} with a named argument, DISTINCT, OVER or another clause",
                excerpt()
            )));
        };
        if function.args == FunctionArguments::None && self.columns.contains_key(&name) {
            return self.column(&[Ident::new(name)]);
        }
        if let [Expr::Identifier(unit), rest @ ..] = arguments.as_slice()
            && rest.len() == 2
            && unit.quote_style.is_none()
            && functions::takes_unit(&name)
            && let Some(unit) = functions::unit(&unit.value)
        {
            // such a call is part of Spark's grammar: its name can be neither quoted nor qualified
            let _ = write!(self.sql, "{name}({unit}, ");
            self.list(rest.iter().copied())?;
            self.sql.push(')');
            return Ok(());
        }
        self.call(&name, |it| {
            it.comma_separated(arguments, |it, argument| match argument {
                Expr::Lambda(lambda) => it.lambda(lambda),
                argument => it.value(argument),
            })
        })
    }

    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: impl FnOnce(&mut Self) -> PrintResult,
    ) -> PrintResult {
        if self.naming == Naming::Qualified {
            self.text("system.builtin.");
        }
        self.functions.insert(name.to_owned());
        let _ = write!(self.sql, "`{name}`");
        self.parenthesized(arguments)
    }

    fn lambda(&mut self, lambda: &LambdaFunction) -> PrintResult {
        let parameters = match &lambda.params {
            OneOrManyWithParens::One(only) => std::slice::from_ref(only),
            OneOrManyWithParens::Many(many) => many.as_slice(),
        };
        let is_typed = parameters
            .iter()
            .any(|parameter| parameter.data_type.is_some());
        if lambda.syntax != LambdaSyntax::Arrow || is_typed || parameters.is_empty() {
            return Err(CannotPrint(format!("has {}", clipped(&lambda.to_string()))));
        }
        let outer = self.variables.len();
        // Spark does not allow parentheses around a single parameter
        let (open, close) = if parameters.len() > 1 {
            ("(", ")")
        } else {
            ("", "")
        };
        self.text(open);
        self.comma_separated(parameters, |it, parameter| {
            it.variables.push(parameter.name.value.clone());
            it.name(&parameter.name.value)
        })?;
        self.text(close);
        self.text(" -> ");
        self.value(&lambda.body)?;
        self.variables.truncate(outer);
        Ok(())
    }
}
