//! Values that cross to other processes as JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// A value as JSON.
///
/// # Errors
///
/// None that can be brought about from outside.
pub(crate) fn to_json(value: &impl Serialize, code: &'static str) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|cause| Error::invalid(code, "the value does not serialise").because(cause))
}

/// The value that [`to_json`] wrote.
///
/// # Errors
///
/// Invalid argument, with this code: the text is not `what` of this version.
pub(crate) fn from_json<T: DeserializeOwned>(
    json: &str,
    code: &'static str,
    what: &str,
) -> Result<T> {
    serde_json::from_str(json).map_err(|cause| {
        let message = format!("this is not {what} of this version of the library: make it again");
        Error::invalid(code, message).because(cause)
    })
}
