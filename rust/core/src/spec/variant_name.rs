//! Enum variants by their serde names.

use serde::de::DeserializeOwned;
use serde::de::value::{Error, StrDeserializer};

/// Returns the variant of this name, if there is one.
pub fn variant_named<T: DeserializeOwned>(name: &str) -> Option<T> {
    T::deserialize(StrDeserializer::<Error>::new(name)).ok()
}
