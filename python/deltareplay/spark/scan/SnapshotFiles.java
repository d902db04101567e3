package deltareplay;

import java.io.ByteArrayInputStream;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The files of a scan as Spark's FileIndex, without listing directories.
 *
 * Values that are the same for all rows of a file (partition values, first row ids) are passed as
 * values of partition columns. The class exists on the driver only, and is compiled there by the
 * compiler that Spark includes, which supports neither type arguments nor lambdas. SEQ is replaced
 * by the class that Seq is in Spark's version of Scala.
 *
 * Indexes with the same files are equal, so that Spark finds cached data and reuses exchanges.
 */
public final class SnapshotFiles implements FileIndex {

    private final Path root;
    private final StructType values;
    private final long expires; // ms since the epoch, of the credentials; 0 for never
    private final Map filesByValues = new LinkedHashMap(); // InternalRow to ArrayList of FileStatus
    private long bytes = 0L;
    private long digest = 0L; // of sizes and times: Hadoop compares files by their paths only

    public SnapshotFiles(String root, StructType values, String expires) {
        this.root = new Path(root);
        this.values = values;
        this.expires = Long.parseLong(expires);
    }

    /** Adds files: an Arrow stream of full decoded path, size, time in ms, and the values. */
    public void add(byte[] stream) throws Exception {
        ArrowStreamReader reader =
            new ArrowStreamReader(new ByteArrayInputStream(stream), ArrowUtils.rootAllocator());
        try {
            VectorSchemaRoot batch = reader.getVectorSchemaRoot();
            while (reader.loadNextBatch()) {
                add(batch);
            }
        } finally {
            reader.close();
        }
    }

    private void add(VectorSchemaRoot batch) {
        List fields = batch.getFieldVectors();
        ColumnVector[] columns = new ColumnVector[fields.size()];
        for (int i = 0; i < columns.length; i++) {
            columns[i] = new ArrowColumnVector((FieldVector) fields.get(i));
        }
        ColumnarBatch rows = new ColumnarBatch(columns, batch.getRowCount());
        for (int number = 0; number < batch.getRowCount(); number++) {
            InternalRow row = rows.getRow(number);
            long size = row.getLong(1);
            long time = row.getLong(2);
            Path path = new Path(row.getUTF8String(0).toString());
            bytes += size;
            digest = (digest * 31L + size) * 31L + time;
            filesOf(row).add(new FileStatus(size, false, 1, 0L, time, path));
        }
    }

    private List filesOf(InternalRow row) {
        Object[] fileValues = new Object[values.length()];
        for (int i = 0; i < fileValues.length; i++) {
            if (!row.isNullAt(i + 3)) {
                Object value = row.get(i + 3, values.apply(i).dataType());
                fileValues[i] = value instanceof UTF8String ? ((UTF8String) value).clone() : value;
            }
        }
        InternalRow key = new GenericInternalRow(fileValues);
        List files = (List) filesByValues.get(key);
        if (files == null) {
            files = new ArrayList();
            filesByValues.put(key, files);
        }
        return files;
    }

    public SEQ listFiles(SEQ partitionFilters, SEQ dataFilters) {
        if (expires != 0L && System.currentTimeMillis() > expires) {
            throw new IllegalArgumentException("the credentials with which this DataFrame reads "
                + root + " expired at " + java.time.Instant.ofEpochMilli(expires)
                + ": call read again to get new ones from the catalog");
        }
        Expression condition = null;
        for (scala.collection.Iterator filters = partitionFilters.iterator(); filters.hasNext();) {
            Expression filter = (Expression) filters.next();
            condition = condition == null ? filter : new And(condition, filter);
        }
        List attributes = new ArrayList();
        int[] indices = condition == null ? new int[0] : indices(condition, attributes);
        BasePredicate predicate = null;
        if (condition != null) {
            predicate = Predicate$.MODULE$.create(condition, seq(attributes));
            predicate.initialize(0);
        }
        List directories = new ArrayList();
        for (Iterator entries = filesByValues.entrySet().iterator(); entries.hasNext();) {
            Map.Entry entry = (Map.Entry) entries.next();
            InternalRow fileValues = (InternalRow) entry.getKey();
            if (predicate == null || predicate.eval(projected(fileValues, indices))) {
                FileStatus[] files =
                    (FileStatus[]) ((List) entry.getValue()).toArray(new FileStatus[0]);
                directories.add(PartitionDirectory.apply(fileValues, files));
            }
        }
        return seq(directories);
    }

    /** The indices among the values of an expression's columns, which are added to a list. */
    private int[] indices(Expression expression, List attributes) {
        for (scala.collection.Iterator columns = expression.references().iterator();
                columns.hasNext();) {
            attributes.add(columns.next());
        }
        int[] indices = new int[attributes.size()];
        for (int i = 0; i < indices.length; i++) {
            indices[i] = -1;
            for (int j = 0; j < values.length(); j++) {
                if (values.apply(j).name().equalsIgnoreCase(((Attribute) attributes.get(i)).name())) {
                    indices[i] = j;
                }
            }
        }
        return indices;
    }

    private InternalRow projected(InternalRow fileValues, int[] indices) {
        Object[] projected = new Object[indices.length];
        for (int i = 0; i < indices.length; i++) {
            projected[i] = fileValues.get(indices[i], values.apply(indices[i]).dataType());
        }
        return new GenericInternalRow(projected);
    }

    private static SEQ seq(List list) {
        return (SEQ) ((scala.collection.mutable.Buffer)
            scala.collection.JavaConverters.asScalaBufferConverter(list).asScala()).toSeq();
    }

    public SEQ rootPaths() {
        List roots = new ArrayList();
        roots.add(root);
        return seq(roots);
    }

    public String[] inputFiles() {
        List names = new ArrayList();
        for (Iterator groups = filesByValues.values().iterator(); groups.hasNext();) {
            for (Iterator files = ((List) groups.next()).iterator(); files.hasNext();) {
                names.add(((FileStatus) files.next()).getPath().toUri().toString());
            }
        }
        return (String[]) names.toArray(new String[0]);
    }

    public void refresh() {
        // a version never changes
    }

    public long sizeInBytes() {
        return bytes;
    }

    public StructType partitionSchema() {
        return values;
    }

    public boolean equals(Object other) {
        if (!(other instanceof SnapshotFiles)) {
            return false;
        }
        SnapshotFiles that = (SnapshotFiles) other;
        return digest == that.digest && bytes == that.bytes && root.equals(that.root)
            && values.equals(that.values) && filesByValues.equals(that.filesByValues);
    }

    public int hashCode() {
        return root.hashCode() * 31 + (int) (digest ^ (digest >>> 32));
    }

    public String toString() {
        return "SnapshotFiles(" + root + ")";
    }
}
