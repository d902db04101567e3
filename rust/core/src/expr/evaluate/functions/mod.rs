//! Functions over arrays, by their SQL names; types and values as in Spark's ANSI mode.

mod cast;
mod columnar_value;
mod float_text;
mod numbers;
mod operators;
mod patterns;
mod strings;
mod timestamps;

use std::fmt;
use std::sync::Arc;

use arrow_arith::temporal::DatePart;
use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, DataType};

use crate::error::{Error, Result};
use crate::expr::value::comparison::Op;

pub(crate) use cast::cast_value;
pub(in crate::expr) use cast::named_type;
pub(in crate::expr) use columnar_value::Computed;
pub(crate) use operators::common_type;
pub(in crate::expr) use operators::{
    Arithmetic, agreed_type, always_fits, chosen_of, compared, is_true,
};
pub(in crate::expr) use patterns::java_regex;
pub(in crate::expr) use timestamps::{Span, out_of_range, shifted, timestamp};

/// A function of one value that captures other arguments: a pattern, an interval.
type Closure = dyn Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync;

/// A function of the values of a row.
#[derive(Clone)]
pub(in crate::expr) enum Function {
    One(fn(&ArrayRef) -> Result<ArrayRef>),
    Two(fn(&ArrayRef, &ArrayRef) -> Result<ArrayRef>),
    Many(fn(&[ArrayRef]) -> Result<ArrayRef>),
    Closure(Arc<Closure>),
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function")
    }
}

impl Function {
    pub(in crate::expr) fn from_closure(
        function: impl Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync + 'static,
    ) -> Self {
        Self::Closure(Arc::new(function))
    }

    /// Returns the function of a name in lower case; `None` if none has this number of arguments.
    pub(in crate::expr) fn named(name: &str, arguments: usize) -> Option<Self> {
        use Function::{Many, One, Two};
        Some(match (name, arguments) {
            ("-", 1) => One(numbers::opposite),
            ("year", 1) => One(|value| timestamps::part(value, DatePart::Year)),
            ("month", 1) => One(|value| timestamps::part(value, DatePart::Month)),
            ("day" | "dayofmonth", 1) => One(|value| timestamps::part(value, DatePart::Day)),
            ("quarter", 1) => One(|value| timestamps::part(value, DatePart::Quarter)),
            ("dayofyear", 1) => One(|value| timestamps::part(value, DatePart::DayOfYear)),
            ("hour", 1) => One(|value| timestamps::part(value, DatePart::Hour)),
            ("minute", 1) => One(|value| timestamps::part(value, DatePart::Minute)),
            ("second", 1) => One(|value| timestamps::part(value, DatePart::Second)),
            ("date_add" | "dateadd", 2) => Two(|value, days| timestamps::date_add(value, days, 1)),
            ("date_sub", 2) => Two(|value, days| timestamps::date_add(value, days, -1)),
            ("datediff" | "date_diff", 2) => Two(timestamps::datediff),
            ("add_months", 2) => Two(timestamps::add_months),
            ("last_day", 1) => One(timestamps::last_day),
            ("date_trunc", 2) => Two(timestamps::date_trunc),
            ("trunc", 2) => Two(timestamps::trunc),
            ("date_format", 2) => Two(timestamps::formatted),
            ("upper" | "ucase", 1) => {
                One(|value| strings::changed(value, |text| text.to_uppercase()))
            }
            ("lower" | "lcase", 1) => {
                One(|value| strings::changed(value, |text| text.to_lowercase()))
            }
            ("trim", 1) => {
                One(|value| strings::changed(value, |text| text.trim_matches(' ').to_owned()))
            }
            ("ltrim", 1) => {
                One(|value| strings::changed(value, |text| text.trim_start_matches(' ').to_owned()))
            }
            ("rtrim", 1) => {
                One(|value| strings::changed(value, |text| text.trim_end_matches(' ').to_owned()))
            }
            ("length" | "char_length" | "character_length" | "len", 1) => One(strings::length),
            ("concat", 1..) => Many(strings::joined),
            ("substring" | "substr", 2 | 3) => Many(strings::substring),
            ("isnan", 1) => One(numbers::not_a_number),
            ("greatest", 1..) => Many(|values| numbers::extreme(values, Op::Gt)),
            ("least", 1..) => Many(|values| numbers::extreme(values, Op::Lt)),
            ("abs", 1) => One(numbers::abs),
            ("floor", 1) => One(|value| numbers::whole(value, f64::floor)),
            ("ceil" | "ceiling", 1) => One(|value| numbers::whole(value, f64::ceil)),
            _ => return None,
        })
    }

    /// Calls the function.
    ///
    /// # Errors
    ///
    /// Invalid argument: `formula.type`, `formula.unsupported`, `formula.value`.
    pub(in crate::expr) fn call(&self, arguments: &[ArrayRef]) -> Result<ArrayRef> {
        match (self, arguments) {
            (Self::One(function), [value]) => function(value),
            (Self::Two(function), [first, second]) => function(first, second),
            (Self::Many(function), arguments) => function(arguments),
            (Self::Closure(function), [value]) => function(value),
            _ => Err(type_error("a function has the wrong number of arguments")),
        }
    }
}

/// Returns the target type of a function that is a cast: `date(x)` is `CAST(x AS DATE)`.
pub(in crate::expr) fn cast_of(name: &str) -> Option<DataType> {
    Some(match name {
        "date" | "to_date" => DataType::Date32,
        "to_timestamp" | "timestamp" => timestamp(),
        "string" => DataType::Utf8,
        "int" => DataType::Int32,
        "bigint" => DataType::Int64,
        "double" => DataType::Float64,
        _ => return None,
    })
}

pub(in crate::expr) fn type_error(what: &str) -> Error {
    Error::invalid("formula.type", what)
}

pub(in crate::expr) fn unsupported(what: &str) -> Error {
    let message = format!("this release cannot evaluate {what}");
    Error::invalid("formula.unsupported", message)
}

/// The error code for values that exceed the size of an array: evaluating fewer rows at a time helps.
pub(crate) const TOO_LARGE: &str = "formula.too_large";

/// Returns the error for more than 2 GiB of strings in an array.
fn too_large() -> Error {
    let message = "the values of an expression have more than 2 GiB of text for the rows of one batch: make \
        them shorter";
    Error::invalid(TOO_LARGE, message)
}

fn failed(cause: ArrowError) -> Error {
    if let ArrowError::OffsetOverflowError(_) = cause {
        return too_large();
    }
    Error::invalid("formula.value", "a value cannot be computed").because(cause)
}
