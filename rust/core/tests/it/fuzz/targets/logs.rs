//! Log files: commits, hints, checksums; and the paths in them.

use std::sync::LazyLock;

use deltareplay_core::codec::commit::{ActionBatch, ActionDecoder, ActionSelection, FileActions};
use deltareplay_core::codec::file_actions::{ADD_FIELDS, CDC_FIELDS, REMOVE_FIELDS};
use deltareplay_core::codec::last_checkpoint::LastCheckpoint;
use deltareplay_core::codec::version_checksum::VersionChecksum;
use deltareplay_core::storage::{Location, PathResolver};

use super::{ACCEPTED, Target, feature};

/// Commits, compacted files and JSON manifests, which have the same lines. Decoding a file in pieces has
/// the same result.
pub const COMMITS: Target = Target {
    name: "commits",
    words: &[
        b"\n",
        b"\r\n",
        b"{\"add\":{\"path\":\"",
        b"{\"remove\":{\"path\":\"",
        b"\"partitionValues\":{",
        b"\"deletionVector\":{",
        b"null",
        b"}}\n",
        b"\\ud800",
        b"\\u0061",
        b"[[[[[[[[",
        b"{\"a\":{\"a\":",
        b"-9223372036854775809",
        b"1e5",
        b"true",
        b"\x00",
    ],
    memory: |bytes| (4 << 20) + bytes * 400,
    run: run_commits,
};

fn run_commits(input: &[u8]) -> u64 {
    let selection = ActionSelection {
        adds: Some(ADD_FIELDS.to_vec()),
        removes: Some(REMOVE_FIELDS.to_vec()),
        cdcs: Some(CDC_FIELDS.to_vec()),
        control: true,
        commit_infos: true,
    };
    let mut decoder = ActionDecoder::new(selection.clone());
    let decoded = decoder.decode(input).and_then(|()| decoder.finish());
    if let Err(error) = &decoded {
        assert!(
            error.line().is_some() || error.offset().is_some(),
            "{error}"
        );
    }
    let mut decoder = ActionDecoder::new(selection);
    let middle = input.len() / 2;
    let line_end = input[..middle].iter().rposition(|byte| *byte == b'\n');
    let (first, rest) = input.split_at(line_end.map_or(0, |position| position + 1));
    decoder.begin_file();
    let in_pieces = decoder
        .decode_piece(first)
        .and_then(|()| decoder.decode_piece(rest))
        .and_then(|()| decoder.finish());
    assert_eq!(decoded.is_ok(), in_pieces.is_ok());
    if let (Ok(whole), Ok(in_pieces)) = (&decoded, &in_pieces) {
        assert_eq!(counts(whole), counts(in_pieces));
    }
    // actions that are skipped do not affect the others
    let mut fewer = ActionDecoder::new(ActionSelection {
        control: true,
        ..ActionSelection::default()
    });
    let partly = fewer.decode(input).and_then(|()| fewer.finish());
    if let (Ok(all), Ok(part)) = (&decoded, &partly) {
        assert_eq!(all.protocols, part.protocols);
        assert_eq!(all.metadatas, part.metadatas);
        assert_eq!(all.transactions, part.transactions);
    }
    feature(&decoded.map(|batch| counts(&batch)))
}

/// Returns the numbers of actions of each kind as bits.
fn counts(batch: &ActionBatch) -> u64 {
    let rows = |side: &Option<FileActions>| {
        side.as_ref()
            .map_or(0, |side| side.rows.num_rows() as u64)
            .min(7)
    };
    let control = batch.protocols.len()
        + batch.metadatas.len() * 2
        + batch.transactions.len() * 4
        + batch.domains.len() * 8;
    rows(&batch.adds)
        | rows(&batch.removes) << 3
        | rows(&batch.cdcs) << 6
        | (control as u64 & 0xFF) << 9
}

pub const HINTS: Target = Target {
    name: "hints",
    words: &[
        b"\"version\":",
        b"\"checksum\":\"",
        b"-1",
        b"1e400",
        b"{\"a\":",
        b"[",
        b"\\u0000",
        b"null",
    ],
    memory: |bytes| (1 << 20) + bytes * 400,
    run: run_hints,
};

fn run_hints(input: &[u8]) -> u64 {
    feature(&LastCheckpoint::parse(input).map(|hint| hint.version & !ACCEPTED))
}

pub const CHECKSUMS: Target = Target {
    name: "checksums",
    words: &[
        b"\"allFiles\":[",
        b"\"numFiles\":",
        b"{\"path\":\"",
        b"-1",
        b"1e400",
        b"[[",
        b"\n",
        b"null",
    ],
    memory: |bytes| (2 << 20) + bytes * 600,
    run: run_checksums,
};

fn run_checksums(input: &[u8]) -> u64 {
    let parsed = VersionChecksum::parse(input);
    feature(&parsed.map(|checksum| {
        let files = checksum.all_files.as_ref().map(|all| {
            // the number of rows is the same
            all.rows()
                .map(|rows| assert_eq!(rows.num_rows() as u64, all.count))
                .is_ok()
        });
        let known = [
            checksum.num_files.is_some(),
            checksum.protocol.is_some(),
            checksum.metadata.is_some(),
            checksum.set_transactions.is_some(),
            checksum.file_size_histogram.is_some(),
            files.is_some(),
            files == Some(true),
        ];
        known
            .iter()
            .fold(0, |bits, bit| bits << 1 | u64::from(*bit))
    }))
}

/// Resolved paths are relative, without empty components, `.` and `..`.
pub const PATHS: Target = Target {
    name: "paths",
    words: &[
        b"../",
        b"%2e",
        b"%2F",
        b"%00",
        b"%25",
        b"//",
        b"file:",
        b"s3://b/t/",
        b"/t/",
        b"..",
        b"\\",
        b"\xC3\xA4",
        b"@",
        b":",
    ],
    memory: |bytes| (1 << 20) + bytes * 200,
    run: run_paths,
};

static RESOLVERS: LazyLock<Vec<PathResolver>> = LazyLock::new(|| {
    let roots = [
        "/t",
        "s3://b/t",
        "abfss://c@x.dfs.core.windows.net/t",
        "https://h/c/t",
    ];
    let resolver = |root| PathResolver::new(&Location::parse(root).unwrap(), &[]);
    roots.map(resolver).to_vec()
});

fn run_paths(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    let mut outcome = 0;
    for resolver in &*RESOLVERS {
        for directory in ["", "_delta_log/_sidecars"] {
            let resolved = resolver.resolve(directory, &text);
            if let Ok(path) = &resolved {
                assert!(
                    !path.starts_with('/') && !path.contains('\0'),
                    "{text:?}: {path:?}"
                );
                let is_special = |part: &str| matches!(part, "" | "." | "..");
                assert!(!path.split('/').any(is_special), "{text:?}: {path:?}");
                outcome |= ACCEPTED;
            }
            outcome =
                (outcome & ACCEPTED) | ((outcome << 7 ^ feature(&resolved.map(|_| 1))) & !ACCEPTED);
        }
    }
    outcome
}
