use super::*;
use crate::table::Alteration;

fn alter(table: &Table, change: Alteration) -> Result<Option<u64>, &'static str> {
    let done = table.alter(change, TransactionOptions::default());
    done.map(|commit| commit.version)
        .map_err(|error| error.code())
}

fn path(name: &str) -> Vec<String> {
    vec![name.to_owned()]
}

#[test]
fn properties_are_set_and_unset() {
    let table = table_of(&[]);
    let owner = || {
        newest(&table)
            .metadata()
            .property("owner")
            .map(str::to_owned)
    };

    let set = Alteration::SetProperties(properties(&[("owner", "us")]));
    assert_eq!(alter(&table, set), Ok(Some(1)));
    assert_eq!(owner().as_deref(), Some("us"));

    let unset = Alteration::UnsetProperties(path("owner"), false);
    assert_eq!(alter(&table, unset), Ok(Some(2)));
    assert_eq!(owner(), None);
}

#[test]
fn a_new_column_is_null_in_rows_that_are_there() {
    let table = table_of(&[&[(1, "a")]]);
    let sizes = RecordBatch::try_from_iter_with_nullable([(
        "size",
        Arc::new(Int64Array::from(vec![0])) as ArrayRef,
        true,
    )]);
    let columns = StructType::from_arrow(&sizes.unwrap().schema()).unwrap();

    assert_eq!(
        alter(&table, Alteration::AddColumns(vec![], columns)),
        Ok(Some(2))
    );

    let rows = scanned(&table, &newest(&table)).remove(0);
    assert_eq!(rows.column_by_name("size").unwrap().null_count(), 1);
    assert_rows(&table, &[(1, "a")]);
}

#[test]
fn a_column_is_renamed_and_dropped_where_names_are_mapped() {
    let table = filled(
        created(TableDefinition {
            properties: properties(&[("delta.columnMapping.mode", "name")]),
            ..definition()
        }),
        &[&[(1, "a")]],
    );
    let columns = || -> Vec<String> {
        let rows = scanned(&table, &newest(&table)).remove(0);
        let fields = rows.schema_ref().fields().iter();
        fields.map(|field| field.name().clone()).collect()
    };

    let rename = Alteration::RenameColumn(path("name"), "title".to_owned());
    assert_eq!(alter(&table, rename), Ok(Some(2)));
    assert_eq!(columns(), ["id", "title"]);

    assert_eq!(
        alter(&table, Alteration::DropColumn(path("id"))),
        Ok(Some(3))
    );
    assert_eq!(columns(), ["title"]);

    let plain = table_of(&[]);
    let rename = Alteration::RenameColumn(path("name"), "title".to_owned());
    assert_eq!(alter(&plain, rename), Err("alter.column_mapping"));
}

#[test]
fn a_constraint_holds_for_rows_that_are_there_and_for_those_to_come() {
    let table = table_of(&[&[(1, "a")], &[(2, "b")]]);
    let constraint =
        |expression: &str| Alteration::AddConstraint("small".to_owned(), expression.to_owned());

    assert_eq!(
        alter(&table, constraint("id < 2")),
        Err("alter.constraint_broken")
    );
    assert_eq!(alter(&table, constraint("id < 3")), Ok(Some(3)));

    let rows = || stream(batch(&[(3, "c")]));
    let error = table.append(rows(), RowsOptions::default()).unwrap_err();
    assert_eq!(error.code(), "rows.constraint");

    let drop = |if_exists| Alteration::DropConstraint("small".to_owned(), if_exists);
    assert_eq!(alter(&table, drop(false)), Ok(Some(4)));
    assert_eq!(alter(&table, drop(false)), Err("alter.constraint"));
    assert_eq!(alter(&table, drop(true)), Ok(Some(4)), "nothing to do");
    table.append(rows(), RowsOptions::default()).unwrap();
}
