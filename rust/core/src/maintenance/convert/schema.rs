//! The schema merged from many files.

use crate::error::{Error, Result};
use crate::spec::json::clipped;
use crate::spec::schema::{ArrayType, DataType, MapType, PrimitiveType, StructField, StructType};

/// The schema of the files so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedSchema(StructType);

impl From<StructType> for MergedSchema {
    fn from(schema: StructType) -> Self {
        Self(schema)
    }
}

impl MergedSchema {
    /// Merges the columns of one more file.
    ///
    /// # Errors
    ///
    /// Invalid argument: `convert.schema` if a column has a different type than in earlier files.
    pub fn join(&mut self, file: &StructType) -> Result<()> {
        if self.0 != *file {
            self.0 = merged(&self.0, file, "")?;
        }
        Ok(())
    }

    /// Returns the columns.
    pub fn schema(&self) -> &StructType {
        &self.0
    }

    /// Returns the columns including the partition columns: in place if the files have them too, otherwise at
    /// the end.
    ///
    /// # Errors
    ///
    /// Corrupt: `schema.duplicate_column`.
    pub(super) fn partitioned(self, partitions: &StructType) -> Result<StructType> {
        let mut fields: Vec<StructField> = Vec::new();
        for field in self.0.fields() {
            fields.push(partitions.field(&field.name).unwrap_or(field).clone());
        }
        for field in partitions.fields() {
            if !self.0.contains(&field.name) {
                fields.push(field.clone());
            }
        }
        StructType::new(fields)
    }
}

fn merged(left: &StructType, right: &StructType, above: &str) -> Result<StructType> {
    let mut fields = Vec::with_capacity(left.fields().len());
    for field in left.fields() {
        let mut field = field.clone();
        if let Some(more) = right.field(&field.name) {
            let name = format!("{above}{}", field.name);
            field.data_type = merged_type(&field.data_type, &more.data_type, &name)?;
        }
        fields.push(field);
    }
    for field in right.fields() {
        if !left.contains(&field.name) {
            fields.push(field.clone());
        }
    }
    StructType::new(fields)
}

fn merged_type(left: &DataType, right: &DataType, name: &str) -> Result<DataType> {
    use PrimitiveType::{Byte, Integer, Short, Void};
    Ok(match (left, right) {
        (DataType::Struct(left), DataType::Struct(right)) => {
            DataType::Struct(Box::new(merged(left, right, &format!("{name}."))?))
        }
        (DataType::Array(left), DataType::Array(right)) => DataType::Array(Box::new(ArrayType {
            element_type: merged_type(
                &left.element_type,
                &right.element_type,
                &format!("{name}.element"),
            )?,
            contains_null: true,
        })),
        (DataType::Map(left), DataType::Map(right)) => DataType::Map(Box::new(MapType {
            key_type: merged_type(&left.key_type, &right.key_type, &format!("{name}.key"))?,
            value_type: merged_type(
                &left.value_type,
                &right.value_type,
                &format!("{name}.value"),
            )?,
            value_contains_null: true,
        })),
        _ if left == right => left.clone(),
        (DataType::Primitive(Void), known) | (known, DataType::Primitive(Void)) => known.clone(),
        // all three are stored as 32 bits in Parquet
        (
            DataType::Primitive(small @ (Byte | Short | Integer)),
            DataType::Primitive(large @ (Byte | Short | Integer)),
        ) => {
            let wider = [Byte, Short, Integer]
                .into_iter()
                .rfind(|width| width == small || width == large);
            DataType::Primitive(wider.unwrap_or(Integer))
        }
        _ => {
            let message = format!(
                "the column {} has the type {} in this file, and {} in others: files of one table have one \
                 type for each column; write it again with the same type",
                clipped(name),
                right.arrow_type(),
                left.arrow_type()
            );
            return Err(Error::invalid("convert.schema", message));
        }
    })
}
