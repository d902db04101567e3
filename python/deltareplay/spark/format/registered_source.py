"""Registration of Python formats for every thread and session of the driver.

Spark looks up Python formats in the session that is active in a thread of the JVM: other threads of
Python have none, and sessions of ``newSession()`` know no formats. Formats of the JVM are looked up
in the class path, so a class there, ``RegisteredSource.java``, represents the Python format; it is
compiled by the compiler that Spark uses for generated code. Spark Connect does not need this: the
server runs each call in the session of its client.
"""

from __future__ import annotations

import tempfile
import threading
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from deltareplay._support.warnings import warn
from deltareplay.spark.session import internals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource

_SERVICE = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"

#: Class loaders of Spark to which classes can be added.
_MUTABLE_LOADERS = (
    "org.apache.spark.util.MutableURLClassLoader",
    "org.apache.spark.util.ChildFirstURLClassLoader",
)

_lock = threading.Lock()

#: The formats by name, and their classes, by the gateway to the JVM.
_formats: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
_classes: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def register(spark: SparkSession, source: type[DataSource]) -> None:
    """Register a format with a classic session, for all threads and sessions."""
    name = source.name()
    gateway = internals.gateway(spark)
    manager = internals.java_session(spark).sessionState().dataSourceManager()
    with _lock:
        formats = _formats.setdefault(gateway, {})
        if name in formats and not manager.dataSourceExists(name):
            # a name in the class path can be registered only in a session that knows it already
            manager.registerDataSource(name, formats[name])
        spark.dataSource.register(source)
        formats[name] = manager.lookupDataSource(name)
        classes = _classes.setdefault(gateway, {})
        if name not in classes:
            try:
                classes[name] = _class(gateway.jvm, name)
            except Exception as cause:  # a modified Spark, or a platform that restricts it
                warn(
                    f"Spark will find the format {name} in this thread and session only, because "
                    f"its class path takes no class ({internals.first_line(cause)}): use the "
                    "functions of deltareplay.spark in other threads"
                )
                return
        classes[name].getField("registered").set(None, formats[name])


def _class(jvm: Any, name: str) -> Any:
    """Compile the class of a format, and add it to the class path of all threads."""
    class_name = f"Registered{name.capitalize()}"
    java = resources.files(__package__).joinpath("RegisteredSource.java")
    source = java.read_text(encoding="utf-8").replace("CLASS", class_name).replace("NAME", name)
    loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    while loader.getClass().getName() not in _MUTABLE_LOADERS:
        loader = loader.getParent()
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    # Spark deletes it when the JVM exits
    directory = jvm.org.apache.spark.util.Utils.createTempDir(tempfile.gettempdir(), "deltareplay")
    root = Path(directory.getPath())
    for path, content in (
        (f"deltareplay/{class_name}.class", compiler.getBytecodes()[f"deltareplay.{class_name}"]),
        (_SERVICE, f"deltareplay.{class_name}\n".encode()),
    ):
        (root / path).parent.mkdir(parents=True)
        (root / path).write_bytes(content)
    loader.addURL(directory.toURI().toURL())
    return loader.loadClass(f"deltareplay.{class_name}")
