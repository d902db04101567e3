"""Java classes shipped as source and compiled on the driver when first needed.

The compiler is the one that Spark uses for generated code; executors never see these classes.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from deltareplay.spark.session import internals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The classes, by the gateway to the JVM and by name.
_compiled: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def compiled(spark: SparkSession, name: str) -> Any:
    """Return the class ``deltareplay.<name>``, compiled once per JVM."""
    gateway = internals.gateway(spark)
    classes = _compiled.setdefault(gateway, {})
    if name not in classes:
        jvm = gateway.jvm
        java = resources.files(__package__).joinpath(f"{name}.java")
        source = java.read_text(encoding="utf-8")
        is_scala_2_13 = jvm.scala.util.Properties.versionNumberString().startswith("2.13")
        sequence = f"scala.collection.{'immutable.' if is_scala_2_13 else ''}Seq"
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        session = internals.java_session(spark)
        compiler.setParentClassLoader(session.getClass().getClassLoader())
        compiler.cook(source.replace("SEQ", sequence))
        classes[name] = compiler.getClassLoader().loadClass(f"deltareplay.{name}")
    return classes[name]


def new(spark: SparkSession, name: str, *arguments: Any) -> Any:
    """Create an object of the class ``deltareplay.<name>`` by its only constructor."""
    gateway = internals.gateway(spark)
    array = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
    for index, argument in enumerate(arguments):
        array[index] = argument
    return compiled(spark, name).getConstructors()[0].newInstance(array)
