//! Matches logical columns with the physical columns of a file, including nested fields.

use arrow_schema::DataType as ArrowType;
use parquet::basic::Type;
use parquet::schema::types::SchemaDescriptor;

use super::cast::Cast;
use super::file_schema::{FileNode, FileSchema, NameMatch, Names};
use super::shape::{Origin, Shape};
use crate::codec::parquet_file::{LegacyCalendar, LegacyColumns};
use crate::error::{Error, Result};
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::{DataType, PrimitiveType, StructField, StructType};

/// Matches columns, and collects the leaves that they need.
pub(super) struct ColumnMatcher<'a> {
    mode: ColumnMappingMode,
    by_id: bool,
    parquet: &'a SchemaDescriptor,
    roots: &'a [FileNode],
    names: Names<'a>,
    selected: Vec<bool>,
    legacy: Option<&'a LegacyColumns>,
    /// The path in the logical schema, for messages.
    path: Vec<String>,
}

impl<'a> ColumnMatcher<'a> {
    pub(super) fn new(
        schema: &'a FileSchema,
        parquet: &'a SchemaDescriptor,
        mode: ColumnMappingMode,
    ) -> Self {
        Self {
            mode,
            // as in Delta Kernel, a file without ids is matched by name; Spark refuses it
            by_id: mode == ColumnMappingMode::Id && schema.has_ids,
            parquet,
            roots: &schema.roots,
            names: Names::new(&schema.roots),
            selected: vec![false; parquet.num_columns()],
            legacy: schema.legacy.as_ref(),
            path: Vec::new(),
        }
    }

    /// Matches a column of the table. Positions are those in the file, until `project_positions`.
    pub(super) fn column(&mut self, field: &StructField) -> Result<Origin> {
        let roots = self.roots;
        let index = self.find(field, roots, &self.names)?;
        self.origin(field, roots, index)
    }

    /// Matches a column that is not in the table's schema, such as `_change_type`, by its exact name.
    pub(super) fn metadata_column(
        &mut self,
        name: &str,
        logical: &PrimitiveType,
    ) -> Result<Origin> {
        let mut roots = self.roots.iter().enumerate();
        let Some((at, node)) = roots.find(|(_, node)| node.name == name) else {
            return Ok(Origin::Missing(logical.arrow_type()));
        };
        self.path.push(name.to_owned());
        let shape = self.leaf(logical, node)?;
        self.path.pop();
        Ok(Origin::File { at, shape })
    }

    /// Returns which leaves are needed.
    pub(super) fn selected(self) -> Vec<bool> {
        self.selected
    }

    fn find(
        &self,
        field: &StructField,
        siblings: &[FileNode],
        names: &Names<'_>,
    ) -> Result<Option<usize>> {
        let matched = match field.column_id().filter(|_| self.by_id) {
            Some(id) => {
                let mut with_id = siblings
                    .iter()
                    .enumerate()
                    .filter(|(_, node)| node.id == Some(id));
                match (with_id.next(), with_id.next()) {
                    (_, Some(_)) => Some(NameMatch::Ambiguous),
                    (first, None) => first.map(|(at, _)| NameMatch::Unique(at)),
                }
            }
            None => {
                let name = field.name_in_files(self.mode)?;
                names.find(name)
            }
        };
        match matched {
            None => Ok(None),
            Some(NameMatch::Unique(at)) => Ok(Some(at)),
            Some(NameMatch::Ambiguous) => {
                let message = format!(
                    "more than one column of the file could be the column {}: \
                     rewrite the file with one of them",
                    self.path_to(&field.name)
                );
                Err(Error::corrupt("data.ambiguous", message))
            }
        }
    }

    fn origin(
        &mut self,
        field: &StructField,
        siblings: &[FileNode],
        index: Option<usize>,
    ) -> Result<Origin> {
        let Some((at, node)) = index.and_then(|at| Some((at, siblings.get(at)?))) else {
            return Ok(Origin::Missing(field.data_type.arrow_type()));
        };
        if field.data_type == DataType::Primitive(PrimitiveType::Void) {
            return Ok(Origin::Missing(ArrowType::Null));
        }
        self.path.push(field.name.clone());
        let shape = self.shape(&field.data_type, node)?;
        self.path.pop();
        Ok(Origin::File { at, shape })
    }

