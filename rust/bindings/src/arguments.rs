//! Converts Python arguments to Rust values, before any work begins.

use std::collections::BTreeMap;
use std::time::Duration;

use deltareplay_core::changes::{Edge, Kind, Net};
use deltareplay_core::error::{Error, Result};
use deltareplay_core::table::At;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDateTime, PyDict, PyInt, PyString};

use crate::exceptions::invalid;

/// Converts `storage_options`: string to string, sorted by key.
pub(crate) fn storage_options(
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<(String, String)>> {
    let mut strings = BTreeMap::new();
    for (key, value) in options.into_iter().flatten() {
        // the value may be a secret: the message has only its type
        let (Ok(key), Ok(value)) = (key.cast::<PyString>(), value.cast::<PyString>()) else {
            return Err(PyTypeError::new_err(format!(
                "storage_options must map str to str, but the key {} is of type {} and its value of type {}",
                key.repr()?,
                key.get_type().name()?,
                value.get_type().name()?
            )));
        };
        strings.insert(key.extract()?, value.extract()?);
    }
    Ok(strings.into_iter().collect())
}

/// Converts a sequence of strings; refuses a single string, which would be a sequence of characters.
pub(crate) fn strings(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    value.extract().or_else(|_| {
        Err(PyTypeError::new_err(format!(
            "{name} needs to be a sequence of strings but got {}",
            value.get_type().name()?
        )))
    })
}

/// Converts as [`strings`], if there is a value.
pub(crate) fn optional_strings(
    name: &str,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Vec<String>>> {
    value.map(|value| strings(name, value)).transpose()
}

/// Converts the columns that identify a row; none if there is no key.
pub(crate) fn key(py: Python<'_>, value: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    let columns = optional_strings("key", value)?;
    if columns.as_ref().is_some_and(Vec::is_empty) {
        let message = "key has no columns: pass those that identify a row, or leave it out";
        return Err(invalid(py, "changes.key", message));
    }
    Ok(columns.unwrap_or_default())
}

/// Converts `version` and `timestamp`: at most one of them; the default is the latest version.
pub(crate) fn at(
    py: Python<'_>,
    version: Option<i128>,
    timestamp: Option<&Bound<'_, PyAny>>,
) -> PyResult<At> {
    match (version, timestamp) {
        (None, None) => Ok(At::Latest),
        (Some(version), None) => Ok(At::Version(unsigned(py, "version", version)?)),
        (None, Some(timestamp)) => Ok(At::Timestamp(milliseconds(timestamp)?)),
        (Some(_), Some(_)) => Err(invalid(
            py,
            "argument.version_and_timestamp",
            "version and timestamp both select the version: pass only one of them",
        )),
    }
}

/// Converts an end of a range: a version, or a timestamp.
pub(crate) fn edge(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Edge> {
    if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        let version = unsigned(value.py(), name, value.extract()?)?;
        return Ok(Edge::Version(version));
    }
    milliseconds(value).map(Edge::Timestamp)
}

/// Converts `kind` and `deleted` to a kind of changes.
pub(crate) fn kind(py: Python<'_>, kind: &str, deleted: Option<&str>) -> PyResult<Kind> {
    let deleted_rows = match deleted {
        None | Some("exclude") => false,
        Some("include") => true,
        Some(other) => {
            let message = format!("deleted is {other:?}: pass \"include\" or \"exclude\"");
            return Err(invalid(py, "changes.deleted", message));
        }
    };
    Ok(match kind {
        "upsert" => Kind::Net(Net::Upsert {
            deleted: deleted_rows,
        }),
        "append-only" => Kind::Net(Net::AppendOnly {
            deleted: deleted_rows,
        }),
        "full-delta" | "min-delta" if deleted.is_some() => {
            let message = format!(
                "deleted applies only to \"upsert\" and \"append-only\", and {kind:?} always includes \
                 deleted rows: omit the argument deleted"
            );
            return Err(invalid(py, "changes.deleted", message));
        }
        "full-delta" => Kind::Full,
        "min-delta" => Kind::Net(Net::MinDelta),
        other => {
            let message = format!(
                "unknown kind of changes {other:?}: pass full-delta, min-delta, upsert or \
                 append-only"
            );
            return Err(invalid(py, "changes.kind", message));
        }
    })
}

/// Returns a field of a plain object of Python, such as a `Protocol`, whose constructor does not check it.
pub(crate) fn field<T>(object: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<T>
where
    T: for<'a, 'py> FromPyObject<'a, 'py>,
{
    let value = object.getattr(name)?;
    value.extract().map_err(|_| {
        let class = object.get_type().name();
        let class = class.map_or_else(|_| "object".to_owned(), |class| class.to_string());
        let message = format!("{name} of a {class} needs to be {expected}: create another one");
        invalid(object.py(), "argument.type", message)
    })
}

/// Converts a version or a count, which must not be negative.
pub(crate) fn unsigned(py: Python<'_>, name: &str, value: i128) -> PyResult<u64> {
    u64::try_from(value).map_err(|_| {
        invalid(
            py,
            "argument.range",
            format!("{name} is {value}: pass a number from 0 to {}", u64::MAX),
        )
    })
}

/// Converts as [`unsigned`], if there is a value.
pub(crate) fn optional(py: Python<'_>, name: &str, value: Option<i128>) -> PyResult<Option<u64>> {
    value.map(|value| unsigned(py, name, value)).transpose()
}

/// Converts a limit of rows or bytes; one beyond the address space is unlimited.
pub(crate) fn limit(py: Python<'_>, name: &str, value: Option<i128>) -> PyResult<Option<usize>> {
    let value = optional(py, name, value)?;
    Ok(value.map(|value| usize::try_from(value).unwrap_or(usize::MAX)))
}

/// Converts a `datetime` (naive means UTC) or ISO 8601 text to milliseconds since the epoch, rounded down.
pub(crate) fn milliseconds(timestamp: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = timestamp.py();
    if let Ok(text) = timestamp.cast::<PyString>() {
        let text: String = text.extract()?;
        // Python 3.10 does not parse the suffix
        let iso = match text.strip_suffix(['Z', 'z']) {
            Some(rest) => format!("{rest}+00:00"),
            None => text.clone(),
        };
        let parsed = py
            .get_type::<PyDateTime>()
            .call_method1("fromisoformat", (iso,));
        let parsed = parsed.map_err(|_| {
            invalid(
                py,
                "argument.timestamp",
                format!(
                    "timestamp {text:?} is not ISO 8601: write it as 2026-01-31T12:00:00+00:00, \
                     or pass a datetime"
                ),
            )
        })?;
        return Ok(microseconds(&parsed)?.div_euclid(1000));
    }
    if timestamp.is_instance_of::<PyDateTime>() {
        return Ok(microseconds(timestamp)?.div_euclid(1000));
    }
    Err(PyTypeError::new_err(format!(
        "timestamp needs to be a datetime or ISO 8601 text but got {}",
        timestamp.get_type().name()?
    )))
}

/// Converts a datetime to microseconds since the epoch; a naive datetime counts as UTC.
pub(crate) fn microseconds(timestamp: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = timestamp.py();
    let utc = py.import("datetime")?.getattr("timezone")?.getattr("utc")?;
    let class = py.get_type::<PyDateTime>();
    let epoch = class.call_method1("fromtimestamp", (0, &utc))?;
    let aware = if timestamp.call_method0("utcoffset")?.is_none() {
        let zone = PyDict::new(py);
        zone.set_item("tzinfo", &utc)?;
        timestamp.call_method("replace", (), Some(&zone))?
    } else {
        timestamp.clone()
    };
    let span = aware.sub(epoch)?;
    let days: i64 = span.getattr("days")?.extract()?;
    let seconds: i64 = span.getattr("seconds")?.extract()?;
    let microseconds: i64 = span.getattr("microseconds")?.extract()?;
    Ok((days * 86_400 + seconds) * 1_000_000 + microseconds)
}

/// The maximum timeout, a century: deadlines must be representable by the system's clock.
const MAX_TIMEOUT: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Converts a number of seconds to a duration.
pub(crate) fn seconds(timeout: f64) -> Result<Duration> {
    let span = Duration::try_from_secs_f64(timeout).map_err(|_| {
        let message = format!("timeout is {timeout}: pass a finite number of seconds, 0 or more");
        Error::invalid("argument.range", message)
    })?;
    Ok(span.min(MAX_TIMEOUT))
}
