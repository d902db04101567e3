use std::sync::Arc;

use parquet::basic::ZstdLevel;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use super::*;

const RULES: PageRules = PageRules {
    code: "data.pages",
    message: "the data file does not decode",
    max_bytes: 1 << 20,
};

/// Encodes a page header: kind, stated sizes, checksum, number of values.
fn header(kind: u8, sizes: [i32; 2], crc: Option<u32>, values: i32) -> Vec<u8> {
    let number = |number: i32, bytes: &mut Vec<u8>| {
        let mut left = ((number << 1) ^ (number >> 31)).cast_unsigned();
        while left > 0x7F {
            bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        bytes.push(left as u8);
    };
    let mut bytes = vec![0x15, kind << 1];
    for size in sizes {
        bytes.push(0x15);
        number(size, &mut bytes);
    }
    if let Some(crc) = crc {
        bytes.push(0x15);
        number(crc.cast_signed(), &mut bytes);
    }
    let previous_field = if crc.is_some() { 4 } else { 3 };
    let field = [5, 6, 7, 8][usize::from(kind)];
    bytes.extend([(field - previous_field) << 4 | 12, 0x15]);
    number(values, &mut bytes);
    bytes.extend([0, 0]);
    bytes
}

fn page(kind: u8, body: &[u8], values: i32) -> Vec<u8> {
    let size = i32::try_from(body.len()).unwrap();
    let crc = crc32fast::hash(body);
    [&header(kind, [size, size], Some(crc), values)[..], body].concat()
}

fn check(codec: Compression, values: i64, bytes: &[u8]) -> Result<i64> {
    let schema = parse_message_type("message m { required int64 x; }").unwrap();
    let schema = SchemaDescriptor::new(Arc::new(schema));
    let column = ColumnChunkMetaData::builder(schema.column(0))
        .set_compression(codec)
        .set_num_values(values)
        .build()
        .unwrap();
    check_chunk(&column, None, bytes)
}

fn check_chunk(
    column: &ColumnChunkMetaData,
    index: Option<&[PageLocation]>,
    bytes: &[u8],
) -> Result<i64> {
    let mut chunk = Chunk {
        column,
        index,
        values: 0,
    };
    let range = 100..100 + bytes.len() as u64;
    let mut pages = LeafPages::default();
    check_range(&mut chunk, &range, bytes, &mut pages, &RULES).map(|()| chunk.values)
}

const PLAIN: Compression = Compression::UNCOMPRESSED;

#[test]
fn valid_pages_are_accepted() {
    let dictionary = page(2, &[7; 16], 2);
    let pages = [
        dictionary,
        page(0, b"0123456789", 5),
        page(3, b"", 0),
        page(3, b"abc", 4),
    ];
    let pages = pages.concat();
    assert_eq!(check(PLAIN, 9, &pages).unwrap(), 9);
    assert_eq!(
        check(PLAIN, 100, &pages).unwrap(),
        9,
        "the decoder reports the missing values"
    );
    let after = [&pages[..], &page(0, b"", 0)].concat();
    assert_eq!(check(PLAIN, 9, &after).unwrap(), 9);
    let after = [&pages[..], b"anything"].concat();
    assert!(
        check(PLAIN, 9, &after).is_err(),
        "the decoder reads these bytes"
    );
    let without = [&header(0, [4, 4], None, 9)[..], b"abcd"].concat();
    assert_eq!(check(PLAIN, 9, &without).unwrap(), 9);
    let index = [page(1, b"0123", 0), page(0, b"", 9)].concat();
    assert_eq!(check(PLAIN, 9, &index).unwrap(), 9);
}

#[test]
fn contradictory_pages_are_refused_with_their_offset() {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let first = page(0, b"0123456789", 5);
    let framed = |header: Vec<u8>| [&header[..], b"0123456789"].concat();
    for (codec, second, message) in [
        (PLAIN, b"\xff\xff\xff".to_vec(), "header"),
        (PLAIN, header(0, [10, 10], None, 4), "extends past"),
        (PLAIN, framed(header(0, [10, 11], None, 4)), "extends past"),
        (PLAIN, framed(header(0, [10, -1], None, 4)), "extends past"),
        (
            PLAIN,
            framed(header(0, [10, i32::MAX], None, 4)),
            "extends past",
        ),
        (PLAIN, framed(header(0, [-1, 10], None, 4)), "decompress"),
        (
            PLAIN,
            framed(header(0, [2 << 20, 10], None, 4)),
            "decompress",
        ),
        (
            Compression::SNAPPY,
            framed(header(0, [5_000, 10], None, 4)),
            "decompress",
        ),
        (
            zstd,
            framed(header(3, [1 << 19, 10], None, 4)),
            "decompress",
        ),
        (PLAIN, framed(header(0, [10, 10], None, 5)), "values"),
        (PLAIN, framed(header(3, [10, 10], None, -1)), "values"),
        (PLAIN, framed(header(2, [10, 10], None, 11)), "values"),
        (PLAIN, framed(header(2, [10, 10], None, i32::MAX)), "values"),
        (PLAIN, framed(header(0, [10, 10], Some(1), 4)), "checksum"),
    ] {
        let error = check(codec, 9, &[&first[..], &second].concat()).unwrap_err();
        assert_eq!(error.code(), "data.pages");
        assert!(error.message().contains(message), "{message}: {error}");
        assert_eq!(error.offset(), Some(100 + first.len() as u64), "{error}");
    }
    assert!(check(zstd, 9, &framed(header(0, [300_000, 10], None, 9))).is_ok());
}

#[test]
fn pages_must_match_the_page_index() {
    let schema = parse_message_type("message m { required int64 x; }").unwrap();
    let schema = SchemaDescriptor::new(Arc::new(schema));
    let [dictionary, first, second] = [
        page(2, &[7; 16], 2),
        page(0, b"0123", 3),
        page(0, b"01234567", 4),
    ];
    let bytes = [&dictionary[..], &first, &second].concat();
    let length = |bytes: &[u8]| i32::try_from(bytes.len()).unwrap();
    let column = ColumnChunkMetaData::builder(schema.column(0))
        .set_num_values(7)
        .set_dictionary_page_offset(Some(100))
        .set_data_page_offset(100 + i64::from(length(&dictionary)))
        .set_total_compressed_size(bytes.len() as i64)
        .build()
        .unwrap();
    let index = |moved: [i32; 4], row: i64| {
        let [from, size, next, next_size] = moved;
        let start = 100 + length(&dictionary) + from;
        [
            PageLocation {
                offset: start.into(),
                compressed_page_size: length(&first) + size,
                first_row_index: 0,
            },
            PageLocation {
                offset: (start + length(&first) + next).into(),
                compressed_page_size: length(&second) + next_size,
                first_row_index: row,
            },
        ]
    };
    let valid = index([0; 4], 3);
    assert!(is_consistent(&valid, &column));
    assert_eq!(check_chunk(&column, Some(&valid), &bytes).unwrap(), 7);
    // a page within another, or one that takes bytes of the next
    for moved in [[1, 0, 0, -1], [0, -1, 0, 0], [0, 0, 1, -1], [0, 0, 0, -1]] {
        let index = index(moved, 3);
        assert!(is_consistent(&index, &column), "{moved:?}");
        let error = check_chunk(&column, Some(&index), &bytes).unwrap_err();
        assert!(error.message().contains("page index"), "{error}");
    }
    let inside = [PageLocation {
        offset: valid[0].offset + 5,
        ..valid[0].clone()
    }];
    assert!(check_chunk(&column, Some(&inside), &bytes).is_err());
    for (moved, row) in [
        ([0, 1, 0, 0], 3),
        ([0, 0, 0, 1], 3),
        ([-99, 0, 0, 0], 3),
        ([0; 4], -1),
    ] {
        assert!(
            !is_consistent(&index(moved, row), &column),
            "{moved:?} {row}"
        );
    }
}
