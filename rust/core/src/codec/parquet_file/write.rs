//! Options of the Parquet writer: the codec named by the table properties, Parquet's standard names for list
//! and map fields, and no embedded Arrow schema.

use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

/// Returns the codec for `delta.parquet.compression.codec`, by default Zstandard, and its suffix in file names.
pub(crate) fn codec(property: Option<&str>) -> (Compression, &'static str) {
    match property.unwrap_or("zstd").to_ascii_lowercase().as_str() {
        "none" | "uncompressed" => (Compression::UNCOMPRESSED, ""),
        "snappy" => (Compression::SNAPPY, ".snappy"),
        "gzip" => (Compression::GZIP(GzipLevel::default()), ".gz"),
        "lz4" | "lz4_raw" => (Compression::LZ4_RAW, ".lz4raw"),
        _ => (Compression::ZSTD(ZstdLevel::default()), ".zstd"),
    }
}

/// Builds the options of a writer; `refine` is applied last.
pub(crate) fn writer_options(
    compression: Compression,
    refine: impl FnOnce(WriterPropertiesBuilder) -> WriterPropertiesBuilder,
) -> ArrowWriterOptions {
    let builder = WriterProperties::builder()
        .set_compression(compression)
        .set_coerce_types(true)
        .set_created_by(concat!("deltareplay ", env!("CARGO_PKG_VERSION")).to_owned());
    ArrowWriterOptions::new()
        .with_properties(refine(builder).build())
        .with_skip_arrow_metadata(true)
}
