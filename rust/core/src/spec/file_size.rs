//! Sizes of files: parsing them in table properties (`134217728`, `128mb`, `1 GB`), and grouping files by
//! size.

use std::ops::Range;

/// The maximum number of pieces of a file, since a log may claim any size.
const MAX_PIECES: u64 = 10_000;

/// Parses a size in bytes; `None` unless it is at least 1.
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
    let bytes = number.parse::<u64>().ok()?.checked_mul(1 << shift);
    bytes.filter(|bytes| *bytes > 0)
}

/// Groups consecutive items into groups of at most `max_bytes` bytes each; a larger item is a group of its
/// own.
pub fn group_by_size<T>(
    items: impl IntoIterator<Item = T>,
    max_bytes: u64,
    size: impl Fn(&T) -> u64,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut bytes = 0_u64;
    for item in items {
        let length = size(&item);
        match groups.last_mut() {
            Some(group) if bytes.saturating_add(length) <= max_bytes => group.push(item),
            _ => {
                groups.push(vec![item]);
                bytes = 0;
            }
        }
        bytes = bytes.saturating_add(length);
    }
    groups
}

/// Groups files, in order, into groups of at most `target` bytes each. A larger file is split by bytes, into
/// equal pieces of at most the larger of `target` and `min_piece` bytes, unless these would be too many; each
/// piece is a group. The last piece includes any bytes beyond the size that the log claims. `part` creates a
/// part of a file from its byte range, `None` for the whole file.
pub fn split_files<F: Clone, P>(
    files: impl IntoIterator<Item = (F, u64)>,
    target: u64,
    min_piece: u64,
    part: impl Fn(F, Option<Range<u64>>) -> P,
) -> Vec<Vec<P>> {
    let mut parts = Vec::new();
    for (file, size) in files {
        if size <= target {
            parts.push((part(file, None), size));
            continue;
        }
        let pieces = size.div_ceil(target.max(min_piece).max(size.div_ceil(MAX_PIECES)));
        let length = size.div_ceil(pieces);
        for number in 0..pieces {
            let start = number.saturating_mul(length);
            let last = number + 1 == pieces;
            let end = if last {
                u64::MAX
            } else {
                start.saturating_add(length)
            };
            parts.push((part(file.clone(), Some(start..end)), u64::MAX));
        }
    }
    let groups = group_by_size(parts, target, |(_, size)| *size);
    let without_sizes = |group: Vec<(P, u64)>| group.into_iter().map(|(part, _)| part).collect();
    groups.into_iter().map(without_sizes).collect()
}

#[cfg(test)]
mod tests;
