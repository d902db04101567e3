//! The descriptor of a deletion vector in `add` and `remove`: its storage, its size, its number of rows.
//!
//! Protocol: "Deletion Vectors", "Deletion Vector Descriptor Schema".

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The storage of a deletion vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeletionVectorStorage {
    /// `i`: in the descriptor, in base 85.
    Inline,
    /// `u`: in a file that is named by a UUID, below the table root.
    Relative,
    /// `p`: in a file that is named by an absolute URI.
    Absolute,
}

impl DeletionVectorStorage {
    /// Returns the protocol's letter.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Inline => "i",
            Self::Relative => "u",
            Self::Absolute => "p",
        }
    }

    fn of_letter(letter: &str) -> Result<Self> {
        let all = [Self::Inline, Self::Relative, Self::Absolute];
        let storage = all.into_iter().find(|storage| storage.letter() == letter);
        storage.ok_or_else(|| {
            let types = "the types are i (inline), u (file named by a UUID) and p (absolute path)";
            let letter: String = letter.chars().take(20).collect();
            let message =
                format!("a deletion vector has the unknown storage type {letter:?}; {types}");
            Error::corrupt("dv.storage_type", message)
        })
    }
}

/// A valid descriptor. The vector that it refers to may still be invalid.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct DeletionVectorDescriptor {
    storage: DeletionVectorStorage,
    path_or_inline: String,
    offset: Option<i32>,
    size_in_bytes: u32,
    cardinality: u64,
}

/// The JSON form of a descriptor.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    storage_type: String,
    path_or_inline_dv: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<i32>,
    size_in_bytes: i32,
    cardinality: i64,
}

impl DeletionVectorDescriptor {
    /// Creates a descriptor from the fields of the protocol: `storageType`, `pathOrInlineDv`, `offset`,
    /// `sizeInBytes`, `cardinality`.
    ///
    /// # Errors
    ///
    /// Corrupt: `dv.storage_type` (a different letter than `i`, `u`, `p`), `dv.path` (empty, or too short for
    /// a UUID), `dv.offset`, `dv.size`, `dv.cardinality` (negative numbers).
    pub fn new(
        storage_type: &str,
        path_or_inline: impl Into<String>,
        offset: Option<i32>,
        size_in_bytes: i32,
        cardinality: i64,
    ) -> Result<Self> {
        let path_or_inline = path_or_inline.into();
        let storage = DeletionVectorStorage::of_letter(storage_type)?;
        let shortest = match storage {
            DeletionVectorStorage::Inline => 0,
            DeletionVectorStorage::Relative => 20,
            DeletionVectorStorage::Absolute => 1,
        };
        if path_or_inline.len() < shortest {
            return Err(Error::corrupt(
                "dv.path",
                format!(
                    "a deletion vector of storage type {storage_type} has a path of {} bytes; at least \
                     {shortest} are required",
                    path_or_inline.len()
                ),
            ));
        }
        if let Some(offset) = offset.filter(|offset| offset.is_negative()) {
            return Err(negative("dv.offset", "offset", offset.into()));
        }
        Ok(Self {
            storage,
            path_or_inline,
            offset,
            size_in_bytes: u32::try_from(size_in_bytes)
                .map_err(|_| negative("dv.size", "sizeInBytes", i64::from(size_in_bytes)))?,
            cardinality: u64::try_from(cardinality)
                .map_err(|_| negative("dv.cardinality", "cardinality", cardinality))?,
        })
    }

    /// Returns the storage of the vector.
    pub fn storage(&self) -> DeletionVectorStorage {
        self.storage
    }

    /// Returns `pathOrInlineDv`, exactly as in the log.
    pub fn path_or_inline(&self) -> &str {
        &self.path_or_inline
    }

    /// Returns `offset` as in the log; absent means the beginning of the file.
    pub fn offset(&self) -> Option<i32> {
        self.offset
    }

    /// Returns the offset of the vector's size field in the file.
    pub fn position(&self) -> u64 {
        self.offset
            .and_then(|offset| u64::try_from(offset).ok())
            .unwrap_or(0)
    }

    /// Returns the length of the bitmap, without its size field and its checksum.
    pub fn size_in_bytes(&self) -> u32 {
        self.size_in_bytes
    }

    /// Returns the number of rows that the vector deletes.
    pub fn cardinality(&self) -> u64 {
        self.cardinality
    }

    /// Returns `true` if no row is deleted and there is nothing to decode: an empty inline vector.
    pub fn is_empty(&self) -> bool {
        self.storage == DeletionVectorStorage::Inline
            && self.size_in_bytes == 0
            && self.cardinality == 0
    }

    /// Returns an id that distinguishes the vectors of one data file: storage type, path or content, and
    /// `@offset` where the log has one. Offset 0 and no offset give different ids.
    pub fn unique_id(&self) -> String {
        let mut id = format!("{}{}", self.storage.letter(), self.path_or_inline);
        if let Some(offset) = self.offset {
            id.push_str(&format!("@{offset}"));
        }
        id
    }
}

fn negative(code: &'static str, name: &str, value: i64) -> Error {
    Error::corrupt(
        code,
        format!("a deletion vector's {name} is {value}; it cannot be negative"),
    )
}

impl fmt::Display for DeletionVectorDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.unique_id())
    }
}

impl TryFrom<Fields> for DeletionVectorDescriptor {
    type Error = Error;

    fn try_from(fields: Fields) -> Result<Self> {
        Self::new(
            &fields.storage_type,
            fields.path_or_inline_dv,
            fields.offset,
            fields.size_in_bytes,
            fields.cardinality,
        )
    }
}

impl From<DeletionVectorDescriptor> for Fields {
    fn from(descriptor: DeletionVectorDescriptor) -> Self {
        Self {
            storage_type: descriptor.storage.letter().to_owned(),
            path_or_inline_dv: descriptor.path_or_inline,
            offset: descriptor.offset,
            size_in_bytes: i32::try_from(descriptor.size_in_bytes).unwrap_or(i32::MAX),
            cardinality: i64::try_from(descriptor.cardinality).unwrap_or(i64::MAX),
        }
    }
}

#[cfg(test)]
mod tests;
