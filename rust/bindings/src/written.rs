//! Written checkpoints and sidecars, as Python values.

use deltareplay_core::derived::checkpoint::WrittenCheckpoint;
use deltareplay_core::derived::checkpoint::distributed::WrittenSidecar;
use deltareplay_core::spec::actions::Sidecar;

/// Path, actions, files, bytes, sidecars.
pub(crate) type PyCheckpoint = (String, u64, u64, u64, u64);

/// Path, bytes, modification time in milliseconds, files, tombstones.
pub(crate) type PySidecar = (String, i64, i64, u64, u64);

pub(crate) fn checkpoint_out(written: WrittenCheckpoint) -> PyCheckpoint {
    (
        written.path,
        written.num_actions,
        written.num_files,
        written.size_in_bytes,
        written.num_sidecars,
    )
}

pub(crate) fn sidecar_out(written: WrittenSidecar) -> PySidecar {
    (
        written.sidecar.path,
        written.sidecar.size_in_bytes,
        written.sidecar.modification_time,
        written.num_files,
        written.num_removes,
    )
}

pub(crate) fn sidecar_in(written: PySidecar) -> WrittenSidecar {
    let (path, size_in_bytes, modification_time, num_files, num_removes) = written;
    WrittenSidecar {
        sidecar: Sidecar {
            path,
            size_in_bytes,
            modification_time,
        },
        num_files,
        num_removes,
    }
}
