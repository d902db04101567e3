//! Parses the JSON bodies of `metaData`, `protocol`, `txn` and `domainMetadata` into plain data.
//!
//! The input is the value of the action's key (the text after `"metaData":`). Null is the same as absent,
//! unknown keys are ignored, and the last value of a duplicate key counts.
//!
//! Protocol: "Actions".

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::spec::json::for_each_entry;
use crate::spec::{DomainMetadata, Metadata, Protocol, SetTransaction};

const CODE: &str = "commit.action";

/// Decodes the body of a `metaData` action.
///
/// # Errors
///
/// Corrupt: `commit.action` for invalid JSON, and for a field that is missing or has another type, which the
/// message names.
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
        // a tombstone needs no configuration
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
    object: &'a str,
    name: &'a str,
    json: &'a str,
}

impl Field<'_> {
    fn get<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(self.json).map_err(|cause| {
            let message = format!(
                "{}.{} does not have the protocol's type",
                self.object, self.name
            );
            Error::corrupt(CODE, message).because(cause)
        })
    }

    fn text_map(&self) -> Result<BTreeMap<String, String>> {
        let map: BTreeMap<String, Option<Text>> = self.get()?;
        Ok(map
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?.into_string())))
            .collect())
    }
}

fn each_field(
    object: &str,
    json: &str,
    mut visit: impl FnMut(Field<'_>) -> Result<()>,
) -> Result<()> {
    let fail = |error| {
        let message = format!("{object} is not a valid JSON object: {error}");
        Error::corrupt(CODE, message)
    };
    for_each_entry(json, fail, |name, json| visit(Field { object, name, json }))
}

fn required<T>(name: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| Error::corrupt(CODE, format!("{name} is missing")))
}

/// A string; also accepts a number or boolean that a writer left unquoted.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string")]
enum Text {
    String(String),
    Bool(bool),
    Number(serde_json::Number),
}

impl Text {
    fn into_string(self) -> String {
        match self {
            Text::String(text) => text,
            Text::Bool(value) => value.to_string(),
            Text::Number(number) => number.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
