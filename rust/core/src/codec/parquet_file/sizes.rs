//! The sizes to which pages decompress.

use std::io::{self, Read};

use parquet::basic::Compression;

/// The overhead of codecs for incompressible data, with a margin.
const CODEC_OVERHEAD: u64 = 4 << 10;

/// Pages that cannot decompress to more than this are not decompressed just to measure them.
const MAX_UNMEASURED: u64 = 512 << 20;

/// The buffer for the input of a decoder.
const BUFFER_BYTES: usize = 4 << 10;

/// Returns the maximum number of bytes that this many bytes can decompress to, by the format of the codec.
pub(super) fn max_decompressed(codec: Compression, bytes: u64) -> u64 {
    let times = match codec {
        // the claimed size is not used for allocation
        Compression::UNCOMPRESSED => return u64::MAX,
        Compression::SNAPPY => 32,
        Compression::LZ4 | Compression::LZ4_RAW | Compression::LZO => 256,
        Compression::GZIP(_) => 1_100,
        // a block of 128 KiB that repeats one byte takes four bytes
        Compression::ZSTD(_) => 33_000,
        Compression::BROTLI(_) => 1 << 22,
    };
    bytes.saturating_mul(times).saturating_add(CODEC_OVERHEAD)
}

/// Returns `true` if the bytes decompress to more than `claimed` bytes, with a codec whose decoder
/// allocates memory for all that it reads, whatever is claimed. Does not keep the decompressed bytes.
pub(super) fn exceeds(codec: Compression, bytes: &[u8], claimed: i64) -> bool {
    if max_decompressed(codec, bytes.len() as u64) <= MAX_UNMEASURED {
        return false;
    }
    let mut decoder: Box<dyn Read + '_> = match codec {
        Compression::GZIP(_) => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
        Compression::BROTLI(_) => Box::new(brotli::Decompressor::new(bytes, BUFFER_BYTES)),
        // files of early writers have frames
        Compression::LZ4 => Box::new(lz4_flex::frame::FrameDecoder::new(bytes)),
        _ => return false,
    };
    let claimed = u64::try_from(claimed).unwrap_or_default();
    // bytes that do not decode are reported when they are read
    let size = io::copy(
        &mut decoder.by_ref().take(claimed.saturating_add(1)),
        &mut io::sink(),
    );
    size.is_ok_and(|size| size > claimed)
}

#[cfg(test)]
mod tests;