    fn shape(&mut self, logical: &DataType, node: &FileNode) -> Result<Shape> {
        let arrow = logical.arrow_type();
        match (logical, &node.data_type) {
            (DataType::Primitive(PrimitiveType::Variant), ArrowType::Struct(_)) => {
                self.variant(node, &arrow)
            }
            (DataType::Primitive(logical), _) => self.leaf(logical, node),
            (_, ArrowType::Null) => Ok(self.nulls(node, arrow)),
            (DataType::Struct(logical), ArrowType::Struct(_)) => self.structure(logical, node),
            (DataType::Array(array), ArrowType::List(_)) => match (node.children.first(), arrow) {
                (Some(element), ArrowType::List(field)) => {
                    self.path.push("element".to_owned());
                    let element = self.shape(&array.element_type, element)?;
                    self.path.pop();
                    Ok(Shape::List(field, Box::new(element)))
                }
                (_, arrow) => Err(self.type_error(node, &arrow)),
            },
            (DataType::Map(map), _) => match (entries_of(node), arrow) {
                (Some([key, value]), ArrowType::Map(entries, _)) => {
                    self.path.push("key".to_owned());
                    let key = self.shape(&map.key_type, key)?;
                    self.path.pop();
                    self.path.push("value".to_owned());
                    let value = self.shape(&map.value_type, value)?;
                    self.path.pop();
                    Ok(Shape::Map(entries, Box::new([key, value])))
                }
                (_, arrow) => Err(self.type_error(node, &arrow)),
            },
            _ => Err(self.type_error(node, &arrow)),
        }
    }

    fn leaf(&mut self, logical: &PrimitiveType, node: &FileNode) -> Result<Shape> {
        let arrow = logical.arrow_type();
        if arrow == ArrowType::Null {
            return Ok(self.nulls(node, arrow));
        }
        let cast = Cast::new(&node.data_type, logical).filter(|_| node.children.is_empty());
        let Some(cast) = cast else {
            return Err(self.type_error(node, &arrow));
        };
        self.select(node.leaves.start);
        Ok(Shape::Leaf(match self.calendar(node.leaves.start) {
            Some(calendar) => cast.with_legacy_calendar(logical, calendar),
            None => cast,
        }))
    }

    fn calendar(&self, leaf: usize) -> Option<&LegacyCalendar> {
        let leaf = self.parquet.columns().get(leaf)?;
        self.legacy?.calendar(leaf.physical_type())
    }

    /// Returns nulls of this type, as many as the file has values.
    fn nulls(&mut self, node: &FileNode, arrow: ArrowType) -> Shape {
        self.select_cheapest_leaf(node);
        Shape::Leaf(Cast::Nulls(arrow))
    }

    fn structure(&mut self, logical: &StructType, node: &FileNode) -> Result<Shape> {
        let names = Names::new(&node.children);
        let mut parts = Vec::with_capacity(logical.fields().len());
        for field in logical.fields() {
            let index = self.find(field, &node.children, &names)?;
            parts.push(self.origin(field, &node.children, index)?);
        }
        if !parts.iter().any(|part| matches!(part, Origin::File { .. })) {
            // only needed to know whether it is null
            self.select_cheapest_leaf(node);
        }
        Ok(Shape::Struct(logical.arrow_fields(), parts))
    }

    fn variant(&mut self, node: &FileNode, arrow: &ArrowType) -> Result<Shape> {
        for child in &node.children {
            match (child.name.as_str(), &child.data_type) {
                ("metadata" | "value", ArrowType::Binary) | ("typed_value", _) => {}
                ("metadata" | "value", _) => return Err(self.type_error(node, arrow)),
                _ => continue,
            }
            for leaf in child.leaves.clone() {
                self.select(leaf);
            }
        }
        let has = |name| node.children.iter().any(|child| child.name == name);
        match (has("metadata"), has("value"), has("typed_value")) {
            (true, true, false) => self.plain_variant(node, arrow),
            (true, _, true) => {
                // shredded timestamps are never INT96
                let calendar = self.legacy.and_then(|legacy| legacy.calendar(Type::INT64));
                Ok(Shape::Variant(calendar.cloned()))
            }
            _ => Err(self.type_error(node, arrow)),
        }
    }

