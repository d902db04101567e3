//! Deletion vector files: a version byte, then per vector its size, its bitmap and a CRC-32. Sizes and
//! checksums are big-endian; the offsets of vectors are only in the log.
//!
//! Protocol: "Deletion Vector File Storage Format".

use bytes::Bytes;

use super::set::too_large;
use super::{DeletionVector, base85, location};
use crate::error::{Error, Result};
use crate::spec::DeletionVectorDescriptor;

/// The first byte of every file.
const VERSION: u8 = 1;
/// The number of bytes before and after a bitmap, together.
pub(crate) const FRAME_BYTES: u64 = 8;

impl DeletionVector {
    /// Decodes one vector of a whole file: the one at `offset`, or the first.
    ///
    /// # Errors
    ///
    /// Corrupt, with the offset in the file: `dv.version`, `dv.truncated`, `dv.checksum`, `dv.magic`,
    /// `dv.bitmap`.
    pub fn decode_file(file: &[u8], offset: Option<u64>) -> Result<Self> {
        check_version(file)?;
        let offset = offset.unwrap_or(1);
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| file.get(offset..))
            .unwrap_or_default();
        let size = rest
            .first_chunk::<4>()
            .ok_or_else(|| truncated("the file ends before the vector's size").at_offset(offset))?;
        let size = u32::from_be_bytes(*size);
        let framed = usize::try_from(u64::from(size) + FRAME_BYTES)
            .ok()
            .and_then(|end| rest.get(..end))
            .ok_or_else(|| {
                truncated(&format!(
                    "the file ends within the vector's {size} bytes or their checksum"
                ))
                .at_offset(offset)
            })?;
        Self::decode_framed(Bytes::copy_from_slice(framed), size, None)
            .map_err(|error| error.shift(0, offset).at_offset(offset))
    }

    /// Decodes one vector with its frame: size, bitmap of `size_in_bytes` bytes, CRC-32. Copies nothing: the
    /// vector keeps `framed` alive.
    ///
    /// # Errors
    ///
    /// Corrupt, with the offset in `framed`: `dv.truncated`, `dv.size` if the file states a size other than
    /// the descriptor, `dv.checksum`, and the errors of [`DeletionVector::decode`].
    pub fn decode_framed(
        framed: Bytes,
        size_in_bytes: u32,
        cardinality: Option<u64>,
    ) -> Result<Self> {
        let parts = framed
            .split_first_chunk::<4>()
            .and_then(|(size, rest)| Some((size, rest.split_last_chunk::<4>()?)));
        let Some((size, (bitmap, checksum))) = parts else {
            return Err(truncated("it ends within its size or its checksum").at_offset(0));
        };
        let size = u32::from_be_bytes(*size);
        if size != size_in_bytes {
            return Err(Error::corrupt(
                "dv.size",
                format!(
                    "the descriptor states {size_in_bytes} bytes, but the file states {size} there: \
                     the offset is wrong, or it is another file"
                ),
            )
            .at_offset(0));
        }
        if u32::try_from(bitmap.len()) != Ok(size) {
            return Err(truncated(&format!(
                "its size field states {size} bytes, but there are {}",
                bitmap.len()
            ))
            .at_offset(0));
        }
        let (expected, actual) = (u32::from_be_bytes(*checksum), crc32fast::hash(bitmap));
        if expected != actual {
            return Err(Error::corrupt(
                "dv.checksum",
                format!(
                    "the deletion vector is damaged: its checksum is {actual:08x} where the file \
                     says {expected:08x}; restore the file from a copy"
                ),
            )
            .at_offset(4));
        }
        let end = framed.len() - 4;
        Self::decode_shared(framed.slice(4..end), cardinality).map_err(|error| error.shift(0, 4))
    }
}

/// Checks the version byte of a file.
pub(crate) fn check_version(file: &[u8]) -> Result<()> {
    match file.first() {
        Some(&VERSION) => Ok(()),
        Some(other) => Err(Error::corrupt(
            "dv.version",
            format!(
                "a file of deletion vectors starts with the version {VERSION}, but this starts with \
                 {other}: it is another kind of file, or needs a newer reader"
            ),
        )
        .at_offset(0)),
        None => Err(truncated("its file is empty").at_offset(0)),
    }
}

fn truncated(what: &str) -> Error {
    Error::corrupt(
        "dv.truncated",
        format!("the deletion vector is truncated: {what}"),
    )
}

/// Packs many vectors into the body of one new file.
#[derive(Clone, Debug)]
pub struct FileBuilder {
    path_or_inline: String,
    bytes: Vec<u8>,
}

impl FileBuilder {
    /// Creates a file named by a new UUID, in the directory `prefix` of the table, or in the table root if
    /// `prefix` is empty.
    pub fn new(uuid: [u8; 16], prefix: &str) -> Self {
        Self {
            path_or_inline: format!("{prefix}{}", base85::encode(&uuid)),
            bytes: vec![VERSION],
        }
    }

    /// Appends a vector and returns its descriptor.
    ///
    /// # Errors
    ///
    /// Invalid argument: `dv.too_large` if the vector takes 2 GiB or more, or would begin after 2 GiB of the file.
    pub fn push(&mut self, vector: &DeletionVector) -> Result<DeletionVectorDescriptor> {
        let bitmap = vector.encode()?;
        let size = i32::try_from(bitmap.len()).map_err(|_| too_large())?;
        let offset = i32::try_from(self.bytes.len()).map_err(|_| too_large())?;
        self.bytes.reserve(bitmap.len() + 8);
        self.bytes.extend_from_slice(&size.to_be_bytes());
        self.bytes.extend_from_slice(&bitmap);
        self.bytes
            .extend_from_slice(&crc32fast::hash(&bitmap).to_be_bytes());
        DeletionVectorDescriptor::new(
            "u",
            self.path_or_inline.clone(),
            Some(offset),
            size,
            vector.len_signed(),
        )
    }

    /// Returns the path of the file, relative to the table root.
    pub fn relative_path(&self) -> Result<String> {
        location::relative_path(&self.path_or_inline)
    }

    /// Returns the number of bytes written so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns `true` if the file contains no vector.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() <= 1
    }

    /// Returns the bytes of the file.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}
