//! Sizes of files as table properties write them: `134217728`, `128mb`, `1 GB`.

/// The bytes; `None` for what is no size from 1 on.
pub fn parse_file_size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let shift = match unit.trim() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    let bytes = number.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (bytes > 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::parse_file_size;

    #[test]
    fn sizes_have_units() {
        for (text, expected) in [
            ("134217728", Some(128 << 20)),
            ("128mb", Some(128 << 20)),
            (" 1 GB ", Some(1 << 30)),
            ("104857600b", Some(100 << 20)),
            ("2t", Some(2 << 40)),
            ("0", None),
            ("", None),
            ("mb", None),
            ("-1", None),
            ("1.5gb", None),
            ("99999999999t", None),
        ] {
            assert_eq!(parse_file_size(text), expected, "{text}");
        }
    }
}
