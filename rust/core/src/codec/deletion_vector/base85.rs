//! Base 85 as the log has it: Z85, whose bytes are filled up with zeros to a multiple of four.
//!
//! The `z85` crate reads it strictly, and one thing more: it does not pad with zeros itself but marks
//! each byte that the last group lacks by a `#`, and so do vectors of writers that leave padding to it
//! (five characters that begin with `#` stand for more than 32 bits, so nothing else is meant). The
//! reference does not know that and reads other bytes.
//!
//! Protocol: "Deletion Vector Descriptor Schema"; ZeroMQ RFC 32.

use z85::DecodeError;

use crate::error::{Error, Result};

/// As text; zeros are added to a length that is no multiple of four.
pub fn encode(bytes: &[u8]) -> String {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4), 0);
    z85::encode(padded)
}

/// The bytes that the text stands for, with the zeros that pad them; without where the text says how
/// many bytes its last group lacks.
///
/// # Errors
///
/// Corrupt: `dv.base85`, with the offset of the character in the text.
pub fn decode(text: &str) -> Result<Vec<u8>> {
    const BEYOND: &str = "five characters that stand for more than four bytes";
    z85::decode(text).map_err(|cause| {
        let (what, at) = match cause {
            // it is wrong wherever it stands; the crate counts it otherwise in a group that is marked
            DecodeError::InvalidByte(_, wrong) => (
                "a character that base 85 does not have",
                text.bytes().position(|byte| byte == wrong).unwrap_or(0),
            ),
            DecodeError::InvalidChunk(at) => (BEYOND, at),
            DecodeError::InvalidTail => (BEYOND, text.len().saturating_sub(5)),
            DecodeError::InvalidLength(length) => {
                let message = "base 85 comes in groups of five characters, and this has";
                return Error::corrupt("dv.base85", format!("{message} {length}"));
            }
        };
        let message = format!("the base 85 text has {what}, at character {at}");
        Error::corrupt("dv.base85", message)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::string_slice)]
mod tests;
