//! Base 85 as used in the log: Z85, with bytes zero-padded to a multiple of four.
//!
//! The `z85` crate is strict, with one extension: its encoder marks each missing byte of the last group with
//! a `#`, and its decoder omits the marked bytes. Vectors of writers that leave padding to the crate have
//! these marks. Five characters that begin with `#` exceed 32 bits in Z85, so this is unambiguous.
//! delta-spark does not know the marks and decodes other bytes.
//!
//! Protocol: "Deletion Vector Descriptor Schema"; ZeroMQ RFC 32.

use z85::DecodeError;

use crate::error::{Error, Result};

/// Encodes bytes as text; zeros are appended up to a multiple of four.
pub fn encode(bytes: &[u8]) -> String {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4), 0);
    z85::encode(padded)
}

/// Decodes the text to bytes, with the zero padding of the last group unless the text marks its missing bytes.
///
/// # Errors
///
/// Corrupt: `dv.base85`; the message contains the wrong length, or the position of the problem.
pub fn decode(text: &str) -> Result<Vec<u8>> {
    const OVERFLOW: &str = "five characters that encode more than four bytes";
    z85::decode(text).map_err(|cause| {
        let (what, at) = match cause {
            // search for the byte, since the crate counts differently in a marked group
            DecodeError::InvalidByte(_, invalid) => (
                "a character that is not in the alphabet",
                text.bytes().position(|byte| byte == invalid).unwrap_or(0),
            ),
            DecodeError::InvalidChunk(at) => (OVERFLOW, at),
            DecodeError::InvalidTail => (OVERFLOW, text.len().saturating_sub(5)),
            DecodeError::InvalidLength(length) => {
                let message = format!(
                    "the base 85 text has {length} characters, which is not a multiple of five"
                );
                return Error::corrupt("dv.base85", message);
            }
        };
        let message = format!("the base 85 text has {what}, at character {at}");
        Error::corrupt("dv.base85", message)
    })
}

#[cfg(test)]
#[allow(clippy::string_slice)]
mod tests;
