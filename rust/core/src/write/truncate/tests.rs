use super::*;

/// The results are those of delta-spark.
#[test]
fn upper_bounds_of_the_reference() {
    let greatest = GREATEST.to_string();
    for (value, units, expected) in [
        ("abcdef".to_owned(), 6, Some("abcdef".to_owned())),
        (
            "abcdef-abcdef".to_owned(),
            6,
            Some("abcdef\u{7F}".to_owned()),
        ),
        (
            "漢字仮名한글தமி".to_owned(),
            6,
            Some(format!("漢字仮名한글{greatest}")),
        ),
        ("abcdef🚀".to_owned(), 6, Some(format!("abcdef{greatest}"))),
        (
            format!("a{greatest}d"),
            2,
            Some(format!("a{greatest}\u{7F}")),
        ),
        (greatest.repeat(4), 1, None),
        (greatest.repeat(4), 4, Some(greatest.repeat(4))),
        ("abcd".to_owned(), 0, None),
    ] {
        let actual = upper_bound(&value, units);
        assert_eq!(actual, expected, "{value} {units}");
        assert!(actual.is_none_or(|bound| bound >= value), "{value}");
    }
}

#[test]
fn lower_bounds_are_prefixes() {
    assert_eq!(lower_bound("abcdef", 3).as_deref(), Some("abc"));
    assert_eq!(lower_bound("ab", 3).as_deref(), Some("ab"));
    assert_eq!(lower_bound("a🚀b", 2).as_deref(), Some("a🚀"));
    assert_eq!(lower_bound("abc", 0), None);
}
