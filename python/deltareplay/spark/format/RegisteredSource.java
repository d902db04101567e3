package deltareplay;

import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.sources.DataSourceRegister;

/**
 * A format in Python that every thread and session of the driver finds by its name.
 *
 * Spark looks formats in Python up in the session that is active in the thread, and formats of the
 * JVM in its class path. Compiled on the driver for each name, which stands for NAME and CLASS.
 */
public class CLASS extends PythonDataSourceV2 implements DataSourceRegister {
    /** The format of the session that registered it last, for sessions that have not. */
    public static volatile UserDefinedPythonDataSource registered;

    public String shortName() {
        return "NAME";
    }

    public UserDefinedPythonDataSource source() {
        try {
            return super.source();
        } catch (Exception missing) { // in this session
            return registered;
        }
    }
}
