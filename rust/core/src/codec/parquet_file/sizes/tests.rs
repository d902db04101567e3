use std::io::Write;

use parquet::basic::{BrotliLevel, GzipLevel};

use super::*;

/// Compresses zeros with `codec`, but not with the Parquet crate.
fn zeros(codec: Compression, size: usize) -> Vec<u8> {
    let piece = vec![0; 1 << 20];
    let write = |to: &mut dyn Write| {
        for _ in 0..size >> 20 {
            to.write_all(&piece).unwrap();
        }
    };
    match codec {
        Compression::GZIP(_) => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            write(&mut encoder);
            encoder.finish().unwrap()
        }
        Compression::BROTLI(_) => {
            let mut bytes = Vec::new();
            write(&mut brotli::CompressorWriter::new(
                &mut bytes,
                BUFFER_BYTES,
                5,
                22,
            ));
            bytes
        }
        _ => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            write(&mut encoder);
            encoder.finish().unwrap()
        }
    }
}

#[test]
fn pages_that_decompress_to_more_than_they_claim_are_detected() {
    let (gzip, brotli) = (GzipLevel::default(), BrotliLevel::default());
    for (codec, size, times) in [
        (Compression::GZIP(gzip), 8 << 20, 80),
        (Compression::BROTLI(brotli), 256 << 20, 1),
        (Compression::LZ4, 8 << 20, 80),
    ] {
        // the gzip decoder reads all members; the other decoders end after the first stream
        let bytes = zeros(codec, size).repeat(times);
        assert!(
            max_decompressed(codec, bytes.len() as u64) > MAX_UNMEASURED,
            "{codec}"
        );
        let whole = match codec {
            Compression::GZIP(_) => size * times,
            _ => size,
        };
        let whole = i64::try_from(whole).unwrap();
        for (claimed, expected) in [
            (8, true),
            (0, true),
            (-8, true),
            (whole - 1, true),
            (whole, false),
        ] {
            assert_eq!(
                exceeds(codec, &bytes, claimed),
                expected,
                "{codec} {claimed}"
            );
        }
    }
    for codec in [Compression::GZIP(gzip), Compression::LZ4] {
        assert!(
            !exceeds(codec, &vec![1; 3 << 20], 8),
            "{codec}: the bytes do not decompress"
        );
    }
    let few = zeros(Compression::GZIP(gzip), 8 << 20);
    assert!(
        !exceeds(Compression::GZIP(gzip), &few, 8),
        "too small to be measured"
    );
}
