package deltareplay;

import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.sources.DataSourceRegister;

/**
 * A format in Python that every thread and session of the driver finds by its name.
 *
 * Spark looks up formats in Python in the session that is active in the thread, and formats of the
 * JVM in the class path. The driver compiles this class for each format: NAME becomes the name of
 * the format, and CLASS that of the class.
 */
public class CLASS extends PythonDataSourceV2 implements DataSourceRegister {
    /** The format that was registered last, for sessions in which it is not registered. */
    public static volatile UserDefinedPythonDataSource registered;

    public String shortName() {
        return "NAME";
    }

    public UserDefinedPythonDataSource source() {
        try {
            return super.source();
        } catch (Exception notRegistered) {
            return registered;
        }
    }
}
