//! The extension type `geoarrow.wkb`, which marks binary Arrow columns as geometries.
//!
//! Source: GeoArrow, "Extension types" and "Extension metadata".

use std::collections::HashMap;

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use serde_json::{Value, json};

use crate::spec::schema::PrimitiveType;

impl PrimitiveType {
    /// Returns the metadata of Arrow fields of this type: empty except for geometries.
    pub(super) fn arrow_metadata(&self) -> HashMap<String, String> {
        let (crs, edges) = match self {
            Self::Geometry { crs } => (crs, None),
            Self::Geography { crs, algorithm } => (crs, Some(algorithm)),
            _ => return HashMap::new(),
        };
        let mut extension = reference_system(crs);
        if let (Some(edges), Value::Object(extension)) = (edges, &mut extension) {
            extension.insert("edges".to_owned(), edges.as_str().into());
        }
        HashMap::from([
            (
                EXTENSION_TYPE_NAME_KEY.to_owned(),
                "geoarrow.wkb".to_owned(),
            ),
            (
                EXTENSION_TYPE_METADATA_KEY.to_owned(),
                extension.to_string(),
            ),
        ])
    }
}

/// Converts Delta's `authority:code`, `srid:number` and `projjson:property` to GeoArrow's `crs`, which has
/// no type for the last one.
fn reference_system(crs: &str) -> Value {
    match crs.split_once(':') {
        Some(("srid", number)) => json!({"crs": number, "crs_type": "srid"}),
        Some(("projjson", _)) => json!({ "crs": crs }),
        _ => json!({"crs": crs, "crs_type": "authority_code"}),
    }
}

#[cfg(test)]
mod tests;
