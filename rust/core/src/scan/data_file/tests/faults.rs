//! Files that are missing, incomplete, or invalid.

use arrow_array::{Int64Array, StringArray};

use super::*;
use crate::error::ErrorKind;

fn file_content() -> Vec<u8> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..2000));
    let strings: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..2000).map(|n| (n % 50).to_string()),
    ));
    let column = |name, array: ArrayRef| (Field::new(name, array.data_type().clone(), true), array);
    parquet_of(vec![column("n", numbers), column("s", strings)], 700, 100)
}

fn plan_of_both_columns() -> ReadPlan {
    plan(layout(&[("n", r#""long""#), ("s", r#""string""#)]))
}

#[test]
fn the_error_for_a_missing_file_names_possible_causes() {
    let files = Files::new();
    for size in [-1, 1234] {
        let file = DataFile {
            path: "gone".into(),
            file: Cow::Owned(ScanFile {
                path: "log/gone".to_owned(),
                size,
                ..ScanFile::default()
            }),
            ..DataFile::default()
        };
        let error = files.read(&plan_of_both_columns(), &file).unwrap_err();
        assert_eq!(
            (error.code(), error.kind(), error.path()),
            ("data.missing", ErrorKind::Corrupt, Some("log/gone"))
        );
        assert!(error.message().contains("VACUUM"), "{error}");
    }
}

#[test]
fn every_prefix_is_an_error_that_names_the_file() {
    let files = Files::new();
    let file_content = file_content();
    for end in (0..file_content.len())
        .step_by(97)
        .chain(file_content.len() - 12..file_content.len())
    {
        for known in [true, false] {
            let mut file = files.write("a", &file_content[..end]);
            file.file.to_mut().size = if known { file_content.len() as i64 } else { -1 };
            let error = files.read(&plan_of_both_columns(), &file).unwrap_err();
            let code = if known {
                "data.truncated"
            } else {
                "data.footer"
            };
            assert_eq!(
                (error.code(), error.path()),
                (code, Some("log/a")),
                "{end} bytes: {error}"
            );
        }
    }
}

#[test]
fn a_size_in_the_log_that_is_too_small_is_ignored() {
    let files = Files::new();
    let file_content = file_content();
    let mut file = files.write("a", &file_content);
    let rows = files.read(&plan_of_both_columns(), &file).unwrap();
    assert_eq!(rows.num_rows(), 2000);
    for size in [-1, 0, 100, file_content.len() as i64 - 1] {
        file.file.to_mut().size = size;
        assert_eq!(files.read(&plan_of_both_columns(), &file).unwrap(), rows);
    }
}

/// Flipped bits never cause a panic, or rows that violate the schema.
#[test]
fn flipped_bytes_never_panic() {
    let files = Files::new();
    let file_content = file_content();
    let extras = Extras {
        row_index: true,
        ..Extras::default()
    };
    let with_positions = ReadPlan::new(
        layout(&[("n", r#""long""#), ("s", r#""string""#)]),
        None,
        extras,
    )
    .unwrap();
    let mut refused = 0;
    let footer = file_content.len() - 900;
    for at in (0..footer).step_by(61).chain(footer..file_content.len()) {
        let mut bytes = file_content.clone();
        bytes[at] ^= 0x5a;
        let mut file = files.write("a", &bytes);
        file.deletion_vector = deleting(vec![5, 700, 1999]);
        match files.read(&with_positions, &file) {
            Ok(rows) => assert_eq!(rows.num_rows(), 1997),
            Err(error) => {
                assert_eq!(error.path(), Some("log/a"), "{error:?}");
                assert_ne!(error.code(), "internal.panic");
                refused += 1;
            }
        }
    }
    assert!(refused > 100, "{refused}");
}
