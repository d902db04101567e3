"""The error of each table that must be refused."""

from __future__ import annotations

import deltareplay as dr

CLASSES: dict[str, type[dr.DeltaReplayError] | tuple[type[dr.DeltaReplayError], ...]] = {
    "deltars-data-err-logs-table-c": dr.CorruptTableError,
    "deltars-data-err-logs-table-e": dr.UnsupportedFeatureError,
    "deltars-data-err-logs-table-h": dr.UnsupportedFeatureError,
    "deltars-simple-table-features": dr.UnsupportedFeatureError,
    "duckdb-null-constraints-lists": dr.CorruptTableError,
    "golden-deltalog-invalid-protocol-version": dr.UnsupportedFeatureError,
    "golden-deltalog-state-reconstruction-from-checkpoint-missing-protocol": dr.CorruptTableError,
    "golden-deltalog-state-reconstruction-without-protocol": dr.CorruptTableError,
    "golden-versions-not-contiguous": dr.CorruptTableError,
    "javakernel-bench-basic-catalog-managed": dr.UnsupportedFeatureError,
    "kernelrs-catalog-managed-0": dr.UnsupportedFeatureError,
    "made-error-checkpoint-corrupt-log-cleaned": dr.CorruptTableError,
    "made-error-column-mapping-mode-unknown": (dr.UnsupportedFeatureError, dr.CorruptTableError),
    "made-error-empty-delta-log": dr.TableNotFoundError,
    "made-error-first-commits-missing-no-checkpoint": dr.CorruptTableError,
    "made-error-missing-commit-in-the-middle": dr.CorruptTableError,
    "made-error-no-metadata": dr.CorruptTableError,
    "made-error-schema-string-invalid": dr.CorruptTableError,
    "made-error-truncated-json-last-commit": dr.CorruptTableError,
    "made-error-unknown-reader-feature": dr.UnsupportedFeatureError,
}