    fn plain_variant(&self, node: &FileNode, arrow: &ArrowType) -> Result<Shape> {
        let ArrowType::Struct(fields) = arrow else {
            return Err(self.type_error(node, arrow));
        };
        let mut parts = Vec::with_capacity(fields.len());
        for field in fields {
            let at = node
                .children
                .iter()
                .position(|child| child.name == *field.name());
            parts.push(Origin::File {
                at: at.ok_or_else(|| self.type_error(node, arrow))?,
                shape: Shape::Leaf(Cast::Keep),
            });
        }
        Ok(Shape::Struct(fields.clone(), parts))
    }

    fn select(&mut self, leaf: usize) {
        if let Some(selected) = self.selected.get_mut(leaf) {
            *selected = true;
        }
    }

    /// Selects the leaf of a subtree that is cheapest to read: the least repeated one.
    fn select_cheapest_leaf(&mut self, node: &FileNode) {
        let repeated = |leaf: &usize| self.parquet.column(*leaf).max_rep_level();
        let leaves = node
            .leaves
            .clone()
            .filter(|leaf| *leaf < self.selected.len());
        if let Some(leaf) = leaves.min_by_key(repeated) {
            self.select(leaf);
        }
    }

    fn path_to(&self, last: &str) -> String {
        let mut path = self.path.clone();
        path.push(last.to_owned());
        path.join(".")
    }

    fn type_error(&self, node: &FileNode, logical: &ArrowType) -> Error {
        let message = format!(
            "the column {} is {logical} in the table, but {} in the file, which cannot be converted: \
             rewrite the file with the table's schema",
            self.path.join("."),
            node.data_type,
        );
        Error::corrupt("data.type", message)
    }
}

/// Returns the key and the value of a map; `None` for a column of another type. The decoder returns a list of
/// entries for a map that is the element of a list in the old form, which has two levels.
fn entries_of(node: &FileNode) -> Option<&[FileNode; 2]> {
    let is_map = matches!(node.data_type, ArrowType::Map(..));
    let parts = match &node.data_type {
        ArrowType::Map(..) => &node.children,
        ArrowType::List(entry) if !entry.is_nullable() => &node.children.first()?.children,
        _ => return None,
    };
    let entries: &[FileNode; 2] = parts.as_slice().try_into().ok()?;
    let [key, value] = entries;
    (is_map || key.name == "key" && value.name == "value").then_some(entries)
}

/// Replaces the positions in the file by those in the reader's output, which omits leaves that are not
/// selected.
pub(super) fn project_positions(origin: &mut Origin, siblings: &[FileNode], selected: &[bool]) {
    let Origin::File { at, shape } = origin else {
        return;
    };
    let is_read = |node: &FileNode| {
        let leaves = selected.get(node.leaves.clone()).unwrap_or_default();
        leaves.contains(&true)
    };
    let Some(node) = siblings.get(*at) else {
        return;
    };
    *at = siblings
        .iter()
        .take(*at)
        .filter(|node| is_read(node))
        .count();
    project_shape(shape, node, selected);
}

fn project_shape(shape: &mut Shape, node: &FileNode, selected: &[bool]) {
    match shape {
        Shape::Leaf(_) | Shape::Variant(_) => {}
        Shape::Struct(_, parts) => {
            for part in parts {
                project_positions(part, &node.children, selected);
            }
        }
        Shape::List(_, element) => {
            if let Some(child) = node.children.first() {
                project_shape(element, child, selected);
            }
        }
        Shape::Map(_, parts) => {
            for (part, child) in parts.iter_mut().zip(entries_of(node).into_iter().flatten()) {
                project_shape(part, child, selected);
            }
        }
    }
}
