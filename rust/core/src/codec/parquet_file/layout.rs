//! The Thrift structs of Parquet footers and page headers: the types of their fields.
//!
//! Protocol: Apache Parquet, `parquet.thrift`.

/// The fields of a struct, by field id.
pub(super) type Fields = &'static [(i16, Type)];

/// The type of a field.
#[derive(Clone, Copy)]
pub(super) enum Type {
    Bool,
    I8,
    I16,
    I32,
    I64,
    Double,
    Binary,
    List(&'static Type),
    Struct(Fields),
}

impl Type {
    /// Returns `true` if the type has this wire type.
    pub(super) fn has_wire_type(self, wire: u8) -> bool {
        match self {
            Type::Bool => matches!(wire, 1 | 2),
            Type::I8 => wire == 3,
            Type::I16 => wire == 4,
            Type::I32 => wire == 5,
            Type::I64 => wire == 6,
            Type::Double => wire == 7,
            Type::Binary => wire == 8,
            Type::List(_) => wire == 9,
            Type::Struct(_) => wire == 12,
        }
    }
}

use Type::{Binary, Bool, Double, I8, I16, I32, I64, List, Struct};

const EMPTY: Type = Struct(&[]);
const BINARIES: Type = List(&Binary);
const LONGS: Type = List(&I64);
const TIME_UNIT: Type = Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]);
const TIME: Type = Struct(&[(1, Bool), (2, TIME_UNIT)]);
const KEY_VALUES: Type = List(&Struct(&[(1, Binary), (2, Binary)]));

const LOGICAL_TYPE: Type = Struct(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Struct(&[(1, I32), (2, I32)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, I8), (2, Bool)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Struct(&[(1, I8)])),
    (17, Struct(&[(1, Binary)])),
    (18, Struct(&[(1, Binary), (2, I32)])),
]);

const SCHEMA_ELEMENT: Type = Struct(&[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, Binary),
    (5, I32),
    (6, I32),
    (7, I32),
    (8, I32),
    (9, I32),
    (10, LOGICAL_TYPE),
]);

const STATISTICS: Type = Struct(&[
    (1, Binary),
    (2, Binary),
    (3, I64),
    (4, I64),
    (5, Binary),
    (6, Binary),
    (7, Bool),
    (8, Bool),
]);

const BOUNDING_BOX: Type = Struct(&[
    (1, Double),
    (2, Double),
    (3, Double),
    (4, Double),
    (5, Double),
    (6, Double),
    (7, Double),
    (8, Double),
]);

const COLUMN_METADATA: Type = Struct(&[
    (1, I32),
    (2, List(&I32)),
    (3, BINARIES),
    (4, I32),
    (5, I64),
    (6, I64),
    (7, I64),
    (8, KEY_VALUES),
    (9, I64),
    (10, I64),
    (11, I64),
    (12, STATISTICS),
    (13, List(&Struct(&[(1, I32), (2, I32), (3, I32)]))),
    (14, I64),
    (15, I32),
    (16, Struct(&[(1, I64), (2, LONGS), (3, LONGS)])),
    (17, Struct(&[(1, BOUNDING_BOX), (2, List(&I32))])),
]);

const COLUMN_CHUNK: Type = Struct(&[
    (1, Binary),
    (2, I64),
    (3, COLUMN_METADATA),
    (4, I64),
    (5, I32),
    (6, I64),
    (7, I32),
    (9, Binary),
]);

const ROW_GROUP: Type = Struct(&[
    (1, List(&COLUMN_CHUNK)),
    (2, I64),
    (3, I64),
    (4, List(&Struct(&[(1, I32), (2, Bool), (3, Bool)]))),
    (5, I64),
    (6, I64),
    (7, I16),
]);

const AES: Type = Struct(&[(1, Binary), (2, Binary), (3, Bool)]);

/// `FileMetaData`
pub(super) const FILE: [(i16, Type); 9] = [
    (1, I32),
    (2, List(&SCHEMA_ELEMENT)),
    (3, I64),
    (4, List(&ROW_GROUP)),
    (5, KEY_VALUES),
    (6, Binary),
    (7, List(&Struct(&[(1, EMPTY), (2, EMPTY)]))),
    (8, Struct(&[(1, AES), (2, AES)])),
    (9, Binary),
];

const DATA_PAGE: Type = Struct(&[(1, I32), (2, I32), (3, I32), (4, I32), (5, STATISTICS)]);

const DATA_PAGE_V2: Type = Struct(&[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, I32),
    (5, I32),
    (6, I32),
    (7, Bool),
    (8, STATISTICS),
]);

/// `PageHeader`
pub(super) const PAGE: [(i16, Type); 8] = [
    (1, I32),
    (2, I32),
    (3, I32),
    (4, I32),
    (5, DATA_PAGE),
    (6, EMPTY),
    (7, Struct(&[(1, I32), (2, I32), (3, Bool)])),
    (8, DATA_PAGE_V2),
];
