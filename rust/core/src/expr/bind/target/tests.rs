use crate::expr::node::predicate::Predicate;
use crate::spec::schema::StructType;

const SCHEMA: &str = r#"{"type":"struct","fields":[
    {"name":"id","type":"long","nullable":true,"metadata":{}},
    {"name":"day","type":"date","nullable":true,"metadata":{}},
    {"name":"s","type":{"type":"struct","fields":[
        {"name":"id","type":"long","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}}]}"#;

fn of_target(condition: &str, alias: Option<&str>, joined: bool) -> Option<String> {
    let schema = StructType::parse(SCHEMA).unwrap();
    let result = Predicate::parse_sql(condition).unwrap();
    let own = result.of_target(&schema, alias, joined);
    own.map(|own| own.to_string())
}

#[test]
fn drops_conditions_on_the_source() {
    let on = "t.id = s.id AND t.day = '2026-01-01' AND (t.id > 5 OR s.kind = 'x')";
    let own = of_target(on, Some("t"), true).unwrap();
    assert_eq!(own, of_target("day = '2026-01-01'", None, false).unwrap());
}

#[test]
fn dotted_names_in_a_join_are_of_the_target_only_with_its_alias() {
    assert_eq!(of_target("s.id = 3", Some("t"), true), None);
    let field = of_target("s.id = 3", None, false);
    assert!(field.is_some());
    assert_eq!(of_target("T.s.id = 3", Some("t"), true), field);
    assert_eq!(of_target("s.id = 3", Some("t"), false), field);
    assert_eq!(of_target("`Ü`.s.id = 3", Some("ü"), true), field);
}

#[test]
fn drops_conditions_on_unknown_columns() {
    assert_eq!(of_target("nothing = 1", None, false), None);
    let own = of_target("nothing = 1 AND id < 7", None, false);
    assert_eq!(own, of_target("id < 7", None, false));
}

#[test]
fn drops_formulas_if_the_target_has_an_alias() {
    assert_eq!(of_target("t.id % 2 = 0", Some("t"), false), None);
    assert!(of_target("id % 2 = 0", None, false).is_some());
}
