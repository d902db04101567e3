//! Names and arguments of functions.

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};

/// Returns the name of a function in lower case; `None` if it is qualified.
pub(in crate::expr) fn function_name(function: &Function) -> Option<String> {
    match function.name.0.as_slice() {
        [part] => part.as_ident().map(|name| name.value.to_lowercase()),
        _ => None,
    }
}

/// Returns the arguments of a call; `None` if it has `DISTINCT`, `OVER` or another clause, a star, or a named
/// argument.
pub(in crate::expr) fn plain_arguments(function: &Function) -> Option<Vec<&Expr>> {
    let is_plain = !function.uses_odbc_syntax
        && function.parameters == FunctionArguments::None
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.over.is_none()
        && function.within_group.is_empty();
    let arguments = match &function.args {
        FunctionArguments::None => [].as_slice(),
        FunctionArguments::List(list)
            if list.clauses.is_empty() && list.duplicate_treatment.is_none() =>
        {
            &list.args
        }
        _ => return None,
    };
    let values = arguments.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value),
        _ => None,
    });
    values.collect::<Option<_>>().filter(|_| is_plain)
}
