//! Files written by the Parquet library: what is decoded here is what was written, and what the library
//! decodes.

use std::panic::catch_unwind;
use std::sync::Arc;

use arrow_array::{
    Array, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{Field, Schema};
use arrow_select::concat::concat;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use proptest::prelude::*;

use super::*;
use crate::codec::parquet_file::{PageRules, check_pages, chunk_ranges};
use crate::error::Result;

/// A row group, ready to be decoded.
struct Group {
    bytes: Bytes,
    metadata: ArrowReaderMetadata,
}

impl Group {
    fn new(bytes: Bytes) -> Self {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::load(&bytes, options).unwrap();
        Self { bytes, metadata }
    }

    /// The first column, so many rows at a time; `None` where it is left to the library.
    fn decoded(&self, rows: usize) -> Result<Option<ArrayRef>> {
        let metadata = self.metadata.metadata();
        let wanted = chunk_ranges(metadata, 0, &[0], None);
        let range = &wanted.ranges[0];
        let chunk = self.bytes.slice(range.start as usize..range.end as usize);
        let rules = PageRules {
            code: "data.pages",
            most_bytes: u64::MAX,
        };
        let chunks = [chunk];
        let pages = check_pages(metadata, 0, &wanted, &chunks, &rules)?;
        let column = metadata.row_group(0).column(0);
        let data_type = self.metadata.schema().field(0).data_type();
        let broken = |cause| crate::error::Error::corrupt("data.pages", "-").because(cause);
        let column = FlatColumn::new(
            &chunks[0],
            pages.into_iter().next().unwrap(),
            column,
            data_type,
        );
        let Some(mut column) = column.map_err(broken)? else {
            return Ok(None);
        };
        let mut arrays = Vec::new();
        loop {
            let array = column.read(rows).map_err(broken)?;
            assert!(array.len() <= rows);
            array.to_data().validate_full().unwrap();
            if array.is_empty() {
                arrays.push(array);
                break;
            }
            arrays.push(array);
        }
        let arrays: Vec<_> = arrays.iter().map(AsRef::as_ref).collect();
        Ok(Some(concat(&arrays).unwrap()))
    }

    /// The same by the library; `None` where it refuses.
    fn expected(&self) -> Option<ArrayRef> {
        let read = || {
            let metadata = self.metadata.clone();
            let reader =
                ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), metadata);
            let mut batches = Vec::new();
            for batch in reader.build().ok()? {
                batches.push(Arc::clone(batch.ok()?.column(0)));
            }
            let batches: Vec<_> = batches.iter().map(AsRef::as_ref).collect();
            concat(&batches).ok()
        };
        catch_unwind(std::panic::AssertUnwindSafe(read)).ok()?
    }
}

fn written(array: &ArrayRef, nullable: bool, properties: WriterProperties) -> Bytes {
    let field = Field::new("x", array.data_type().clone(), nullable);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::clone(array)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema, Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes.into()
}

/// A column of one of the kinds, from numbers and nulls.
fn array(kind: usize, numbers: &[Option<i32>]) -> ArrayRef {
    let longs = || numbers.iter().map(|number| number.map(i64::from));
    let wide = |times: i128| {
        let numbers = numbers.iter();
        let numbers = numbers.map(move |number| number.map(|number| i128::from(number) * times));
        numbers.collect::<Decimal128Array>()
    };
    let decimals = |array: Decimal128Array, precision, scale| -> ArrayRef {
        Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
    };
    let texts = || numbers.iter().map(|number| number.map(text));
    match kind {
        0 => Arc::new(BooleanArray::from_iter(
            numbers
                .iter()
                .map(|number| number.map(|number| number % 3 == 0)),
        )),
        1 => Arc::new(Int32Array::from(numbers.to_vec())),
        2 => Arc::new(Date32Array::from(numbers.to_vec())),
        3 => Arc::new(Float32Array::from_iter(
            numbers
                .iter()
                .map(|number| number.map(|number| number as f32)),
        )),
        4 => Arc::new(Int64Array::from_iter(longs())),
        5 => Arc::new(TimestampMicrosecondArray::from_iter(longs()).with_timezone("UTC")),
        6 => Arc::new(Float64Array::from_iter(
            longs().map(|number| number.map(|number| number as f64)),
        )),
        7 => decimals(wide(1), 9, 2),
        8 => decimals(wide(1_000_003), 18, 3),
        9 => decimals(wide(1_000_000_007), 19, 0),
        10 => decimals(wide(1_000_000_007_000_000_009), 30, 5),
        11 => decimals(wide(1 << 90), 38, 38),
        12 => Arc::new(StringArray::from_iter(texts())),
        _ => Arc::new(BinaryArray::from_iter(texts())),
    }
}

const KINDS: usize = 14;

/// Of many lengths, some of them beyond ASCII.
fn text(number: i32) -> String {
    let letter = ["x", "é", "漢", ""][number.unsigned_abs() as usize % 4];
    format!(
        "{number}{}",
        letter.repeat(number.unsigned_abs() as usize % 23)
    )
}

