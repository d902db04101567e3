use super::*;
use crate::definition::column_changes::ColumnChange;
use crate::definition::columns::{NewColumn, Position};
use crate::spec::schema::{DataType, PrimitiveType, StructField};
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

fn new_column(name: &str, position: Option<Position>) -> NewColumn {
    NewColumn {
        parent: Vec::new(),
        field: StructField {
            name: name.to_owned(),
            data_type: DataType::Primitive(PrimitiveType::Long),
            nullable: true,
            metadata: serde_json::Map::new(),
        },
        position,
    }
}

fn columns_of(table: &Table) -> Vec<String> {
    let rows = scanned(table, &newest(table)).remove(0);
    let fields = rows.schema_ref().fields().iter();
    fields.map(|field| field.name().clone()).collect()
}

#[test]
fn a_new_column_is_null_in_rows_that_are_there() {
    let table = table_of(&[&[(1, "a")]]);
    let add = Alteration::AddColumns(vec![new_column("size", None)]);

    assert_eq!(alter(&table, add), Ok(Some(2)));

    let rows = scanned(&table, &newest(&table)).remove(0);
    assert_eq!(rows.column_by_name("size").unwrap().null_count(), 1);
    assert_rows(&table, &[(1, "a")]);
}

#[test]
fn columns_are_added_and_moved_to_their_places() {
    let table = table_of(&[&[(1, "a")]]);
    let after = |name: &str| Position::After(name.to_owned());
    let add = Alteration::AddColumns(vec![
        new_column("w", Some(Position::First)),
        new_column("x", Some(after("ID"))),
        new_column("y", Some(after("x"))),
    ]);
    assert_eq!(alter(&table, add), Ok(Some(2)));
    assert_eq!(columns_of(&table), ["w", "id", "x", "y", "name"]);

    let moves =
        |to: Position| Alteration::ChangeColumns(vec![(path("x"), vec![ColumnChange::Move(to)])]);
    for (to, expected) in [
        (Position::First, ["x", "w", "id", "y", "name"]),
        (after("name"), ["w", "id", "y", "name", "x"]),
        (after("X"), ["w", "id", "y", "name", "x"]),
        (after("w"), ["w", "x", "id", "y", "name"]),
    ] {
        alter(&table, moves(to)).unwrap();
        assert_eq!(columns_of(&table), expected);
    }
    assert_eq!(alter(&table, moves(after("z"))), Err("alter.column"));
    assert_rows(&table, &[(1, "a")]);
}

#[test]
fn a_default_needs_the_feature_and_a_value_of_the_type() {
    let plain = table_of(&[]);
    let default = |text: Option<&str>| {
        let change = ColumnChange::Default(text.map(str::to_owned));
        Alteration::ChangeColumns(vec![(path("id"), vec![change])])
    };
    assert_eq!(
        alter(&plain, default(Some("5"))),
        Err("alter.column_default")
    );
    assert_eq!(alter(&plain, default(None)), Ok(Some(1)));

    let table = created(TableDefinition {
        properties: properties(&[("delta.feature.allowColumnDefaults", "supported")]),
        ..definition()
    });
    for wrong in ["'x'", "name", "99999999999999999999", "1 +"] {
        assert_eq!(
            alter(&table, default(Some(wrong))),
            Err("alter.column_default"),
            "{wrong}"
        );
    }
    assert_eq!(alter(&table, default(Some("2 + 3"))), Ok(Some(1)));
    let names =
        RecordBatch::try_from_iter([("name", Arc::new(StringArray::from(vec!["a"])) as ArrayRef)]);
    table
        .append(stream(names.unwrap()), RowsOptions::default())
        .unwrap();
    assert_rows(&table, &[(5, "a")]);
}

#[test]
fn an_identity_column_is_only_moved_and_commented() {
    let mut column = new_column("id", None).field;
    column
        .metadata
        .insert("delta.identity.start".to_owned(), 1.into());
    let table = created(TableDefinition {
        schema: StructType::new(vec![column, new_column("size", None).field]).unwrap(),
        ..definition()
    });
    let change = |change| {
        alter(
            &table,
            Alteration::ChangeColumns(vec![(path("id"), vec![change])]),
        )
    };
    let after = Position::After("size".to_owned());
    assert_eq!(change(ColumnChange::Move(after)), Ok(Some(1)));
    assert_eq!(change(ColumnChange::Comment(None)), Ok(Some(2)));
    assert_eq!(change(ColumnChange::DropNotNull), Err("alter.column"));
    assert_eq!(change(ColumnChange::Default(None)), Err("alter.column"));
}

#[test]
fn several_columns_change_in_one_commit() {
    let table = table_of(&[]);
    let comment = |text: &str| vec![ColumnChange::Comment(Some(text.to_owned()))];
    let change = Alteration::ChangeColumns(vec![
        (path("id"), comment("a number")),
        (path("NAME"), comment("a text")),
    ]);
    assert_eq!(alter(&table, change), Ok(Some(1)));
    let fields = newest(&table).schema().fields().to_vec();
    let comments = fields.iter().map(|field| &field.metadata["comment"]);
    assert_eq!(comments.collect::<Vec<_>>(), ["a number", "a text"]);

    let twice = vec![(path("id"), comment("x")), (path("ID"), comment("y"))];
    let twice = Alteration::ChangeColumns(twice);
    assert_eq!(alter(&table, twice), Err("alter.column"));
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
    let rename = Alteration::RenameColumn(path("name"), "title".to_owned());
    assert_eq!(alter(&table, rename), Ok(Some(2)));
    assert_eq!(columns_of(&table), ["id", "title"]);

    let drop = |paths: Vec<Vec<String>>| alter(&table, Alteration::DropColumns(paths));
    assert_eq!(drop(vec![path("id"), path("ID")]), Err("alter.column"));
    assert_eq!(drop(vec![path("id")]), Ok(Some(3)));
    assert_eq!(columns_of(&table), ["title"]);

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
