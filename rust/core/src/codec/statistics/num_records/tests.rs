use super::*;
use arrow_array::{Array, LargeStringArray, StringArray, StringViewArray};
use proptest::prelude::*;

#[test]
fn finds_the_top_level_number() {
    for (text, count) in [
        (r#"{"numRecords":3}"#, Some(3)),
        (r#"{"numRecords":0,"minValues":{"numRecords":9}}"#, Some(0)),
        (r#"{"minValues":{"numRecords":9},"numRecords":4}"#, Some(4)),
        (
            r#"{"a":[{"numRecords":1}],"b":"\"numRecords\":2","numRecords":5,"c":1}"#,
            Some(5),
        ),
        (" {\n \"numRecords\" : 6 , \"x\" : {} } \n", Some(6)),
        (r#"{"num\u0052ecords":7}"#, Some(7)),
        (r#"{"numRecords":8,"numRecords":9}"#, Some(8)),
        (r#"{"numRecords":[1,{}],"numRecords":9}"#, Some(9)),
        (r#"{"numRecords":"8","numRecords":9}"#, Some(9)),
        (
            r#"{"numRecords":null,"a":1,"numRecords":9.5,"numRecords":9}"#,
            Some(9),
        ),
        (r#"{"numRecords":"8","numRecords":{}}"#, None),
        (r#"{"numRecords":-1}"#, Some(-1)),
        (r#"{"numRecords":9223372036854775807}"#, Some(i64::MAX)),
        (r#"{"numRecords":9223372036854775808}"#, None),
        (r#"{"numRecords":1.0}"#, None),
        (r#"{"numRecords":1e3}"#, None),
        (r#"{"numRecords":"3"}"#, None),
        (r#"{"numRecords":null}"#, None),
        (r#"{"numRecords":{"numRecords":3}}"#, None),
        (r#"{"numRecords":007}"#, None),
        (r#"{"numRecords":3"#, None),
        (r#"{"numRecords":3,"#, None),
        (r#"{"numRecords":3 4}"#, None),
        (r#"{"a":{"numRecords":3}}"#, None),
        (r#"[{"numRecords":3}]"#, None),
        (r#"{"a":tru,"numRecords":3}"#, None),
        (r#"{"a":["numRecords":3}"#, None),
        ("null", None),
        ("{}", None),
        ("", None),
    ] {
        assert_eq!(of_text(text), count, "{text}");
    }
}

#[test]
fn accepts_every_string_type() {
    let strings = [
        Some(r#"{"numRecords":3}"#),
        None,
        Some("?"),
        Some(r#"{"numRecords":12,"a":{}}"#),
    ];
    let expected = Int64Array::from(vec![Some(3), None, None, Some(12)]);
    assert_eq!(num_records(&StringArray::from_iter(strings)), expected);
    assert_eq!(num_records(&LargeStringArray::from_iter(strings)), expected);
    assert_eq!(num_records(&StringViewArray::from_iter(strings)), expected);
    assert_eq!(
        num_records(&StringArray::from_iter(strings).slice(2, 2)),
        expected.slice(2, 2)
    );
    assert!(
        num_records(&StringArray::from(vec!["{\"numRecords\":1}"]))
            .nulls()
            .is_none()
    );
}

#[test]
fn deep_nesting_is_null() {
    let deep = format!(r#"{{"a":{}1}},"numRecords":1}}"#, "{\"b\":".repeat(100_000));
    assert_eq!(of_text(&deep), None);
}

proptest! {
    #[test]
    fn keys_may_have_any_order_and_whitespace(
        count in any::<i64>(),
        space in "[ \t\r\n]{0,3}",
        keys in Just(vec!["numRecords", "minValues", "nullCount", "x\\u0041\\n"]).prop_shuffle(),
    ) {
        let members: Vec<_> = keys.into_iter().map(|key| match key {
            "numRecords" => format!("\"{key}\"{space}:{space}{count}"),
            key => format!("\"{key}\":{space}{{\"numRecords\":[1,\"}}\"{space}]}}"),
        }).collect();
        let text = format!("{space}{{{}}}{space}", members.join(&format!("{space},{space}")));
        prop_assert_eq!(of_text(&text), Some(count));
    }

    #[test]
    fn never_panics(text in r#"[{}\[\]":,0-9a-z\\ ]{0,40}"#) {
        of_text(&text);
    }
}

#[test]
fn every_proper_prefix_is_null() {
    for whole in [
        r#"{"numRecords":12}"#,
        r#"{"a":{"b":"\u00e9\"x"},"c":[1,{}],"numRecords":12}"#,
    ] {
        assert_eq!(of_text(whole), Some(12));
        for end in 0..whole.len() {
            assert_eq!(of_text(&whole[..end]), None, "{}", &whole[..end]);
        }
    }
}
