use super::*;

fn metadata(name: &str) -> HashMap<String, String> {
    PrimitiveType::from_name(name).unwrap().arrow_metadata()
}

#[test]
fn geospatial_types_have_their_reference_system_and_edges() {
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
        let extension: Value = serde_json::from_str(&metadata["ARROW:extension:metadata"]).unwrap();
        assert_eq!(extension, expected, "{name}");
    }
}

#[test]
fn other_types_have_no_extension_metadata() {
    for name in ["binary", "string", "variant", "decimal(3,1)"] {
        assert_eq!(metadata(name), HashMap::new(), "{name}");
    }
}
