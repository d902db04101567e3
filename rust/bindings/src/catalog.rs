//! A catalog implemented in Python: any object with the methods of `deltareplay.catalogs.Catalog`.
//!
//! Its methods are called on the thread that needs the catalog, which may be one of the core's own and holds the
//! interpreter lock meanwhile. An exception from `deltareplay.exceptions` is raised unchanged by the call that
//! needed the catalog; any other `Exception` becomes the cause of the error.

use std::fmt;

use bytes::Bytes;
use deltareplay_core::error::{Error, ErrorKind, Result};
use deltareplay_core::log::Catalog;
use deltareplay_core::log::catalog::{
    Content, LogTail, Permission, Ratification, RatifiedCommit, StagedCommit,
};
use deltareplay_core::spec::variant_name::variant_named;
use deltareplay_core::storage::{Access, Credentials, Vending};
use pyo3::exceptions::{PyException, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

use crate::arguments;
use crate::exceptions::Raised;
use crate::gate;
use crate::metadata::PyMetadata;
use crate::protocol::PyProtocol;

/// A Python object as the core's catalog.
pub(crate) struct PyCatalog {
    object: Py<PyAny>,
    class: String,
}

impl fmt::Debug for PyCatalog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.class)
    }
}

#[derive(FromPyObject)]
struct Tail {
    commits: Vec<Ratified>,
    max_version: Option<u64>,
    table_id: Option<String>,
    allowed: Vec<String>,
}

#[derive(FromPyObject)]
struct Ratified {
    version: u64,
    file_name: Option<String>,
    size: Option<u64>,
    modification_time: Option<i64>,
    content: Option<Vec<u8>>,
}

#[derive(FromPyObject)]
struct VendedCredentials<'py> {
    storage_options: Bound<'py, PyMapping>,
    expires_at: Option<i64>,
}

impl PyCatalog {
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            class: object.get_type().name()?.to_string(),
            object: object.clone().unbind(),
        })
    }

    /// Calls a method and converts its result.
    fn call<T>(
        &self,
        method: &str,
        call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T> {
        let result = Python::try_attach(|py| {
            let object = self.object.bind(py);
            let answer = call(object).map_err(|error| self.raised(py, method, error))?;
            read(&answer).map_err(|error| {
                let message = format!(
                    "{}.{method} must return what deltareplay.catalogs.Catalog documents: {error}",
                    self.class
                );
                Error::invalid("catalog.answer", message)
            })
        });
        result.unwrap_or_else(|| Err(Error::interrupted()))
    }

    /// Converts an exception of a method to an error whose kind tells a commit what to do.
    fn raised(&self, py: Python<'_>, method: &str, error: PyErr) -> Error {
        if !error.is_instance_of::<PyException>(py) {
            gate::keep(error);
            return Error::interrupted();
        }
        let kind = match Raised::kind(py, &error) {
            Some(kind) => kind,
            None if error.is_instance_of::<PyOSError>(py) => ErrorKind::Storage,
            None => ErrorKind::InvalidArgument,
        };
        let message = format!("{}.{method} failed: {error}", self.class);
        Error::new(kind, "catalog.failed", message).because(Raised(error))
    }
}

impl Vending for PyCatalog {
    fn credentials(&self, access: Access) -> Result<Option<Credentials>> {
        let operation = match access {
            Access::Read => "READ",
            Access::ReadWrite => "READ_WRITE",
        };
        let read = |answer: &Bound<'_, PyAny>| {
            if answer.is_none() {
                return Ok(None);
            }
            let vended: VendedCredentials<'_> = answer.extract()?;
            let options = PyDict::new(answer.py());
            options.update(&vended.storage_options)?;
            Ok(Some(Credentials {
                storage_options: arguments::storage_options(Some(&options))?,
                expires_at: vended.expires_at,
            }))
        };
        self.call(
            "credentials",
            |object| object.call_method1("credentials", (operation,)),
            read,
        )
    }
}

impl Catalog for PyCatalog {
    fn load(&self) -> Result<LogTail> {
        let tail: Tail = self.call(
            "load",
            |object| object.call_method0("load"),
            |it| it.extract(),
        )?;
        let commits = tail.commits.into_iter().map(commit_of);
        Ok(LogTail {
            commits: commits.collect::<Result<_>>()?,
            max_version: tail.max_version,
            table_id: tail.table_id,
            allowed: tail
                .allowed
                .iter()
                .map(|name| permission(name))
                .collect::<Result<_>>()?,
        })
    }

    fn commit(&self, staged: &StagedCommit) -> Result<Ratification> {
        let answer: String = self.call(
            "commit",
            |object| object.call_method1("commit", (staged_out(object.py(), staged)?,)),
            |answer| answer.extract(),
        )?;
        variant_named(&answer).ok_or_else(|| {
            let message = format!(
                "{}.commit returned {answer:?}: it must return \"ratified\", \"taken\" or \"publish-first\"",
                self.class
            );
            Error::invalid("catalog.answer", message).at_version(staged.version)
        })
    }

    fn published(&self, version: u64) -> Result<()> {
        self.call(
            "published",
            |object| object.call_method1("published", (version,)),
            |_| Ok(()),
        )
    }
}

/// Returns a `deltareplay.catalogs.StagedCommit`.
fn staged_out<'py>(py: Python<'py>, staged: &StagedCommit) -> PyResult<Bound<'py, PyAny>> {
    let arguments = PyDict::new(py);
    arguments.set_item("version", staged.version)?;
    arguments.set_item("file_name", &staged.file_name)?;
    arguments.set_item("size", staged.size)?;
    arguments.set_item("modification_time", staged.modification_time)?;
    arguments.set_item("timestamp", staged.timestamp)?;
    let protocol = staged.protocol.clone().map(PyProtocol);
    arguments.set_item("protocol", protocol)?;
    let metadata = staged.metadata.clone().map(PyMetadata);
    arguments.set_item("metadata", metadata)?;
    let domains = PyDict::new(py);
    for domain in &staged.domains {
        let configuration = (!domain.removed).then_some(&domain.configuration);
        domains.set_item(&domain.domain, configuration)?;
    }
    arguments.set_item("domain_metadata", domains)?;
    arguments.set_item("published_version", staged.published)?;
    let class = py.import("deltareplay.catalogs")?.getattr("StagedCommit")?;
    class.call((), Some(&arguments))
}

fn commit_of(commit: Ratified) -> Result<RatifiedCommit> {
    let content = match (commit.file_name, commit.content) {
        (Some(name), None) => Content::File {
            name,
            size: commit.size,
            modification_time: commit.modification_time,
        },
        (None, Some(bytes)) => Content::Inline(Bytes::from(bytes)),
        _ => {
            let message = "a ratified commit must have either a file name or its content";
            return Err(Error::invalid("catalog.answer", message).at_version(commit.version));
        }
    };
    Ok(RatifiedCommit {
        version: commit.version,
        content,
    })
}

fn permission(name: &str) -> Result<Permission> {
    let permission = Permission::ALL
        .into_iter()
        .find(|permission| permission.name() == name);
    permission.ok_or_else(|| {
        let names = Permission::ALL.map(Permission::name).join(", ");
        let message =
            format!("unknown permission {name:?} of the catalog: it must be one of {names}");
        Error::invalid("catalog.answer", message)
    })
}
