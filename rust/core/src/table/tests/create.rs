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
