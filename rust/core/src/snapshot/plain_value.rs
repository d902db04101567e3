//! Values that cross to other processes as JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// A value that goes to another process, and is the same there.
pub trait PlainValue: Serialize + DeserializeOwned {
    /// The code of the error for a text that is something else.
    const CODE: &'static str;
    /// The name of the value in that error's message.
    const WHAT: &'static str;

    /// The value as JSON; [`PlainValue::from_json`] takes it in any process.
    ///
    /// # Errors
    ///
    /// None that can be brought about from outside.
    fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|cause| {
            Error::invalid(Self::CODE, "the value does not serialise").because(cause)
        })
    }

    /// The value that [`PlainValue::to_json`] wrote.
    ///
    /// # Errors
    ///
    /// Invalid argument, with [`PlainValue::CODE`]: the text is something else.
    fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|cause| {
            let message = format!(
                "this is not {} of this version of the library: make it again",
                Self::WHAT
            );
            Error::invalid(Self::CODE, message).because(cause)
        })
    }
}
