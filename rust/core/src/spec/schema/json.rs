//! Serializes types to `schemaString`, the inverse of `parse`.

use serde_json::{Value, json};

use crate::spec::schema::{DataType, StructField, StructType};

impl StructType {
    /// Returns the text of `schemaString`, on one line.
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
mod tests;
