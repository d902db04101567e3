//! The dictionary of field names in a variant's metadata.

use std::collections::HashMap;

use super::encoding::integer_at;
use crate::error::{Error, Result};

/// Maps ids to names and back; keeps the bytes that it was decoded from.
#[derive(Debug)]
pub(super) struct Dictionary {
    metadata: Vec<u8>,
    names: Vec<String>,
    ids: HashMap<String, usize>,
}

impl Dictionary {
    pub(super) fn new(metadata: &[u8]) -> Result<Self> {
        let names = parse(metadata).ok_or_else(|| {
            let message = "the metadata of a variant is not a dictionary of names";
            Error::corrupt("variant.metadata", message)
        })?;
        // reversed, so that the first id of a repeated name is kept
        let ids = names.iter().enumerate().rev();
        Ok(Self {
            metadata: metadata.to_vec(),
            ids: ids.map(|(id, name)| (name.clone(), id)).collect(),
            names,
        })
    }

    pub(super) fn has_metadata(&self, metadata: &[u8]) -> bool {
        self.metadata == metadata
    }

    pub(super) fn name(&self, id: usize) -> Option<&str> {
        self.names.get(id).map(String::as_str)
    }

    pub(super) fn id(&self, name: &str) -> Option<usize> {
        self.ids.get(name).copied()
    }
}

fn parse(metadata: &[u8]) -> Option<Vec<String>> {
    const VERSION: u8 = 1;
    let (header, rest) = metadata.split_first()?;
    if header & 0x0f != VERSION {
        return None;
    }
    let width = usize::from(header >> 6) + 1;
    let count = integer_at(rest, 0, width)?;
    let offsets = rest.get(width..)?;
    let strings = offsets.get(count.checked_add(1)?.checked_mul(width)?..)?;
    let mut names = Vec::new();
    let mut start = integer_at(offsets, 0, width)?;
    for next in 1..=count {
        let end = integer_at(offsets, next.checked_mul(width)?, width)?;
        names.push(
            std::str::from_utf8(strings.get(start..end)?)
                .ok()?
                .to_owned(),
        );
        start = end;
    }
    Some(names)
}
