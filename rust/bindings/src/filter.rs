//! Filters from Python: SQL text, or tuples.

use std::collections::{BTreeMap, BTreeSet};

use deltareplay_core::expr::{Literal, Naming, Predicate, double_quoted, for_spark};
use deltareplay_core::spec::schema::StructType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateTime, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString,
    PyTuple,
};

use crate::arguments;
use crate::exceptions::{invalid, to_exception};
use crate::gate::detached;

/// The maximum number of bits of an integer: more than 38 digits need, but few enough for Python to print it.
const MAX_BITS: u64 = 512;

/// Converts an optional filter as [`required`].
pub(crate) fn predicate(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Predicate>> {
    value.map(required).transpose()
}

/// Converts a `filter`: SQL text, `[(column, op, value), ...]`, or a list of such lists.
fn required(value: &Bound<'_, PyAny>) -> PyResult<Predicate> {
    let py = value.py();
    if let Ok(text) = value.cast::<PyString>() {
        let text: String = text.extract()?;
        return detached(py, || Predicate::parse_sql(&text));
    }
    let Ok(list) = value.cast::<PyList>() else {
        return Err(invalid_filter(value)?);
    };
    let nested = list.iter().all(|part| part.is_instance_of::<PyList>());
    let dnf = if nested {
        list.iter()
            .map(|part| match part.cast::<PyList>() {
                Ok(tuples) => conjunction(tuples),
                Err(_) => Err(invalid_filter(&part)?),
            })
            .collect::<PyResult<Vec<_>>>()?
    } else {
        vec![conjunction(list)?]
    };
    detached(py, || Predicate::from_dnf(dnf))
}

fn invalid_filter(value: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    Ok(PyTypeError::new_err(format!(
        "filter needs to be SQL text, a list of (column, operator, value) tuples, or a list of such lists, \
         but got {}",
        value.get_type().name()?
    )))
}

fn conjunction(tuples: &Bound<'_, PyList>) -> PyResult<Vec<(String, String, Literal)>> {
    tuples
        .iter()
        .map(|tuple| {
            let Ok(parts) = tuple.cast::<PyTuple>() else {
                return Err(invalid_filter(&tuple)?);
            };
            let (column, op, value): (String, String, Bound<'_, PyAny>) =
                parts.extract().map_err(|error| {
                    let invalid = PyTypeError::new_err(
                        "each tuple of a filter must be (column, operator, value), with the first two of type str",
                    );
                    invalid.set_cause(parts.py(), Some(error));
                    invalid
                })?;
            Ok((column, op, literal(&value, 0)?))
        })
        .collect()
}

/// Returns `true` for the result of `dr.lit(...)`: SQL text of a value.
fn is_sql_literal(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = value.get_type();
    Ok(class.name()? == "SqlLiteral" && class.module()? == "deltareplay._expressions.lit")
}

fn literal(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Literal> {
    if value.is_none() || is_pandas_null(value)? {
        return Ok(Literal::Null);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Literal::Boolean(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        if value.call_method0("bit_length")?.extract::<u64>()? > MAX_BITS {
            let message =
                "an integer in the filter has more than 38 digits, the maximum of a column";
            return Err(invalid(value.py(), "filter.literal", message));
        }
        // the text of an enum's member may be its name
        let text = value.call_method0("__int__")?.str()?.to_string();
        return Literal::number(&text).map_err(|error| to_exception(value.py(), &error));
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(Literal::Double(value.extract()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        if !is_sql_literal(value)? {
            let text = text.to_str().map_err(|_| {
                let message =
                    "a string in the filter contains lone surrogates, which no column can hold";
                invalid(value.py(), "filter.literal", message)
            })?;
            return Ok(Literal::String(text.to_owned()));
        }
        let value = value.getattr("value")?;
        if is_sql_literal(&value)? {
            return Err(PyTypeError::new_err(
                "lit takes a plain value, not another literal",
            ));
        }
        return literal(&value, depth);
    }
    if let Ok(value) = value.cast::<PyBytes>() {
        return Ok(Literal::Binary(value.as_bytes().to_vec()));
    }
    // a datetime is a date, too: check it first
    if value.is_instance_of::<PyDateTime>() {
        let nanoseconds = value.getattr_opt("nanosecond")?; // of pandas.Timestamp
        if nanoseconds.map_or(Ok(false), |nanoseconds| nanoseconds.is_truthy())? {
            return Err(finer_than_microseconds(value));
        }
        let micros = arguments::microseconds(value)?;
        return Ok(if value.call_method0("utcoffset")?.is_none() {
            Literal::TimestampNtz(micros)
        } else {
            Literal::Timestamp(micros)
        });
    }
    if value.is_instance_of::<PyDate>() {
        let ordinal: i32 = value.call_method0("toordinal")?.extract()?;
        return Ok(Literal::Date(ordinal - 719_163)); // the ordinal of 1970-01-01
    }
    let class = value.get_type();
    if class.name()? == "Decimal" && class.module()? == "decimal" {
        let text = value.str()?.to_string();
        return Literal::decimal(&text).map_err(|error| to_exception(value.py(), &error));
    }
    let is_collection = value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>();
    if is_collection && depth == 0 {
        let values = value.try_iter()?.map(|value| literal(&value?, depth + 1));
        return Ok(Literal::List(values.collect::<PyResult<_>>()?));
    }
    if class.module()? == "numpy" && depth < 2 {
        return numpy_scalar(value);
    }
    Err(PyTypeError::new_err(format!(
        "a filter value must be None, bool, int, float, Decimal, str, bytes, date, datetime or a list \
         of those, not {}",
        class.name()?
    )))
}

/// Returns `true` for `NaT` and `NA` of pandas; the former is also a datetime.
fn is_pandas_null(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = value.get_type();
    Ok((class.name()? == "NaTType" || class.name()? == "NAType")
        && class.module()?.to_str()?.starts_with("pandas"))
}

fn finer_than_microseconds(value: &Bound<'_, PyAny>) -> PyErr {
    let message = format!(
        "{value} is not a whole number of microseconds, the precision of a table's timestamps: round it first"
    );
    invalid(value.py(), "filter.literal", &message)
}

fn numpy_scalar(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let dtype = value.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    if value.getattr("ndim")?.extract::<usize>()? > 0 || kind == "m" {
        let class = value.get_type();
        return Err(PyTypeError::new_err(format!(
            "a numpy value in a filter must be a number, text, bytes or a datetime64, not {}",
            class.name()?
        )));
    }
    if kind != "M" {
        return literal(&value.call_method0("item")?, 2);
    }
    let count: i64 = value.call_method1("astype", ("int64",))?.extract()?;
    if count == i64::MIN {
        return Ok(Literal::Null); // NaT
    }
    let numpy = value.py().import("numpy")?;
    let (unit, step): (String, i64) = numpy.call_method1("datetime_data", (&dtype,))?.extract()?;
    // months and years have no fixed length
    let (count, unit) = if unit == "M" || unit == "Y" {
        // numpy does not report an overflow
        if count.unsigned_abs() > 1 << 24 {
            return Err(date_out_of_range(value));
        }
        let days = value.call_method1("astype", ("datetime64[D]",))?;
        let days = days.call_method1("astype", ("int64",))?.extract::<i64>()?;
        (i128::from(days), "D")
    } else {
        (i128::from(count) * i128::from(step), unit.as_str())
    };
    match unit {
        "D" => date(value, count),
        "W" => date(value, count * 7),
        _ => timestamp(value, count, unit),
    }
}

fn date_out_of_range(value: &Bound<'_, PyAny>) -> PyErr {
    let message = format!("{value} is outside the range of dates that a table can hold");
    invalid(value.py(), "filter.literal", &message)
}

fn date(value: &Bound<'_, PyAny>, days: i128) -> PyResult<Literal> {
    i32::try_from(days)
        .map(Literal::Date)
        .map_err(|_| date_out_of_range(value))
}

fn timestamp(value: &Bound<'_, PyAny>, count: i128, unit: &str) -> PyResult<Literal> {
    let (factor, divisor) = match unit {
        "h" => (3_600_000_000, 1),
        "m" => (60_000_000, 1),
        "s" => (1_000_000, 1),
        "ms" => (1_000, 1),
        "us" => (1, 1),
        "ns" => (1, 1_000),
        "ps" => (1, 1_000_000),
        "fs" => (1, 1_000_000_000),
        _ => (1, 1_000_000_000_000), // attoseconds, the last unit of numpy
    };
    if count % divisor != 0 {
        return Err(finer_than_microseconds(value));
    }
    i64::try_from(count * factor / divisor)
        .map(Literal::TimestampNtz)
        .map_err(|_| date_out_of_range(value))
}

/// Returns the SQL text of a value.
#[pyfunction]
#[pyo3(signature = (value, /))]
pub(crate) fn literal_text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let literal = literal(value, 0)?;
    if literal == Literal::List(Vec::new()) {
        let message = "SQL has no empty list: omit the condition";
        return Err(invalid(value.py(), "filter.literal", message));
    }
    Ok(literal.to_string())
}

/// Returns an expression of a table as SQL for Spark, and the names of the functions that it calls.
#[pyfunction]
pub(crate) fn spark_expression(
    py: Python<'_>,
    text: &str,
    what: &str,
    columns: Vec<String>,
    qualified: bool,
) -> PyResult<(String, Vec<String>)> {
    let naming = if qualified {
        Naming::Qualified
    } else {
        Naming::Bare
    };
    let printed = detached(py, || for_spark(text, what, &columns, naming))?;
    Ok((printed.sql, printed.functions.into_iter().collect()))
}

/// Returns the SQL of a filter, with a fixed current time.
#[pyfunction]
pub(crate) fn filter_at(
    py: Python<'_>,
    filter: &str,
    timestamp: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let timestamp = arguments::microseconds(timestamp)?;
    detached(py, || Predicate::parse_sql_at(filter, timestamp))
        .map(|predicate| predicate.to_string())
}

/// Returns the local times of a filter that are compared with timestamps.
#[pyfunction]
pub(crate) fn local_times(
    py: Python<'_>,
    filter: &Bound<'_, PyAny>,
    schema_string: &str,
    partition_columns: Vec<String>,
) -> PyResult<BTreeSet<String>> {
    let predicate = required(filter)?;
    detached(py, || {
        predicate.local_times(&StructType::parse(schema_string)?, &partition_columns)
    })
}

/// Returns the SQL of a filter whose local times are replaced by `timestamps`, in microseconds since the
/// epoch, without conditions that depend on the time zone in another way; None if nothing is left.
#[pyfunction]
pub(crate) fn with_timestamps(
    py: Python<'_>,
    filter: &Bound<'_, PyAny>,
    schema_string: &str,
    partition_columns: Vec<String>,
    timestamps: BTreeMap<String, i64>,
) -> PyResult<Option<String>> {
    let predicate = required(filter)?;
    detached(py, || {
        let schema = StructType::parse(schema_string)?;
        let predicate = predicate.with_timestamps(&schema, &partition_columns, &timestamps)?;
        Ok(predicate.map(|predicate| predicate.to_string()))
    })
}

/// Returns the SQL of the conditions of a filter, combined by `AND`, that have the same value with ANSI mode
/// and without; None if there are none.
#[pyfunction]
pub(crate) fn without_ansi(
    py: Python<'_>,
    filter: &Bound<'_, PyAny>,
    schema_string: &str,
) -> PyResult<Option<String>> {
    let predicate = required(filter)?;
    detached(py, || {
        let predicate = predicate.without_ansi(&StructType::parse(schema_string)?)?;
        Ok(predicate.map(|predicate| predicate.to_string()))
    })
}

/// Returns the SQL of the part of a condition that refers to the target table only, without the table's
/// alias; None if there is none. `joined` is true if the condition also refers to a source.
#[pyfunction]
pub(crate) fn target_filter(
    py: Python<'_>,
    condition: &str,
    schema_string: &str,
    alias: Option<&str>,
    joined: bool,
) -> PyResult<Option<String>> {
    detached(py, || {
        let schema = StructType::parse(schema_string)?;
        let filter = Predicate::parse_sql(condition)?.of_target(&schema, alias, joined);
        Ok(filter.map(|filter| filter.to_string()))
    })
}

/// Returns the columns whose names occur in a condition as strings in double quotes, and whether the
/// condition uses any column; true also for a condition that does not fit the schema.
#[pyfunction]
#[pyo3(signature = (condition, schema_string, /))]
pub(crate) fn quoted_columns(
    py: Python<'_>,
    condition: &str,
    schema_string: &str,
) -> PyResult<(Vec<String>, bool)> {
    detached(py, || {
        let schema = StructType::parse(schema_string)?;
        let mut names = double_quoted(condition);
        names.retain(|text| schema.contains(text));
        let bound = Predicate::parse_sql(condition).and_then(|predicate| predicate.bind(&schema));
        Ok((
            names,
            bound.map_or(true, |bound| !bound.columns().is_empty()),
        ))
    })
}
