//! Parses the JSON bodies of `metaData`, `protocol`, `txn` and `domainMetadata` into plain data.
//!
//! The input is the value of the action's key (the text after `"metaData":`). Null is the same as absent,
//! unknown keys are ignored, and the last value of a duplicate key counts.
//!
//! Protocol: "Actions".

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, Visitor};

use crate::error::{Error, Result};
use crate::spec::json::for_each_entry;
use crate::spec::{DomainMetadata, Metadata, Protocol, SetTransaction};

const CODE: &str = "commit.action";

/// Decodes the body of a `metaData` action.
///
/// # Errors
///
/// Corrupt `commit.action`, with the name of the field that is missing or has another type.
pub fn metadata_from_json(json: &str) -> Result<Metadata> {
    let mut id = None;
    let mut metadata = Metadata::default();
    each_field("metaData", json, |field| {
        match field.name {
            "id" => id = Some(field.get()?),
            "name" => metadata.name = Some(field.get()?),
            "description" => metadata.description = Some(field.get()?),
            "format" => each_field("metaData.format", field.json, |inner| {
                match inner.name {
                    "provider" => metadata.format.provider = inner.get()?,
                    "options" => metadata.format.options = inner.text_map()?,
                    _ => {}
                }
                Ok(())
            })?,
            "schemaString" => metadata.schema_string = field.get()?,
            "partitionColumns" => metadata.partition_columns = field.get()?,
            "createdTime" => metadata.created_time = Some(field.get()?),
            "configuration" => metadata.configuration = field.text_map()?,
            _ => {}
        }
        Ok(())
    })?;
    metadata.id = required("metaData.id", id)?;
    Ok(metadata)
}

/// Decodes the body of a `protocol` action; [`Protocol::check_well_formed`] checks whether its versions and
/// feature lists are consistent.
///
/// # Errors
///
/// Corrupt `commit.action`, with the name of the field that is missing or has another type.
pub fn protocol_from_json(json: &str) -> Result<Protocol> {
    let (mut reader, mut writer) = (None, None);
    let mut protocol = Protocol::default();
    each_field("protocol", json, |field| {
        match field.name {
            "minReaderVersion" => reader = Some(field.get()?),
            "minWriterVersion" => writer = Some(field.get()?),
            "readerFeatures" => protocol.reader_features = Some(field.get()?),
            "writerFeatures" => protocol.writer_features = Some(field.get()?),
            _ => {}
        }
        Ok(())
    })?;
    protocol.min_reader_version = required("protocol.minReaderVersion", reader)?;
    protocol.min_writer_version = required("protocol.minWriterVersion", writer)?;
    Ok(protocol)
}

/// Decodes the body of a `txn` action.
///
/// # Errors
///
/// Corrupt `commit.action`, with the name of the field that is missing or has another type.
pub fn transaction_from_json(json: &str) -> Result<SetTransaction> {
    let (mut app_id, mut version, mut last_updated) = (None, None, None);
    each_field("txn", json, |field| {
        match field.name {
            "appId" => app_id = Some(field.get()?),
            "version" => version = Some(field.get()?),
            "lastUpdated" => last_updated = Some(field.get()?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(SetTransaction {
        app_id: required("txn.appId", app_id)?,
        version: required("txn.version", version)?,
        last_updated,
    })
}

/// Decodes the body of a `domainMetadata` action.
///
/// # Errors
///
/// Corrupt `commit.action`, with the name of the field that is missing or has another type.
pub fn domain_metadata_from_json(json: &str) -> Result<DomainMetadata> {
    let (mut domain, mut configuration, mut removed) = (None, None, None);
    each_field("domainMetadata", json, |field| {
        match field.name {
            "domain" => domain = Some(field.get()?),
            "configuration" => configuration = Some(field.get()?),
            "removed" => removed = Some(field.get()?),
            _ => {}
        }
        Ok(())
    })?;
    let removed = required("domainMetadata.removed", removed)?;
    if removed {
        // the configuration of a tombstone only serves readers of the history
        configuration.get_or_insert_default();
    }
    Ok(DomainMetadata {
        domain: required("domainMetadata.domain", domain)?,
        configuration: required("domainMetadata.configuration", configuration)?,
        removed,
    })
}

/// An entry of an action's JSON object.
struct Field<'a> {
    of: &'a str,
    name: &'a str,
    json: &'a str,
}

impl Field<'_> {
    fn get<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(self.json).map_err(|cause| {
            let message = format!(
                "{}.{} does not have the type of the protocol",
                self.of, self.name
            );
            Error::corrupt(CODE, message).because(cause)
        })
    }

    fn text_map(&self) -> Result<BTreeMap<String, String>> {
        let map: BTreeMap<String, Option<Text>> = self.get()?;
        Ok(map
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?.0)))
            .collect())
    }
}

fn each_field(of: &str, json: &str, mut visit: impl FnMut(Field<'_>) -> Result<()>) -> Result<()> {
    let fail = |error| {
        Error::corrupt(
            CODE,
            format!("{of} is not a JSON object of the protocol: {error}"),
        )
    };
    for_each_entry(json, fail, |name, json| visit(Field { of, name, json }))
}

fn required<T>(name: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| Error::corrupt(CODE, format!("{name} is missing")))
}

/// A string; also accepts a number or boolean that a writer left unquoted.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct StringMap;

        impl Visitor<'_> for StringMap {
            type Value = Text;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, value: &str) -> std::result::Result<Text, E> {
                Ok(Text(value.to_owned()))
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> std::result::Result<Text, E> {
                Ok(Text(value.to_string()))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> std::result::Result<Text, E> {
                Ok(Text(value.to_string()))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> std::result::Result<Text, E> {
                Ok(Text(value.to_string()))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> std::result::Result<Text, E> {
                Ok(Text(value.to_string()))
            }
        }

        deserializer.deserialize_any(StringMap)
    }
}

#[cfg(test)]
mod tests;