/// Numbers in runs, with nulls in some of them.
fn numbers() -> impl Strategy<Value = Vec<Option<i32>>> {
    let value = prop_oneof![0..4, 0..300, -999_999_999..1_000_000_000];
    let one = prop_oneof![3 => value.prop_map(Some), 1 => Just(None)];
    let run = (one, prop_oneof![4 => 1..3_usize, 1 => 1..600_usize]);
    let some = prop::collection::vec(run, 0..300).prop_map(|runs| {
        let runs = runs.into_iter();
        runs.flat_map(|(value, count)| std::iter::repeat_n(value, count))
            .collect::<Vec<_>>()
    });
    (some, any::<bool>()).prop_map(|(mut some, nulls)| {
        if !nulls {
            some.iter_mut().for_each(|value| *value = value.or(Some(7)));
        }
        some
    })
}

fn properties() -> impl Strategy<Value = WriterProperties> {
    let codec = prop_oneof![
        Just(Compression::UNCOMPRESSED),
        Just(Compression::SNAPPY),
        Just(Compression::ZSTD(ZstdLevel::default())),
    ];
    let version = prop_oneof![
        Just(WriterVersion::PARQUET_1_0),
        Just(WriterVersion::PARQUET_2_0)
    ];
    let dictionary = prop_oneof![Just(0), Just(64), Just(1 << 20)];
    let page = prop_oneof![Just(7), Just(300), Just(1 << 20)];
    (codec, version, dictionary, page).prop_map(|(codec, version, dictionary, page)| {
        WriterProperties::builder()
            .set_compression(codec)
            .set_writer_version(version)
            .set_dictionary_enabled(dictionary > 0)
            .set_dictionary_page_size_limit(dictionary)
            .set_data_page_row_count_limit(page)
            .set_write_batch_size(page.min(64))
            .build()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_was_written_is_read(
        kind in 0..KINDS,
        numbers in numbers(),
        properties in properties(),
        rows in prop_oneof![Just(1_usize), Just(63), Just(1000), Just(1 << 20)],
    ) {
        prop_assume!(!numbers.is_empty());
        let array = array(kind, &numbers);
        let nullable = array.null_count() > 0 || numbers.len() % 2 == 0;
        let version = properties.writer_version();
        let group = Group::new(written(&array, nullable, properties));
        match group.decoded(rows).unwrap() {
            Some(found) => prop_assert_eq!(&found, &array),
            // the second version has encodings of its own where a dictionary is too large
            None => prop_assert!(version == WriterVersion::PARQUET_2_0 && kind != 0),
        }
    }

    #[test]
    fn bytes_that_were_changed_are_refused_or_read_as_the_library_does(
        kind in 0..KINDS,
        numbers in numbers(),
        properties in properties(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        prop_assume!(!numbers.is_empty());
        let array = array(kind, &numbers);
        let bytes = written(&array, true, properties);
        let group = Group::new(bytes.clone());
        let (start, length) = group.metadata.metadata().row_group(0).column(0).byte_range();
        let mut bytes = bytes.to_vec();
        for (place, byte) in changes {
            bytes[start as usize + place.index(length as usize)] = byte;
        }
        let group = Group::new(bytes.into());
        if let Ok(Some(found)) = group.decoded(1000)
            && let Some(expected) = group.expected()
            && found.len() == expected.len()
        {
            prop_assert_eq!(&found, &expected);
        }
    }
}

#[test]
fn decimals_keep_their_sign_at_every_width() {
    for width in 1..=16 {
        let (bytes_of_one, append) = decimals_of(width).unwrap();
        assert_eq!(bytes_of_one, width as usize);
        let highest = i128::MAX >> (8 * (16 - width));
        let numbers = [0, 1, -1, highest, -highest - 1];
        let bytes: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_be_bytes()[16 - width as usize..].to_vec())
            .collect();
        let mut found = Vec::new();
        append(&bytes, &mut found);
        assert_eq!(found, numbers);
    }
    assert!(decimals_of(0).is_none() && decimals_of(17).is_none());
}

#[test]
fn levels_count_where_there_are_some() {
    let header = |kind, level_encoding| PageHeader {
        kind,
        encoding: Some(0),
        level_encoding,
        ..PageHeader::default()
    };
    // parquet-mr names the old packing of levels where it writes none
    let old = header(PageHeader::DATA, Some(4));
    assert_eq!(Encoding::of(&old, false), Some(Encoding::Plain));
    assert_eq!(Encoding::of(&old, true), None);
    let runs = header(PageHeader::DATA, Some(3));
    assert_eq!(Encoding::of(&runs, true), Some(Encoding::Plain));
    let second = header(PageHeader::DATA_V2, None);
    assert_eq!(Encoding::of(&second, true), Some(Encoding::Plain));
}

#[test]
fn what_is_not_flat_is_left_to_the_library() {
    let list =
        arrow_array::ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>([
            Some(vec![Some(1)]),
            None,
        ]);
    let list: ArrayRef = Arc::new(list);
    let group = Group::new(written(&list, true, WriterProperties::default()));
    assert!(group.decoded(10).unwrap().is_none());
    let number = array(1, &[Some(1)]);
    let gzip = Compression::GZIP(parquet::basic::GzipLevel::default());
    let gzip = WriterProperties::builder().set_compression(gzip).build();
    let group = Group::new(written(&number, true, gzip));
    assert!(group.decoded(10).unwrap().is_none());
    let plain = Group::new(written(&number, true, WriterProperties::default()));
    assert_eq!(plain.decoded(10).unwrap().unwrap().len(), 1);
}
