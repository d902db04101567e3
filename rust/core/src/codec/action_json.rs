//! The JSON bodies of `metaData`, `protocol`, `txn` and `domainMetadata`: text in, plain data out.
//!
//! Takes the text of the action's own object (what stands after `"metaData":`). A null is the same as
//! an absent key, unknown keys are passed over, and of a repeated key the last one counts.
//!
//! Protocol: "Actions".

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, Visitor};

use crate::error::{Error, Result};
use crate::spec::actions::{DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::spec::json::for_each_entry;

const CODE: &str = "commit.action";

/// Decodes the body of a `metaData` action.
///
/// # Errors
///
/// Corrupt `commit.action`, with the name of the field that is missing or has another type.
pub fn metadata_from_json(json: &str) -> Result<Metadata> {
    let mut id = None;
    let mut metadata = Metadata {
        format_provider: "parquet".to_owned(),
        ..Metadata::default()
    };
    each_field("metaData", json, |field| {
        match field.name {
            "id" => id = Some(field.get()?),
            "name" => metadata.name = Some(field.get()?),
            "description" => metadata.description = Some(field.get()?),
            "format" => each_field("metaData.format", field.json, |inner| {
                match inner.name {
                    "provider" => metadata.format_provider = inner.get()?,
                    "options" => metadata.format_options = inner.text_map()?,
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

/// Decodes the body of a `protocol` action; whether its versions and lists fit together is
/// [`Protocol::check_well_formed`]'s question.
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
        // a tombstone's configuration is a courtesy to later readers of the history
        configuration.get_or_insert_default();
    }
    Ok(DomainMetadata {
        domain: required("domainMetadata.domain", domain)?,
        configuration: required("domainMetadata.configuration", configuration)?,
        removed,
    })
}

/// One entry of an action's object.
struct Field<'a> {
    of: &'a str,
    name: &'a str,
    json: &'a str,
}

impl Field<'_> {
    fn get<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(self.json).map_err(|cause| {
            let message = format!("{}.{} does not hold what it should", self.of, self.name);
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
            format!("{of} is not the JSON object that it should be: {error}"),
        )
    };
    for_each_entry(json, fail, |name, json| visit(Field { of, name, json }))
}

fn required<T>(name: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| Error::corrupt(CODE, format!("{name} is missing")))
}

/// Text, or a number or boolean that a careless writer left without quotes.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Texts;

        impl Visitor<'_> for Texts {
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

        deserializer.deserialize_any(Texts)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    /// The worked example of the "Deep Dive: Delta Log" document: `format` without options.
    #[test]
    fn metadata_of_the_deep_dive() {
        let metadata = metadata_from_json(
            r#"{
               "configuration":{
                  "delta.autoOptimize.autoCompact":"true",
                  "delta.autoOptimize.optimizeWrite":"true"
               },
               "createdTime":1662199084374,
               "format":{"provider":"parquet"},
               "id":"6beacf7b-dea1-4ecd-bd6e-6a4dfc697d6b",
               "partitionColumns":[

               ],
               "schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}"
            }"#,
        )
        .unwrap();
        let expected = Metadata {
            id: "6beacf7b-dea1-4ecd-bd6e-6a4dfc697d6b".to_owned(),
            format_provider: "parquet".to_owned(),
            schema_string:
                r#"{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}"#
                    .to_owned(),
            created_time: Some(1_662_199_084_374),
            configuration: map(&[
                ("delta.autoOptimize.autoCompact", "true"),
                ("delta.autoOptimize.optimizeWrite", "true"),
            ]),
            ..Metadata::default()
        };
        assert_eq!(metadata, expected);
    }

    #[test]
    fn nulls_are_absent_and_unknown_keys_are_passed_over() {
        let metadata = metadata_from_json(
            r#"{"id":"t","name":null,"description":"d","format":{"provider":"parquet","options":null,"x":[1]},
               "schemaString":null,"partitionColumns":null,"configuration":null,"createdTime":null,"later":{"a":[{}]}}"#,
        )
        .unwrap();
        let expected = Metadata {
            id: "t".to_owned(),
            description: Some("d".to_owned()),
            format_provider: "parquet".to_owned(),
            ..Metadata::default()
        };
        assert_eq!(metadata, expected);
    }

    #[test]
    fn values_without_quotes_are_taken_as_their_text() {
        let metadata = metadata_from_json(
            r#"{"id":"t","configuration":{"a":10,"b":true,"c":null,"d":"x","e":-1}}"#,
        )
        .unwrap();
        assert_eq!(
            metadata.configuration,
            map(&[("a", "10"), ("b", "true"), ("d", "x"), ("e", "-1")])
        );
    }

    #[test]
    fn protocols_with_and_without_lists() {
        // from the "Deep Dive: Delta Log" document, then the protocol's own shape
        let old = protocol_from_json(r#"{"minReaderVersion":1,"minWriterVersion":2}"#).unwrap();
        assert_eq!(
            old,
            Protocol {
                min_reader_version: 1,
                min_writer_version: 2,
                reader_features: None,
                writer_features: None
            }
        );
        let new = protocol_from_json(
            r#"{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],
                "writerFeatures":["deletionVectors","changeDataFeed"]}"#,
        )
        .unwrap();
        assert_eq!(new.reader_features.unwrap(), ["deletionVectors"]);
        assert_eq!(
            new.writer_features.unwrap(),
            ["deletionVectors", "changeDataFeed"]
        );
        let nulls = r#"{"minReaderVersion":1,"minWriterVersion":2,"readerFeatures":null,"writerFeatures":null}"#;
        assert_eq!(protocol_from_json(nulls).unwrap(), old);
    }

    #[test]
    fn transactions_and_domains() {
        // the transaction of the "Deep Dive: Delta Log" document
        let txn = transaction_from_json(
            r#"{"appId":"3ba13872-2d47-4e17-86a0-21afd2a22395","version":364475}"#,
        )
        .unwrap();
        let expected = SetTransaction {
            app_id: "3ba13872-2d47-4e17-86a0-21afd2a22395".to_owned(),
            version: 364_475,
            last_updated: None,
        };
        assert_eq!(txn, expected);
        let domain = domain_metadata_from_json(
            r#"{"domain":"delta.rowTracking","configuration":"{\"rowIdHighWaterMark\":9007199254740993}","removed":false}"#,
        )
        .unwrap();
        assert_eq!(
            domain.configuration,
            r#"{"rowIdHighWaterMark":9007199254740993}"#
        );
        assert!(!domain.removed);
        let gone = domain_metadata_from_json(r#"{"domain":"d","removed":true}"#).unwrap();
        assert_eq!((gone.removed, gone.configuration.as_str()), (true, ""));
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            (
                metadata_from_json(r#"{"name":"n"}"#).map(drop),
                "metaData.id",
            ),
            (metadata_from_json(r#"{"id":1}"#).map(drop), "metaData.id"),
            (
                metadata_from_json(r#"{"id":"t","partitionColumns":[1]}"#).map(drop),
                "metaData.partitionColumns",
            ),
            (
                metadata_from_json(r#"{"id":"t","configuration":{"a":{}}}"#).map(drop),
                "metaData.configuration",
            ),
            (
                metadata_from_json(r#"{"id":"t","format":"parquet"}"#).map(drop),
                "metaData.format",
            ),
            (metadata_from_json(r#"{"id":"t""#).map(drop), "metaData"),
            (
                protocol_from_json(r#"{"minReaderVersion":1}"#).map(drop),
                "protocol.minWriterVersion",
            ),
            (
                protocol_from_json(r#"{"minReaderVersion":3000000000,"minWriterVersion":2}"#)
                    .map(drop),
                "protocol.minReaderVersion",
            ),
            (
                transaction_from_json(r#"{"appId":"a","version":"1"}"#).map(drop),
                "txn.version",
            ),
            (
                domain_metadata_from_json(r#"{"domain":"d","configuration":""}"#).map(drop),
                "domainMetadata.removed",
            ),
        ];
        for (outcome, field) in cases {
            let error = outcome.unwrap_err();
            assert_eq!(error.code(), "commit.action");
            assert!(error.to_string().contains(field), "{error}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_without_recursion() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        for body in [
            format!(r#"{{"id":"t","later":{deep}}}"#),
            format!(r#"{{"id":"t","configuration":{deep}}}"#),
            format!(r#"{{"id":"t","partitionColumns":{deep}}}"#),
        ] {
            assert_eq!(
                metadata_from_json(&body).unwrap_err().code(),
                "commit.action"
            );
        }
    }
}
