//! Base 85 as the log uses it (Z85): four bytes, big-endian, as five characters.
//!
//! Strict: a length that is no multiple of five, another character, and five characters that stand
//! for more than 32 bits are errors. With one exception: writers that build on the `z85` crate do not
//! pad with zeros. They mark each byte that the last group lacks by a `#` before its digits (five that
//! begin with `#` stand for more than 32 bits, so nothing else is meant). The reference does not know
//! that and reads other bytes.
//!
//! Protocol: "Deletion Vector Descriptor Schema"; ZeroMQ RFC 32.

use crate::error::{Error, Result};

const ALPHABET: &[u8; 85] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

const NONE: u8 = u8::MAX;

/// The digit of each byte.
static DIGITS: [u8; 256] = {
    let mut digits = [NONE; 256];
    let mut digit = 0_u8;
    while digit < 85 {
        #[allow(clippy::indexing_slicing, reason = "checked when it is compiled")]
        {
            digits[ALPHABET[digit as usize] as usize] = digit;
        }
        digit += 1;
    }
    digits
};

fn digit(byte: u8) -> u8 {
    DIGITS.get(usize::from(byte)).copied().unwrap_or(NONE)
}

/// As text; zeros are added to a length that is no multiple of four.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(4) * 5);
    let (groups, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let padded = (!rest.is_empty()).then_some(&last);
    for group in groups.iter().chain(padded) {
        let value = u32::from_be_bytes(*group);
        for power in [85 * 85 * 85 * 85, 85 * 85 * 85, 85 * 85, 85, 1] {
            let digit = usize::try_from(value / power % 85).unwrap_or(0);
            text.push(char::from(ALPHABET.get(digit).copied().unwrap_or(b'0')));
        }
    }
    text
}

/// The bytes that the text stands for, with the zeros that pad them; without where the text says how
/// many bytes its last group lacks.
///
/// # Errors
///
/// Corrupt: `dv.base85`, with the offset of the character in the text.
pub fn decode(text: &str) -> Result<Vec<u8>> {
    let (groups, rest) = text.as_bytes().as_chunks::<5>();
    if !rest.is_empty() {
        return Err(Error::corrupt(
            "dv.base85",
            format!(
                "base 85 comes in groups of five characters, and this has {}",
                text.len()
            ),
        ));
    }
    let mut bytes = Vec::with_capacity(groups.len().saturating_mul(4));
    for (index, group) in groups.iter().enumerate() {
        let digits = group.map(digit);
        match u32::try_from(number(&digits)) {
            Ok(value) if !digits.contains(&NONE) => bytes.extend_from_slice(&value.to_be_bytes()),
            _ if index + 1 < groups.len() => return Err(refused(index, digits)),
            _ => {
                let value = tail(group).ok_or_else(|| refused(index, digits))?;
                bytes.extend(value);
            }
        }
    }
    Ok(bytes)
}

fn number(digits: &[u8]) -> u64 {
    let place = |value, digit: &u8| value * 85 + u64::from(*digit);
    digits.iter().fold(0, place)
}

/// The one, two or three bytes of a last group that marks those it lacks.
fn tail(group: &[u8; 5]) -> Option<impl Iterator<Item = u8> + use<>> {
    let lacking = group.iter().take_while(|byte| **byte == b'#').count();
    let digits = group.map(digit);
    let value = number(digits.get(lacking..)?);
    let bytes = 4_usize.checked_sub(lacking)?;
    let fits = (1..=3).contains(&bytes) && !digits.contains(&NONE) && value >> (bytes * 8) == 0;
    fits.then(|| value.to_be_bytes().into_iter().skip(8 - bytes))
}

fn refused(group: usize, digits: [u8; 5]) -> Error {
    let wrong = digits.iter().position(|digit| *digit == NONE);
    let what = if wrong.is_some() {
        "a character that base 85 does not have"
    } else {
        "five characters that stand for more than four bytes"
    };
    let offset = u64::try_from(group * 5 + wrong.unwrap_or(0)).unwrap_or(u64::MAX);
    Error::corrupt(
        "dv.base85",
        format!("the base 85 text has {what}, at character {offset}"),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::string_slice)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_test_vector_of_the_rfc() {
        let bytes = [0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B];
        assert_eq!(encode(&bytes), "HelloWorld");
        assert_eq!(decode("HelloWorld").unwrap(), bytes);
        assert!(decode("").unwrap().is_empty());
        assert_eq!(decode("%nSc0").unwrap(), [0xFF; 4]);
    }

    #[test]
    fn what_is_no_base85_is_refused_with_its_place() {
        for (text, message) in [
            ("Hell", "has 4"),
            ("HelloW", "has 6"),
            ("Hello World", "has 11"),
            ("Hel\"oWorld", "character 3"),
            ("HelloWor d", "character 8"),
            ("Hel'o", "character 3"),
            ("Hel~o", "character 3"),
            ("He|lo", "character 2"),
            ("Heé0", "character 2"),
            ("00000%nSc1", "character 5"),
            ("#####", "more than four bytes"),
            ("##09300000", "character 0"),
            ("##961", "more than four bytes"),
            ("##0 3", "character 3"),
            ("####1", "more than four bytes"),
            ("%nSc1", "more than four bytes"),
        ] {
            let error = decode(text).unwrap_err();
            assert_eq!(error.code(), "dv.base85", "{text}");
            assert!(error.message().contains(message), "{text}: {error}");
        }
    }

    /// The first is the end of a vector in a table that delta-kernel-rs tests with.
    #[test]
    fn a_last_group_may_mark_the_bytes_that_it_lacks() {
        assert_eq!(decode("##093").unwrap(), [3, 0]);
        assert_eq!(decode("%nSc0###01").unwrap(), [0xFF, 0xFF, 0xFF, 0xFF, 1]);
        assert_eq!(decode("#rr90").unwrap(), [0xFF, 0xFF, 0xFF]);
    }

    proptest! {
        #[test]
        fn what_is_encoded_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..70)) {
            let text = encode(&bytes);
            let decoded = decode(&text).unwrap();
            prop_assert_eq!(decoded.len() % 4, 0);
            prop_assert!(decoded.starts_with(&bytes) && decoded.len() - bytes.len() < 4);
            prop_assert!(decoded[bytes.len()..].iter().all(|byte| *byte == 0));
            for end in 1..text.len() {
                prop_assert_eq!(decode(&text[..end]).is_ok(), end % 5 == 0);
            }
        }

        #[test]
        fn what_decodes_is_what_would_be_encoded(text in "[ -~]{0,30}") {
            if let Ok(bytes) = decode(&text) && bytes.len() % 4 == 0 {
                prop_assert_eq!(encode(&bytes), text);
            }
        }
    }
}
