//! Functions over arrays, by their SQL names; types and values as in Spark's ANSI mode.

mod arrays;
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

pub(in crate::expr) use arrays::array;
pub(crate) use cast::cast_value;
pub(in crate::expr) use cast::{named_type, sql_name};
pub(in crate::expr) use columnar_value::ColumnarValue;
pub(crate) use operators::common_type;
pub(in crate::expr) use operators::{
    Arithmetic, agreed_type, agreed_type_of, always_fits, compared, if_else, is_true,
};
pub(in crate::expr) use patterns::java_regex;
pub(in crate::expr) use timestamps::{
    CalendarInterval, add_interval, out_of_range, timestamp_type,
};

/// A function of one value that captures other arguments: a pattern, an interval.
type Closure = dyn Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync;

#[derive(Clone)]
pub(in crate::expr) enum Function {
    Unary(fn(&ArrayRef) -> Result<ArrayRef>),
    Binary(fn(&ArrayRef, &ArrayRef) -> Result<ArrayRef>),
    Variadic(fn(&[ArrayRef]) -> Result<ArrayRef>),
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
        use Function::{Binary, Unary, Variadic};
        Some(match (name, arguments) {
            ("-", 1) => Unary(numbers::negate),
            ("year", 1) => Unary(|value| timestamps::extract(value, DatePart::Year)),
            ("month", 1) => Unary(|value| timestamps::extract(value, DatePart::Month)),
            ("day" | "dayofmonth", 1) => Unary(|value| timestamps::extract(value, DatePart::Day)),
            ("quarter", 1) => Unary(|value| timestamps::extract(value, DatePart::Quarter)),
            ("dayofyear", 1) => Unary(|value| timestamps::extract(value, DatePart::DayOfYear)),
            ("hour", 1) => Unary(|value| timestamps::extract(value, DatePart::Hour)),
            ("minute", 1) => Unary(|value| timestamps::extract(value, DatePart::Minute)),
            ("second", 1) => Unary(|value| timestamps::extract(value, DatePart::Second)),
            ("date_add" | "dateadd", 2) => {
                Binary(|value, days| timestamps::date_add(value, days, 1))
            }
            ("date_sub", 2) => Binary(|value, days| timestamps::date_add(value, days, -1)),
            ("datediff" | "date_diff", 2) => Binary(timestamps::datediff),
            ("add_months", 2) => Binary(timestamps::add_months),
            ("last_day", 1) => Unary(timestamps::last_day),
            ("date_trunc", 2) => Binary(timestamps::date_trunc),
            ("trunc", 2) => Binary(timestamps::trunc),
            ("date_format", 2) => Binary(timestamps::date_format),
            ("upper" | "ucase", 1) => {
                Unary(|value| strings::map(value, |text| text.to_uppercase()))
            }
            ("lower" | "lcase", 1) => {
                Unary(|value| strings::map(value, |text| text.to_lowercase()))
            }
            ("trim", 1) => {
                Unary(|value| strings::map(value, |text| text.trim_matches(' ').to_owned()))
            }
            ("ltrim", 1) => {
                Unary(|value| strings::map(value, |text| text.trim_start_matches(' ').to_owned()))
            }
            ("rtrim", 1) => {
                Unary(|value| strings::map(value, |text| text.trim_end_matches(' ').to_owned()))
            }
            ("length" | "char_length" | "character_length" | "len", 1) => Unary(strings::length),
            ("concat", 1..) => Variadic(strings::concat),
            ("substring" | "substr", 2 | 3) => Variadic(strings::substring),
            ("isnan", 1) => Unary(numbers::isnan),
            ("greatest", 1..) => Variadic(|values| numbers::extreme(values, Op::Gt)),
            ("least", 1..) => Variadic(|values| numbers::extreme(values, Op::Lt)),
            ("abs", 1) => Unary(numbers::abs),
            ("floor", 1) => Unary(|value| numbers::floor_or_ceil(value, f64::floor)),
            ("ceil" | "ceiling", 1) => Unary(|value| numbers::floor_or_ceil(value, f64::ceil)),
            _ => return None,
        })
    }

    pub(in crate::expr) fn call(&self, arguments: &[ArrayRef]) -> Result<ArrayRef> {
        match (self, arguments) {
            (Self::Unary(function), [value]) => function(value),
            (Self::Binary(function), [first, second]) => function(first, second),
            (Self::Variadic(function), arguments) => function(arguments),
            (Self::Closure(function), [value]) => function(value),
            _ => Err(type_error("a function has the wrong number of arguments")),
        }
    }
}

/// Returns the target type of a function that is a cast: `date(x)` is `CAST(x AS DATE)`.
pub(in crate::expr) fn cast_of(name: &str) -> Option<DataType> {
    Some(match name {
        "date" | "to_date" => DataType::Date32,
        "to_timestamp" | "timestamp" => timestamp_type(),
        "string" => DataType::Utf8,
        "int" => DataType::Int32,
        "bigint" => DataType::Int64,
        "double" => DataType::Float64,
        _ => return None,
    })
}

pub(in crate::expr) fn type_error(message: &str) -> Error {
    Error::invalid("formula.type", message)
}

pub(in crate::expr) fn unsupported(construct: &str) -> Error {
    let message = format!("this release cannot evaluate {construct}");
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
