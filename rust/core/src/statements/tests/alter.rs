use super::*;
use crate::definition::column_changes::ColumnChange;
use crate::definition::columns::{NewColumn, Position};
use crate::spec::schema::{DataType, PrimitiveType, StructField};
use crate::statements::Alteration;

fn alter(table: &Table, change: Alteration) -> Result<Option<u64>, &'static str> {
    let done = table.alter(change, TransactionOptions::default());
    done.map(|commit| commit.version)
        .map_err(|error| error.code())
}

fn path(name: &str) -> Vec<String> {
    vec![name.to_owned()]
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
fn adds_and_moves_columns_to_positions() {
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
fn identity_columns_can_only_be_moved_and_commented() {
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
fn changes_several_columns_in_one_commit() {
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
fn rejects_dropping_a_column_twice() {
    let table = created(TableDefinition {
        properties: properties(&[("delta.columnMapping.mode", "name")]),
        ..definition()
    });
    let drop = Alteration::DropColumns(vec![path("id"), path("ID")]);
    assert_eq!(alter(&table, drop), Err("alter.column"));
}

#[test]
fn replaces_columns_within_arrays_and_maps() {
    let table = created(TableDefinition {
        properties: properties(&[("delta.columnMapping.mode", "name")]),
        ..definition()
    });
    let nested = |x: &str, value_contains_null: bool| {
        StructType::parse(&format!(
            r#"{{"type":"struct","fields":[
                {{"name":"m","nullable":true,"metadata":{{}},"type":{{"type":"map","keyType":"string",
                  "valueContainsNull":{value_contains_null},"valueType":{{"type":"array",
                  "containsNull":true,"elementType":{{"type":"struct","fields":[{x}]}}}}}}}}]}}"#
        ))
        .expect("a schema")
    };
    let field = |name: &str| {
        format!(r#"{{"name":"{name}","type":"integer","nullable":true,"metadata":{{}}}}"#)
    };
    let [x, y, z] = ["x", "y", "z"].map(field);
    let before = newest(&table).schema().clone();
    let with = |columns: StructType| {
        let fields = [before.fields(), columns.fields()].concat();
        Alteration::ReplaceColumns(StructType::new(fields).expect("a schema"))
    };
    let names = || newest(&table).schema().to_json();
    alter(&table, with(nested(&format!("{x},{y}"), true))).expect("columns are added");
    alter(&table, with(nested(&format!("{y},{z},{x}"), true))).expect("fields are added");
    let added = names();
    assert!(
        added.find(r#""y""#) < added.find(r#""z""#) && added.find(r#""z""#) < added.find(r#""x""#)
    );
    alter(&table, with(nested(&y, true))).expect("fields are dropped");
    assert!(!names().contains(r#""x""#) && names().contains(r#""y""#));
    assert_eq!(
        alter(&table, with(nested(&z, true))),
        Err("alter.column"),
        "y is z, or is not"
    );
    assert_eq!(
        alter(&table, with(nested(&y, false))),
        Err("alter.column"),
        "no nulls"
    );
}

/// Without the error, each commit would add the same files again.
#[test]
fn row_ids_are_neither_assigned_nor_removed_after_another_writer_changes_their_suspension() {
    let mut definition = definition();
    definition.properties = properties(&[
        ("delta.feature.rowTracking", "supported"),
        ("delta.rowTrackingSuspended", "true"),
    ]);
    let table = filled(created(definition), &[&[(1, "a")]]);
    let options = TransactionOptions::default();
    let readd = |suspended| {
        let operation = "ROW TRACKING BACKFILL";
        let readded = table.readd_files(operation, &options, suspended, |_| true, |_| ());
        readded.map_err(|error| error.code())
    };
    assert_eq!(readd(false), Err("conflict.metadata_changed"));
    let suspended = "delta.rowTrackingSuspended".to_owned();
    let resume = Alteration::UnsetProperties(vec![suspended], false);
    alter(&table, resume).unwrap();
    assert_eq!(readd(true), Err("conflict.metadata_changed"));
    assert_eq!(newest(&table).version(), 2);
}
