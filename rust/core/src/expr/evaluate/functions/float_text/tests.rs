use super::format_float;

#[test]
fn formats_numbers_as_spark() {
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
        assert_eq!(format_float::<f64>(number), text);
    }
    for (number, text) in [
        (0.1, "0.1"),
        (3.3, "3.3"),
        (16_777_216.0, "1.6777216E7"),
        (1e-45, "1.4E-45"),
        (f32::MAX, "3.4028235E38"),
    ] {
        assert_eq!(format_float::<f32>(number), text);
    }
}
