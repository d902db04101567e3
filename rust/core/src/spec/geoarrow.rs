//! The extension type `geoarrow.wkb`, which marks binary Arrow columns as geometries.
//!
//! Source: GeoArrow, "Extension types" and "Extension metadata".

use std::collections::HashMap;

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
        let pairs = [
            ("name", "geoarrow.wkb".to_owned()),
            ("metadata", extension.to_string()),
        ];
        let key = |name| format!("ARROW:extension:{name}");
        pairs
            .into_iter()
            .map(|(name, value)| (key(name), value))
            .collect()
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
