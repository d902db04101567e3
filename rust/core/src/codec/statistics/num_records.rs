//! Statistics texts in, row counts out.
//!
//! Nearly every writer puts `numRecords` first, so that a column of a million texts costs a few
//! bytes of each. Where it stands elsewhere, what stands before it is scanned, never built.
//!
//! Protocol: "Per-file Statistics".

use arrow_array::{Int64Array, StringArrayType};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, ScalarBuffer};

use super::scan::{self, Scalar};
use crate::spec::json::Cursor;

/// The physical row count of each file; null where the text is null, no JSON object, without the
/// key, or with another value than a whole number.
///
/// Of several top-level `numRecords` the first whole number counts. What stands behind the number is not looked
/// at, except that the text must end like an object; `parse_stats` checks every byte.
pub fn num_records<'a, S: StringArrayType<'a>>(stats: S) -> Int64Array {
    let rows = stats.len();
    let nulls = stats.nulls();
    let mut counts = Vec::with_capacity(rows);
    let mut valid = BooleanBufferBuilder::new(rows);
    for row in 0..rows {
        let known = nulls.is_none_or(|nulls| nulls.is_valid(row));
        let count = if known {
            of_text(stats.value(row))
        } else {
            None
        };
        counts.push(count.unwrap_or_default());
        valid.append(count.is_some());
    }
    let nulls = NullBuffer::new(valid.finish());
    Int64Array::new(
        ScalarBuffer::from(counts),
        (nulls.null_count() > 0).then_some(nulls),
    )
}

/// The row count in one text.
fn of_text(text: &str) -> Option<i64> {
    if let Some(rest) = text.strip_prefix(r#"{"numRecords":"#)
        && let Some((count, rest)) = leading_digits(rest.as_bytes())
        && matches!(rest, [b'}'] | [b',', .., b'}'])
    {
        return Some(count);
    }
    search(text)
}

/// Up to 18 digits without a leading zero, which cannot overflow; the rest goes to [`search`].
#[inline]
fn leading_digits(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let length = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (digits, rest) = bytes.split_at_checked(length)?;
    if matches!(digits, [] | [b'0', _, ..]) || length > 18 {
        return None;
    }
    let count = digits
        .iter()
        .fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    Some((count, rest))
}

fn search(text: &str) -> Option<i64> {
    if !text.trim_ascii_end().ends_with('}') {
        return None;
    }
    let mut scratch = String::new();
    let mut cursor = Cursor::new(text);
    cursor.begin_object().ok()?;
    loop {
        let key = scan::key(&mut cursor)?;
        if key.strict(&mut scratch) == Some("numRecords") && !matches!(cursor.peek()?, b'{' | b'[')
        {
            let count = match scan::scalar(&mut cursor)? {
                Scalar::Number(number) => number.parse().ok(),
                _ => None,
            };
            if !cursor.more(b'}').ok()? || count.is_some() {
                return count;
            }
            continue;
        }
        scan::skip(&mut cursor)?;
        if !cursor.more(b'}').ok()? {
            return None;
        }
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]
mod tests {
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
    fn takes_every_string_column() {
        let texts = [
            Some(r#"{"numRecords":3}"#),
            None,
            Some("?"),
            Some(r#"{"numRecords":12,"a":{}}"#),
        ];
        let expected = Int64Array::from(vec![Some(3), None, None, Some(12)]);
        assert_eq!(num_records(&StringArray::from_iter(texts)), expected);
        assert_eq!(num_records(&LargeStringArray::from_iter(texts)), expected);
        assert_eq!(num_records(&StringViewArray::from_iter(texts)), expected);
        assert_eq!(
            num_records(&StringArray::from_iter(texts).slice(2, 2)),
            expected.slice(2, 2)
        );
        assert!(
            num_records(&StringArray::from(vec!["{\"numRecords\":1}"]))
                .nulls()
                .is_none()
        );
    }

    #[test]
    fn hostile_nesting_is_null() {
        let deep = format!(r#"{{"a":{}1}},"numRecords":1}}"#, "{\"b\":".repeat(100_000));
        assert_eq!(of_text(&deep), None);
    }

    proptest! {
        #[test]
        fn any_order_and_whitespace(
            count in any::<i64>(),
            space in "[ \t\r\n]{0,3}",
            mut keys in Just(vec!["numRecords", "minValues", "nullCount", "x\\u0041\\n"]).prop_shuffle(),
        ) {
            let members: Vec<_> = keys.drain(..).map(|key| match key {
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
}
