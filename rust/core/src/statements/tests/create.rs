use super::*;

fn create(table: &Table, mode: CreateMode) -> Result<Option<u64>, &'static str> {
    let created = table.create(definition(), mode, TransactionOptions::default());
    created.map_err(|error| error.code())
}

#[test]
fn create_modes_for_an_existing_table() {
    let table = table_of(&[&[(1, "a")]]);

    assert_eq!(create(&table, CreateMode::New), Err("table.exists"));
    assert_eq!(create(&table, CreateMode::IfNotExists), Ok(None));
    assert_rows(&table, &[(1, "a")]);
    assert_eq!(create(&table, CreateMode::OrReplace), Ok(Some(2)));
    assert_rows(&table, &[]);
    assert_eq!(create(&table, CreateMode::Replace), Ok(Some(3)));
}

#[test]
fn create_modes_for_a_missing_table() {
    assert_eq!(create(&empty_location(), CreateMode::New), Ok(Some(0)));
    assert_eq!(
        create(&empty_location(), CreateMode::IfNotExists),
        Ok(Some(0))
    );
    assert_eq!(
        create(&empty_location(), CreateMode::OrReplace),
        Ok(Some(0))
    );
    assert_eq!(
        create(&empty_location(), CreateMode::Replace),
        Err("table.not_found")
    );
}

#[test]
fn creation_stores_clustering_columns() {
    let clustered = TableDefinition {
        clustering_columns: vec!["id".to_owned()],
        ..definition()
    };
    let table = created(clustered);

    let snapshot = newest(&table);
    let clustering = snapshot.domain_configuration(table.source(), "delta.clustering");
    assert_eq!(snapshot.version(), 0);
    assert_eq!(
        clustering.unwrap().unwrap(),
        r#"{"clusteringColumns":[["id"]]}"#
    );
}

#[test]
fn defines_a_table_as_select() {
    let table = empty_location();
    let options = TransactionOptions::default();
    let defined = table.define(definition(), CreateMode::Replace, true, options.clone());
    assert_eq!(defined.unwrap_err().code(), "table.not_found");

    let defined = table.define(definition(), CreateMode::OrReplace, true, options);
    let mut transaction = defined.unwrap().unwrap();
    assert_eq!(
        transaction.description().operation,
        "CREATE OR REPLACE TABLE AS SELECT"
    );
    let (metadata, _) = transaction.effective().unwrap();
    assert!(metadata.schema_string.contains("\"name\""));
    assert_eq!(table.commit(transaction).unwrap().commit.version, Some(0));
}
