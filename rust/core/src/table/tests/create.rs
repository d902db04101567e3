use super::*;

fn create(table: &Table, mode: CreateMode) -> Result<Option<u64>, &'static str> {
    let created = table.create(definition(), mode, TransactionOptions::default());
    created.map_err(|error| error.code())
}

#[test]
fn a_new_table_is_version_0() {
    let table = nowhere();

    assert_eq!(create(&table, CreateMode::New), Ok(Some(0)));

    let snapshot = newest(&table);
    let names = ["id", "name"].map(|name| snapshot.schema().field(name).is_some());
    assert_eq!(names, [true, true]);
    assert_rows(&table, &[]);
}

#[test]
fn each_mode_decides_about_a_table_that_is_there() {
    let table = table_of(&[&[(1, "a")]]);

    assert_eq!(create(&table, CreateMode::New), Err("table.exists"));
    assert_eq!(create(&table, CreateMode::IfNotExists), Ok(None));
    assert_rows(&table, &[(1, "a")]);
    assert_eq!(create(&table, CreateMode::OrReplace), Ok(Some(2)));
    assert_rows(&table, &[]);
    assert_eq!(create(&table, CreateMode::Replace), Ok(Some(3)));
}

#[test]
fn each_mode_decides_about_a_table_that_is_missing() {
    assert_eq!(create(&nowhere(), CreateMode::IfNotExists), Ok(Some(0)));
    assert_eq!(create(&nowhere(), CreateMode::OrReplace), Ok(Some(0)));
    assert_eq!(
        create(&nowhere(), CreateMode::Replace),
        Err("table.not_found")
    );
}

#[test]
fn clustering_columns_are_in_the_commit_that_creates_the_table() {
    let clustered = TableDefinition {
        clustering_columns: vec!["id".to_owned()],
        ..definition()
    };
    let table = created(clustered);

    let snapshot = newest(&table);
    let domains = snapshot.domain_metadata(table.source()).unwrap();
    assert_eq!(snapshot.version(), 0);
    assert_eq!(domains[0].domain, "delta.clustering");
    assert!(domains[0].configuration.contains(r#"[["id"]]"#));
}

#[test]
fn rows_can_be_added_to_a_definition_before_it_is_committed() {
    let table = nowhere();
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
