use super::*;

fn file(path: &str, size: i64) -> AddFile {
    AddFile {
        path: path.to_owned(),
        size,
        ..AddFile::default()
    }
}

#[test]
fn the_smallest_files_fill_bins_first() {
    let files = [("a", 6), ("b", 2), ("c", 5), ("d", 30), ("e", 3)];
    let bins = packed(files.map(|(path, size)| file(path, size)).to_vec(), 10);
    let paths: Vec<Vec<String>> = bins
        .into_iter()
        .map(|bin| bin.into_iter().map(|file| file.path).collect())
        .collect();
    assert_eq!(paths, [vec!["b", "c", "e"], vec!["a"], vec!["d"]]);
}

#[test]
fn more_than_five_percent_of_deleted_rows_are_many() {
    let with = |rows: Option<i64>, deleted: i64| {
        let vector = crate::spec::DeletionVectorDescriptor::new(
            "u",
            "ab^-aqEH.-t@S}K{vb[*k^".to_owned(),
            Some(4),
            40,
            deleted,
        );
        AddFile {
            stats: rows.map(|rows| format!("{{\"numRecords\":{rows}}}")),
            deletion_vector: Some(vector.unwrap()),
            ..AddFile::default()
        }
    };
    assert!(!has_many_deleted_rows(&file("a", 1)));
    assert!(!has_many_deleted_rows(&with(Some(100), 5)));
    assert!(has_many_deleted_rows(&with(Some(100), 6)));
    assert!(has_many_deleted_rows(&with(None, 1)));
}
