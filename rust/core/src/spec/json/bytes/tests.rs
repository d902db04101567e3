use super::*;
use proptest::prelude::*;

/// A reference implementation: one byte at a time.
fn reference_end(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut inside, mut escaped) = (1, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' if !escaped => inside = !inside,
            b'{' | b'[' if !inside => depth += 1,
            b'}' | b']' if !inside => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        escaped = *byte == b'\\' && !escaped;
    }
    None
}

#[test]
fn finds_ends_across_chunks() {
    for filler in 0..200 {
        let text = format!("\"{}\\\"}}\\\\\":[{{}}]}}tail", "x".repeat(filler));
        assert_eq!(
            end_of_container(text.as_bytes()),
            Some(text.len() - 4),
            "{filler}"
        );
    }
}

/// A reference implementation: one byte at a time.
fn reference_masks(chunk: &[u8; 64]) -> Masks {
    let mut masks = Masks {
        quotes: 0,
        backslashes: 0,
        opens: 0,
        closes: 0,
    };
    for (at, byte) in chunk.iter().enumerate() {
        masks.quotes |= u64::from(*byte == b'"') << at;
        masks.backslashes |= u64::from(*byte == b'\\') << at;
        masks.opens |= u64::from(matches!(byte, b'{' | b'[')) << at;
        masks.closes |= u64::from(matches!(byte, b'}' | b']')) << at;
    }
    masks
}

proptest! {
    #[test]
    fn ends_equal_those_of_the_reference(text in r#"(["\\{}\[\]]|[a-z]{1,20}){0,60}"#) {
        prop_assert_eq!(end_of_container(text.as_bytes()), reference_end(text.as_bytes()));
    }

    #[test]
    fn masks_equal_those_of_the_reference(chunk in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'{'), Just(b']'), Just(b'"'), Just(b'\\')], 64)) {
        let chunk = <&[u8; 64]>::try_from(chunk.as_slice()).unwrap();
        let (masks, expected) = (Masks::of(chunk), reference_masks(chunk));
        prop_assert_eq!(
            (masks.quotes, masks.backslashes, masks.opens, masks.closes),
            (expected.quotes, expected.backslashes, expected.opens, expected.closes)
        );
    }

    #[test]
    fn plain_prefix_ends_before_the_first_special_byte(text: String) {
        let special = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
        let first = text.bytes().position(|byte| special(&byte)).unwrap_or(text.len());
        let length = plain_prefix(text.as_bytes());
        prop_assert!(length <= first && first - length < 8);
    }
}
