use super::*;

/// Validates a struct without known fields.
fn is_valid(bytes: &[u8]) -> bool {
    walk(bytes, &[], &mut |_, _| Some(())).is_some()
}

fn is_footer(bytes: &[u8]) -> bool {
    has_encrypted_columns(bytes).is_some()
}

#[test]
fn encrypted_columns_are_detected() {
    let is_encrypted = |bytes: &[u8]| has_encrypted_columns(bytes).unwrap();
    assert!(!is_encrypted(b"\x15\x02\x00"));
    // field 8: AES_GCM_V1 with `aad_file_unique`
    assert!(is_encrypted(b"\x15\x02\x7c\x1c\x28\x02ab\x00\x00\x00"));
    // field 8 as a string
    assert!(!is_footer(b"\x15\x02\x78\x02ab\x00"));
}

#[test]
fn complete_structs_are_valid() {
    for valid in [
        &b"\x00"[..],
        b"\x15\x02\x00",
        b"\x11\x12\x00",                     // two booleans
        b"\x18\x02ab\x00",                   // text
        b"\x19\x25\x02\x04\x00",             // two numbers
        b"\x19\x2c\x15\x02\x00\x00\x00",     // two structs
        b"\x1b\x01\x85\x01a\x02\x00",        // a map from text to number
        b"\x1b\x00\x00",                     // an empty map
        b"\x19\x00\x00",                     // an empty list
        b"\x05\x02\x02\x00",                 // a field with its number
        b"\x17\0\0\0\0\0\0\0\0\x00trailing", // eight bytes
    ] {
        assert!(is_valid(valid), "{valid:?}");
    }
}

#[test]
fn structs_that_claim_more_than_their_bytes_are_invalid() {
    let huge = b"\xff\xff\xff\xff\x07";
    for (head, tail) in [
        (&b"\xf9\xf1"[..], &b"\x00"[..]), // booleans
        (b"\xf9\xf2", b"\x00"),
        (b"\xfa\xf1", b"\x00"),
        (b"\xf9\xf0", b"\x00"), // elements of type 0
        (b"\xf9\xfe", b"\x00"),
        (b"\xf9\xfc", b"\x00\x00\x00"), // structs
        (b"\xfb", b"\x11\x00"),         // a map of booleans
        (b"\xf8", b"\x00"),             // text
    ] {
        let text = [head, huge, tail].concat();
        assert!(!is_valid(&text), "{text:?}");
    }
    assert!(!is_valid(b""));
    assert!(!is_valid(b"\x15"));
    assert!(!is_valid(&b"\x1c".repeat(1000)));
    assert!(!is_valid(&[&b"\x19"[..], &b"\x19".repeat(1000)].concat()));
    assert!(!is_valid(&b"\xff".repeat(20)));
}

/// A footer whose schema has elements with these numbers of children; negative for leaves.
fn schema(children: &[i64]) -> Vec<u8> {
    let varint = |mut number: u64| {
        let mut bytes = Vec::new();
        while number > 0x7F {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    };
    let mut bytes = b"\x15\x02\x19\xfc".to_vec();
    bytes.extend(varint(children.len() as u64));
    for count in children {
        bytes.extend(b"\x48\x01a"); // its name
        if *count >= 0 {
            bytes.push(0x15);
            bytes.extend(varint((*count as u64) << 1));
        }
        bytes.push(0);
    }
    bytes.push(0);
    bytes
}

#[test]
fn schemas_have_all_children_and_a_bounded_depth() {
    for valid in [
        &[0][..],
        &[1, -1],
        &[2, -1, -1],
        &[2, 1, -1, 1, -1],
        &[3, -1, 2, -1, -1, -1],
    ] {
        assert!(is_footer(&schema(valid)), "{valid:?}");
    }
    for invalid in [
        &[1][..],
        &[2, -1],
        &[1 << 30, -1],
        &[1, i64::from(i32::MAX)],
    ] {
        assert!(!is_footer(&schema(invalid)), "{invalid:?}");
    }
    let chain = |depth: usize| [vec![1; depth], vec![-1]].concat();
    assert!(is_footer(&schema(&chain(MAX_SCHEMA_DEPTH))));
    assert!(!is_footer(&schema(&chain(MAX_SCHEMA_DEPTH + 1))));
    // 5,000 groups next to each other
    let wide = [vec![5_000], [1, -1].repeat(5_000)].concat();
    assert!(is_footer(&schema(&wide)));
    let mixed = [vec![2, -1], chain(MAX_SCHEMA_DEPTH - 1)].concat();
    assert!(is_footer(&schema(&mixed)));
    let mixed = [vec![2, -1], chain(MAX_SCHEMA_DEPTH)].concat();
    assert!(!is_footer(&schema(&mixed)));
}

#[test]
fn known_fields_of_another_type_are_refused() {
    // `num_children` as one byte: a decoder that ignores the type would read a varint of five bytes
    assert!(!is_footer(
        b"\x15\x02\x19\x1c\x48\x01a\x13\xff\xf5\xff\xff\x07\x00\x00"
    ));
    assert!(!is_footer(b"\x15\x02\x16\x02\x00")); // the schema as a number
    assert!(!is_footer(b"\x15\x02\x19\x25\x02\x02\x00")); // a schema of numbers
    assert!(!is_footer(b"\x16\x02\x00")); // the format as a long number
    assert!(is_footer(b"\x15\x02\x00"));
    // an unknown field may have any type
    assert!(is_footer(b"\x05\xc8\x01\x02\x00"));
}

#[test]
fn page_headers_are_read() {
    let header = page_header(b"\x15\x00\x15\x14\x15\x10\x15\x03\x1c\x15\x0a\x15\x10\x00\x00rest");
    let expected = PageHeader {
        length: 15,
        kind: PageHeader::DATA,
        uncompressed: 10,
        compressed: 8,
        crc: Some(-2),
        values: 5,
        encoding: 8,
        levels: 0,
    };
    assert_eq!(header, Some(expected));
    for broken in [
        &b""[..],
        b"\x15\x00\x15\x14\x15\x10",                     // cut off
        b"\x15\x00\x15\x14\x15\x10\x00",                 // a data page without its own header
        b"\x15\x04\x15\x14\x15\x10\x2c\x15\x02\x00\x00", // a dictionary page without its own header
        b"\x16\x00\x15\x14\x15\x10\x00",                 // of another type
        b"\x15\x00\x15\xff\xff\xff\xff\xff\x01\x00",     // beyond 32 bits
        b"\x15\x00\x15\x14\x15\x10\x2c\x15\x0a\x48\xff\xff\xff\xff\x7f\x00", // a text beyond the bytes
    ] {
        assert_eq!(page_header(broken), None, "{broken:?}");
    }
}
