use super::*;

fn path(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn backticks_quote_dots_and_commas() {
    let expected = vec![path(&["A"]), path(&["b", "c.d"]), path(&["e,`f"])];
    assert_eq!(parse_column_paths("A, b.`c.d` ,`e,``f`"), expected);
    let texts: Vec<_> = expected.iter().map(|path| column_path_text(path)).collect();
    let text = texts.join(",");
    assert_eq!(text, "A,b.`c.d`,`e,``f`");
    assert_eq!(parse_column_paths(&text), expected);
}

#[test]
fn names_with_spaces_and_digits_at_their_ends() {
    let names = [" a", "a ", " ", "1a", "12", "a1"].map(|name| path(&[name, "b "]));
    for names in names {
        assert_eq!(parse_column_paths(&column_path_text(&names)), [names]);
    }
    assert_eq!(parse_column_paths(" a b . ` c ` "), [path(&["a b", " c "])]);
    assert_eq!(column_path_text(&path(&["1a", "b2"])), "`1a`.b2");
}

#[test]
fn named_path_prefers_a_top_level_column_of_that_name() {
    let field = |name: &str, data_type: &str| {
        format!(r#"{{"name":"{name}","type":{data_type},"nullable":true,"metadata":{{}}}}"#)
    };
    let struct_of =
        |fields: &[String]| format!(r#"{{"type":"struct","fields":[{}]}}"#, fields.join(","));
    let inner = struct_of(&[field("b", "\"long\"")]);
    let text = struct_of(&[field("a.b", "\"long\""), field("a", &inner)]);
    let schema = StructType::parse(&text).unwrap();
    assert_eq!(named_path(&schema, "A.b"), path(&["A.b"]));
    assert_eq!(named_path(&schema, "a.B"), path(&["a.B"]));
    assert_eq!(named_path(&schema, "`a`.b"), path(&["a", "b"]));
    assert_eq!(named_path(&schema, "a.c"), path(&["a", "c"]));
}

#[test]
fn is_within_is_case_insensitive() {
    assert!(is_within(&path(&["A", "b"]), &path(&["a"])));
    assert!(!is_within(&path(&["a"]), &path(&["a", "b"])));
}
