//! The extension type `geoarrow.wkb`, which tells readers of Arrow data that bytes are shapes.
//!
//! Source: GeoArrow, "Extension types" and "Extension metadata".

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::spec::schema::PrimitiveType;

impl PrimitiveType {
    /// The metadata of Arrow fields of this type: nothing but for shapes.
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

/// Delta's `authority:code`, `srid:number` and `projjson:property` in GeoArrow's words, which have none
/// for the last one: it stays as it is, of no type.
fn reference_system(crs: &str) -> Value {
    match crs.split_once(':') {
        Some(("srid", number)) => json!({"crs": number, "crs_type": "srid"}),
        Some(("projjson", _)) => json!({ "crs": crs }),
        _ => json!({"crs": crs, "crs_type": "authority_code"}),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn metadata(name: &str) -> HashMap<String, String> {
        PrimitiveType::from_name(name).unwrap().arrow_metadata()
    }

    #[test]
    fn shapes_have_their_reference_system_and_edges() {
        let code = |crs: &str| json!({"crs": crs, "crs_type": "authority_code"});
        for (name, expected) in [
            ("geometry", code("OGC:CRS84")),
            ("geometry(EPSG:3857)", code("EPSG:3857")),
            ("geometry(a\"\\:\u{1})", code("a\"\\:\u{1}")),
            (
                "geometry(srid:5070)",
                json!({"crs": "5070", "crs_type": "srid"}),
            ),
            (
                "geometry(projjson:my.crs)",
                json!({"crs": "projjson:my.crs"}),
            ),
            (
                "geography",
                json!({"crs": "OGC:CRS84", "crs_type": "authority_code", "edges": "spherical"}),
            ),
            (
                "geography(srid:1, karney)",
                json!({"crs": "1", "crs_type": "srid", "edges": "karney"}),
            ),
        ] {
            let metadata = metadata(name);
            assert_eq!(metadata["ARROW:extension:name"], "geoarrow.wkb", "{name}");
            let extension: Value =
                serde_json::from_str(&metadata["ARROW:extension:metadata"]).unwrap();
            assert_eq!(extension, expected, "{name}");
        }
    }

    #[test]
    fn other_types_say_nothing() {
        for name in ["binary", "string", "variant", "decimal(3,1)"] {
            assert_eq!(metadata(name), HashMap::new(), "{name}");
        }
    }
}
