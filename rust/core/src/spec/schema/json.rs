//! Types to `schemaString`: the way back from `parse`.

use serde_json::{Value, json};

use crate::spec::schema::{DataType, StructField, StructType};

impl StructType {
    /// The text of `schemaString`, on one line.
    pub fn to_json(&self) -> String {
        self.json().to_string()
    }

    fn json(&self) -> Value {
        let fields: Vec<_> = self.fields().iter().map(StructField::json).collect();
        json!({"type": "struct", "fields": fields})
    }
}

impl StructField {
    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.data_type.json(),
            "nullable": self.nullable,
            "metadata": self.metadata,
        })
    }
}

impl DataType {
    fn json(&self) -> Value {
        match self {
            Self::Primitive(primitive) => Value::from(primitive.to_string()),
            Self::Array(array) => json!({
                "type": "array",
                "elementType": array.element_type.json(),
                "containsNull": array.contains_null,
            }),
            Self::Map(map) => json!({
                "type": "map",
                "keyType": map.key_type.json(),
                "valueType": map.value_type.json(),
                "valueContainsNull": map.value_contains_null,
            }),
            Self::Struct(fields) => fields.json(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_parses_to_the_same_types() {
        let fields = [
            r#""string""#,
            r#""decimal(10,2)""#,
            r#""timestamp_ntz""#,
            r#""void""#,
            r#""variant""#,
            r#""interval day to second""#,
            r#""geometry(OGC:CRS84)""#,
            r#"{"type":"array","elementType":"long","containsNull":false}"#,
            r#"{"type":"map","keyType":"string","valueType":{"type":"struct","fields":[]},"valueContainsNull":true}"#,
        ];
        for field in fields {
            let text = format!(
                r#"{{"type":"struct","fields":[{{"name":"c","type":{field},"nullable":false,"metadata":{{"comment":"é","n":3}}}}]}}"#
            );
            let parsed = StructType::parse(&text).unwrap();
            assert_eq!(
                StructType::parse(&parsed.to_json()).unwrap(),
                parsed,
                "{text}"
            );
        }
    }
}
