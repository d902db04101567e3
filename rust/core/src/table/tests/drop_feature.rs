use super::*;
use crate::error::Result;
use crate::table::Alteration;
use crate::transaction::Commit;

/// Creates a table with rows 1 and 3, and a vector that deletes row 2.
fn with_vectors() -> Table {
    let table = created(TableDefinition {
        properties: properties(&[("delta.enableDeletionVectors", "true")]),
        ..definition()
    });
    append(&table, &[(1, "a"), (2, "b"), (3, "c")]);
    let two = condition("id = 2");
    table.delete(Some(&two), RowsOptions::default()).unwrap();
    table
}

fn drop_feature(table: &Table, name: &str, and_history: bool) -> Result<Commit> {
    let change = Alteration::DropFeature(name.to_owned(), and_history);
    table.alter(change, TransactionOptions::default())
}

#[test]
fn a_feature_goes_and_rows_stay() {
    let table = with_vectors();

    drop_feature(&table, "deletionVectors", false).unwrap();

    let snapshot = newest(&table);
    let supports = |name| snapshot.protocol().is_supported(name);
    assert!(!supports("deletionVectors") && supports("checkpointProtection"));
    assert_rows(&table, &[(1, "a"), (3, "c")]);
}

#[test]
fn a_feature_stays_while_the_history_that_needs_it_is_young() {
    let table = with_vectors();

    let error = drop_feature(&table, "deletionVectors", true).unwrap_err();

    assert_eq!(error.code(), "alter.feature_in_history");
    assert!(newest(&table).protocol().is_supported("deletionVectors"));
    assert_rows(&table, &[(1, "a"), (3, "c")]);
}

#[test]
fn a_feature_in_use_stays() {
    let table = table_of(&[]);
    let change = Alteration::AddConstraint("small".to_owned(), "id < 3".to_owned());
    table.alter(change, TransactionOptions::default()).unwrap();
    let feature = Alteration::AddFeature("deletionVectors".to_owned());
    table.alter(feature, TransactionOptions::default()).unwrap();

    let error = drop_feature(&table, "checkConstraints", false).unwrap_err();

    assert_eq!(error.code(), "alter.feature_in_use");
}
