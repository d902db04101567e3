//! The location of a deletion vector, from its descriptor.
//!
//! Protocol: "Derived Fields".

use ring::digest::{SHA256, digest};
use uuid::Uuid;

use super::base85;
use crate::error::{Error, Result};
use crate::spec::{DeletionVectorDescriptor, DeletionVectorStorage};

/// The location of a vector's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum VectorLocation<'a> {
    /// In the descriptor, as base 85.
    Inline(&'a str),
    /// In a file, by a path as in the log: URI-encoded, relative to the table root or absolute.
    File(String),
}

/// Returns the location of the vector of a descriptor.
///
/// # Errors
///
/// Corrupt: `dv.path` if a relative path does not end with a UUID in base 85.
pub fn vector_location(descriptor: &DeletionVectorDescriptor) -> Result<VectorLocation<'_>> {
    let text = descriptor.path_or_inline();
    Ok(match descriptor.storage() {
        DeletionVectorStorage::Inline => VectorLocation::Inline(text),
        DeletionVectorStorage::Absolute => VectorLocation::File(text.to_owned()),
        DeletionVectorStorage::Relative => {
            // The prefix is literal, unlike other paths in the log, which are URI-encoded.
            let path = relative_path(text)?;
            VectorLocation::File(path.replace('%', "%25").replace(':', "%3A"))
        }
    })
}

/// Returns the name `deletion_vector_<uuid>.bin` for a copy of a vector's file in the table root, and the
/// `pathOrInlineDv` of its relative descriptor. The UUID is that of the file's own name, if it has this
/// form; otherwise it is derived from the path.
pub fn as_relative(path: &str) -> (String, String) {
    let name = path.rsplit('/').next().unwrap_or_default();
    let id = name.strip_prefix("deletion_vector_");
    let id = id.and_then(|id| Uuid::try_parse(id.strip_suffix(".bin")?).ok());
    let id = id.unwrap_or_else(|| Uuid::from_u128(hash_of_text(path)));
    (
        format!("deletion_vector_{id}.bin"),
        base85::encode(id.as_bytes()),
    )
}

/// Returns 128 bits of the SHA-256 of a text: stable, and resistant to collisions.
pub fn hash_of_text(text: &str) -> u128 {
    let hash = digest(&SHA256, text.as_bytes());
    let half = hash.as_ref().first_chunk::<16>();
    half.map_or(0, |half| u128::from_be_bytes(*half))
}

/// Returns `prefix/deletion_vector_<uuid>.bin`; the prefix is everything before the last 20 characters.
pub(super) fn relative_path(text: &str) -> Result<String> {
    let invalid_path = || {
        Error::corrupt(
            "dv.path",
            "the path of a deletion vector does not end with a UUID in base 85 (20 characters)",
        )
    };
    let at = text.len().checked_sub(20).ok_or_else(invalid_path)?;
    let (prefix, uuid) = text.split_at_checked(at).ok_or_else(invalid_path)?;
    let bytes = base85::decode(uuid).map_err(|cause| invalid_path().because(cause))?;
    let uuid = Uuid::from_slice(&bytes).map_err(|_| invalid_path())?;
    let separator = if prefix.is_empty() { "" } else { "/" };
    Ok(format!("{prefix}{separator}deletion_vector_{uuid}.bin"))
}
