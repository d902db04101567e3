//! Values that are sent to other processes as JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// A value that can be sent to another process.
pub trait PlainValue: Serialize + DeserializeOwned {
    /// The code of the error for a text that does not parse.
    const CODE: &'static str;
    /// The name of the value in the error's message, such as "a split".
    const NAME: &'static str;

    /// Serializes the value to JSON, for [`PlainValue::from_json`] in any process.
    fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|cause| {
            Error::invalid(Self::CODE, "the value cannot be serialized").because(cause)
        })
    }

    /// Restores the value from [`PlainValue::to_json`].
    ///
    /// # Errors
    ///
    /// Invalid argument, with [`PlainValue::CODE`]: the text is not a value of this type.
    fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|cause| {
            let message = format!(
                "this is not {} of this version of deltareplay: create it again",
                Self::NAME
            );
            Error::invalid(Self::CODE, message).because(cause)
        })
    }
}
