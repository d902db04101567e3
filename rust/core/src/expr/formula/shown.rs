//! Floating-point numbers as texts.

/// As Spark shows a floating-point number: from 0.001 on and below 10,000,000 with a point, else with an
/// exponent, and at least one digit behind the point.
///
/// The digits are the fewest that tell the number from its neighbours, but at least two. Java before 19
/// writes more for a few numbers: `1.9999999999999998E23` for `2.0E23`.
fn shown(number: f64, scientific: &str) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return format!("{sign}Infinity");
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let digits = mantissa.trim_start_matches('-').replace('.', "");
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let size = number.abs();
    if size != 0.0 && !(1e-3..1e7).contains(&size) {
        let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
        let rest = if rest.is_empty() { "0" } else { rest };
        return format!("{sign}{first}.{rest}E{exponent}");
    }
    let Ok(whole) = usize::try_from(exponent + 1) else {
        let zeros = "0".repeat(exponent.unsigned_abs().saturating_sub(1) as usize);
        return format!("{sign}0.{zeros}{digits}");
    };
    if whole == 0 {
        return format!("{sign}0.{digits}");
    }
    let digits = format!("{digits:0<whole$}");
    let (before, behind) = digits.split_at_checked(whole).unwrap_or((&digits, ""));
    let behind = if behind.is_empty() { "0" } else { behind };
    format!("{sign}{before}.{behind}")
}

/// As Spark shows a `DOUBLE`.
pub(super) fn double(number: f64) -> String {
    let (two, short) = (format!("{number:.1e}"), format!("{number:e}"));
    let is_two = !short.contains('.') && two.parse() == Ok(number);
    shown(number, if is_two { &two } else { &short })
}

/// As Spark shows a `FLOAT`.
pub(super) fn single(number: f32) -> String {
    let (two, short) = (format!("{number:.1e}"), format!("{number:e}"));
    let is_two = !short.contains('.') && two.parse() == Ok(number);
    shown(number.into(), if is_two { &two } else { &short })
}

#[cfg(test)]
mod tests {
    use super::{double, single};

    #[test]
    fn numbers_as_java_writes_them() {
        for (number, text) in [
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
            (-0.0, "-0.0"),
            (100.0, "100.0"),
            (123.45, "123.45"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (1e300, "1.0E300"),
            (-1.5e-7, "-1.5E-7"),
            (1e-3, "0.001"),
            (0.0123, "0.0123"),
            (9.99e-4, "9.99E-4"),
            (5e-324, "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
        ] {
            assert_eq!(double(number), text);
        }
        for (number, text) in [
            (0.1, "0.1"),
            (3.3, "3.3"),
            (16_777_216.0, "1.6777216E7"),
            (1e-45, "1.4E-45"),
            (f32::MAX, "3.4028235E38"),
        ] {
            assert_eq!(single(number), text);
        }
    }
}
