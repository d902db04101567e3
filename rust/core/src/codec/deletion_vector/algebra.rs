//! Union, intersection and difference, chunk by chunk.

use std::cmp::Ordering;

use super::DeletionVector;
use super::build::Builder;
use super::chunk::{Chunk, Rows};

/// What becomes of rows that are in the left, in the right, in both.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

impl DeletionVector {
    /// Rows that are in one of them or in both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.combine(other, Operation::Union)
    }

    /// Rows that are in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, Operation::Intersection)
    }

    /// Rows of this that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(other, Operation::Difference)
    }

    fn combine(&self, other: &Self, operation: Operation) -> Self {
        let mut builder = Builder::default();
        let (mut left, mut right) = (
            self.chunks.iter().peekable(),
            other.chunks.iter().peekable(),
        );
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(ours), Some(theirs)) => ours.key.cmp(&theirs.key),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return builder.finish(),
            };
            let ours = (order != Ordering::Greater).then(|| left.next()).flatten();
            let theirs = (order != Ordering::Less).then(|| right.next()).flatten();
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => {
                    self.combine_chunks(ours, other, theirs, operation, &mut builder);
                }
                (Some(ours), None) if operation != Operation::Intersection => {
                    builder.push_copy(ours, &self.bytes);
                }
                (None, Some(theirs)) if operation == Operation::Union => {
                    builder.push_copy(theirs, &other.bytes);
                }
                _ => {}
            }
        }
    }

    fn combine_chunks(
        &self,
        ours: &Chunk,
        other: &Self,
        theirs: &Chunk,
        operation: Operation,
        builder: &mut Builder,
    ) {
        let (left, right) = (self.rows_of(ours), other.rows_of(theirs));
        // Few values against anything: each is looked up. Everything else goes by words.
        match (left, right, operation) {
            (Rows::Array(values), _, Operation::Intersection) => {
                builder.push_values(ours.key, &kept(values, &right, true));
            }
            (_, Rows::Array(values), Operation::Intersection) => {
                builder.push_values(ours.key, &kept(values, &left, true));
            }
            (Rows::Array(values), _, Operation::Difference) => {
                builder.push_values(ours.key, &kept(values, &right, false));
            }
            _ => {
                let mut words = left.words();
                let others = right.words();
                for (word, other) in words.iter_mut().zip(others.iter()) {
                    *word = match operation {
                        Operation::Union => *word | other,
                        Operation::Intersection => *word & other,
                        Operation::Difference => *word & !other,
                    };
                }
                builder.push_words(ours.key, &words);
            }
        }
    }
}

/// The values that are, or are not, among the rows.
fn kept(values: &[[u8; 2]], rows: &Rows<'_>, wanted: bool) -> Vec<u16> {
    let values = values.iter().map(|value| u16::from_le_bytes(*value));
    let Rows::Array(others) = rows else {
        return values
            .filter(|value| rows.contains(*value) == wanted)
            .collect();
    };
    let mut others = others
        .iter()
        .map(|value| u16::from_le_bytes(*value))
        .peekable();
    values
        .filter(|value| {
            while others.next_if(|other| other < value).is_some() {}
            (others.peek() == Some(value)) == wanted
        })
        .collect()
}
