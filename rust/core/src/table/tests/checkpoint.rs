use super::*;
use crate::derived::checkpoint::CheckpointLayout;

const THREE_COMMITS: &[&[Row]] = &[&[(1, "a")], &[(2, "b")], &[(3, "c")]];

fn delete(table: &Table, paths: &[&str]) {
    for deleted in table.source().storage.delete(paths) {
        deleted.unwrap();
    }
}

#[test]
fn a_checkpoint_takes_the_place_of_the_commits_before_it() {
    let table = table_of(THREE_COMMITS);

    let written = table.checkpoint(&newest(&table), None).unwrap();

    // protocol, metadata and three files
    assert_eq!(
        (written.version, written.num_actions, written.num_files),
        (3, 5, 3)
    );
    assert_eq!(
        written.path,
        "_delta_log/00000000000000000003.checkpoint.parquet"
    );
    let commits = [0, 1, 2].map(|version| format!("_delta_log/{version:020}.json"));
    delete(&table, &commits.each_ref().map(String::as_str));
    assert_rows(&table, &[(1, "a"), (2, "b"), (3, "c")]);
}

#[test]
fn a_v2_checkpoint_has_its_files_in_sidecars() {
    let table = created(TableDefinition {
        properties: properties(&[("delta.feature.v2Checkpoint", "supported")]),
        ..definition()
    });
    let table = filled(table, THREE_COMMITS);

    let layout = Some(CheckpointLayout::V2Json);
    let written = table.checkpoint(&newest(&table), layout).unwrap();

    assert_eq!((written.num_files, written.num_sidecars), (3, 1));
    assert!(written.path.ends_with(".json"), "{}", written.path);
    assert_rows(&table, &[(1, "a"), (2, "b"), (3, "c")]);

    let plain = table_of(&[]);
    let error = plain.checkpoint(&newest(&plain), layout).unwrap_err();
    assert_eq!(error.code(), "checkpoint.layout");
}

#[test]
fn a_compacted_file_holds_what_a_range_of_commits_adds_up_to() {
    let table = table_of(THREE_COMMITS);
    table
        .delete(Some(&condition("id = 2")), RowsOptions::default())
        .unwrap();

    let written = table.compact_log(Some(1), Some(4)).unwrap();

    let path = "_delta_log/00000000000000000001.00000000000000000004.compacted.json";
    assert_eq!(written.path, path);
    // three files were added and one of them removed, which is one action per path
    assert_eq!((written.num_actions_before, written.num_actions), (4, 3));
    assert_eq!(
        newest(&table).segment().tail.len(),
        2,
        "version 0 and this file"
    );
    assert_rows(&table, &[(1, "a"), (3, "c")]);

    let error = table.compact_log(Some(1), Some(1)).unwrap_err();
    assert_eq!(error.code(), "compaction.range");
}

#[test]
fn a_checksum_is_written_where_there_is_none() {
    let table = table_of(THREE_COMMITS);
    let snapshot = newest(&table);

    assert!(!table.write_checksum(&snapshot).unwrap(), "by the commit");
    delete(&table, &["_delta_log/00000000000000000003.crc"]);
    assert!(table.write_checksum(&snapshot).unwrap());

    let checksum = newest(&table).checksum().unwrap();
    assert_eq!(checksum.num_files, Some(3));
}
