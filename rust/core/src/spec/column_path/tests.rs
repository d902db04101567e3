use super::*;

fn path(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn backticks_hold_dots_and_commas() {
    let expected = vec![path(&["A"]), path(&["b", "c.d"]), path(&["e,`f"])];
    assert_eq!(parse_column_paths("A, b.`c.d` ,`e,``f`"), expected);
    let text: Vec<_> = expected.iter().map(|path| column_path_text(path)).collect();
    assert_eq!(text.join(","), "A,b.`c.d`,`e,``f`");
    assert_eq!(parse_column_paths(&text.join(",")), expected);
}

#[test]
fn a_name_is_a_column_before_it_is_a_path() {
    let field = |name: &str, kind: &str| {
        format!(r#"{{"name":"{name}","type":{kind},"nullable":true,"metadata":{{}}}}"#)
    };
    let of = |fields: &[String]| format!(r#"{{"type":"struct","fields":[{}]}}"#, fields.join(","));
    let inner = of(&[field("b", "\"long\"")]);
    let schema = of(&[field("a.b", "\"long\""), field("a", &inner)]);
    let schema = StructType::parse(&schema).unwrap();
    assert_eq!(named_path(&schema, "A.b"), path(&["A.b"]));
    assert_eq!(named_path(&schema, "a.B"), path(&["a.B"]));
    assert_eq!(named_path(&schema, "`a`.b"), path(&["a", "b"]));
    assert_eq!(named_path(&schema, "a.c"), path(&["a", "c"]));
    assert!(is_within(&path(&["A", "b"]), &path(&["a"])));
    assert!(!is_within(&path(&["a"]), &path(&["a", "b"])));
}
