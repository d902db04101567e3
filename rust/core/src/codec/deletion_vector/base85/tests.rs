use proptest::prelude::*;

use super::*;

#[test]
fn the_rfc_test_vector_is_encoded_and_decoded() {
    let bytes = [0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B];
    assert_eq!(encode(&bytes), "HelloWorld");
    assert_eq!(decode("HelloWorld").unwrap(), bytes);
    assert!(decode("").unwrap().is_empty());
    assert_eq!(decode("%nSc0").unwrap(), [0xFF; 4]);
}

#[test]
fn invalid_text_is_refused() {
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

/// The first text is the end of a vector in a test table of delta-kernel-rs.
#[test]
fn the_last_group_may_mark_missing_bytes() {
    assert_eq!(decode("##093").unwrap(), [3, 0]);
    assert_eq!(decode("%nSc0###01").unwrap(), [0xFF, 0xFF, 0xFF, 0xFF, 1]);
    assert_eq!(decode("#rr90").unwrap(), [0xFF, 0xFF, 0xFF]);
}

proptest! {
    #[test]
    fn encoded_bytes_decode_to_the_same_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..70)) {
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
    fn decoded_text_encodes_to_the_same_text(text in "[ -~]{0,30}") {
        if let Ok(bytes) = decode(&text) && bytes.len() % 4 == 0 {
            prop_assert_eq!(encode(&bytes), text);
        }
    }
}
