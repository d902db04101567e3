//! The protocol's nouns as plain data: actions, schema, features, properties.
//!
//! No I/O. Text from the log becomes a valid value or a typed error. Nesting is bounded, so that hostile text
//! exhausts neither stack nor memory.

pub mod actions;
pub mod arrow;
pub(crate) mod calendar;
pub(crate) mod char_length;
pub(crate) mod collation;
pub(crate) mod column_mapping;
pub mod column_path;
pub mod deletion_vector;
pub mod feature_rules;
pub mod features;
pub mod file_size;
pub mod from_arrow;
mod geoarrow;
pub(crate) mod interval;
pub mod json;
pub(crate) mod legacy_calendar;
pub mod properties;
pub mod property_rules;
pub mod protocol;
pub mod schema;
pub mod upgrade;
pub(crate) mod values;
pub mod variant_name;

pub use actions::{DomainMetadata, Metadata, Protocol, SetTransaction};
pub use deletion_vector::{DeletionVectorDescriptor, DeletionVectorStorage};
