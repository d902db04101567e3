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
 * The files that a scan is left with, as Spark asks for them: nothing is listed, nothing is guessed.
 *
 * What is the same for all rows of a file (partition values, row ids) stands beside it as Spark has
 * the values of partition columns. Lives on the driver only; compiled there when first needed, by the
 * compiler that Spark itself carries. Written for that compiler: no type arguments, no lambdas. SEQ
 * stands for the collection that this Spark's Scala means by Seq.
 *
 * Two that hold the same files are equal: by that Spark finds what it has cached, and exchanges that
 * it can reuse.
 */
public final class SnapshotFiles implements FileIndex {

    private final Path root;
    private final StructType values;
    private final long expires; // ms since the epoch, of the credentials; 0 for never
    private final Map filesByValues = new LinkedHashMap(); // InternalRow to ArrayList of FileStatus
    private long bytes = 0L;
    private long digest = 0L; // of sizes and times: to Hadoop, files of one path are equal

    public SnapshotFiles(String root, StructType values, String expires) {
        this.root = new Path(root);
        this.values = values;
        this.expires = Long.parseLong(expires);
    }

    /** Adds files: an Arrow stream of path (whole, decoded), size, time in ms, then the values. */
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
        Object[] own = new Object[values.length()];
        for (int i = 0; i < own.length; i++) {
            if (!row.isNullAt(i + 3)) {
                Object value = row.get(i + 3, values.apply(i).dataType());
                own[i] = value instanceof UTF8String ? ((UTF8String) value).clone() : value;
            }
        }
        InternalRow key = new GenericInternalRow(own);
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
                + root + " have expired at " + java.time.Instant.ofEpochMilli(expires)
                + ": call read again, which asks the catalog for new ones");
        }
        Expression all = null;
        for (scala.collection.Iterator each = partitionFilters.iterator(); each.hasNext();) {
            Expression next = (Expression) each.next();
            all = all == null ? next : new And(all, next);
        }
        List attributes = new ArrayList();
        int[] places = all == null ? new int[0] : places(all, attributes);
        BasePredicate keeps = null;
        if (all != null) {
            keeps = Predicate$.MODULE$.create(all, seq(attributes));
            keeps.initialize(0);
        }
        List found = new ArrayList();
        for (Iterator each = filesByValues.entrySet().iterator(); each.hasNext();) {
            Map.Entry entry = (Map.Entry) each.next();
            InternalRow own = (InternalRow) entry.getKey();
            if (keeps == null || keeps.eval(chosen(own, places))) {
                FileStatus[] files =
                    (FileStatus[]) ((List) entry.getValue()).toArray(new FileStatus[0]);
                found.add(PartitionDirectory.apply(own, files));
            }
        }
        return seq(found);
    }

    /** Where the columns of an expression stand among the values; the columns go to a list. */
    private int[] places(Expression expression, List attributes) {
        for (scala.collection.Iterator each = expression.references().iterator(); each.hasNext();) {
            attributes.add(each.next());
        }
        int[] places = new int[attributes.size()];
        for (int i = 0; i < places.length; i++) {
            places[i] = -1;
            for (int j = 0; j < values.length(); j++) {
                if (values.apply(j).name().equalsIgnoreCase(((Attribute) attributes.get(i)).name())) {
                    places[i] = j;
                }
            }
        }
        return places;
    }

    private InternalRow chosen(InternalRow own, int[] places) {
        Object[] chosen = new Object[places.length];
        for (int i = 0; i < places.length; i++) {
            chosen[i] = own.get(places[i], values.apply(places[i]).dataType());
        }
        return new GenericInternalRow(chosen);
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
        for (Iterator each = filesByValues.values().iterator(); each.hasNext();) {
            for (Iterator file = ((List) each.next()).iterator(); file.hasNext();) {
                names.add(((FileStatus) file.next()).getPath().toUri().toString());
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
