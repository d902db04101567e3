package deltareplay;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.ExposesMetadataColumns;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

import scala.collection.Iterator;
import scala.collection.mutable.ListBuffer;

/**
 * A union of projections of file scans that exposes Spark's hidden column _metadata.
 *
 * Above other unions, the column cannot be selected. If a query does not select it, this is a union
 * like any other. For the compiler and the placeholder SEQ, see SnapshotFiles.java.
 */
public class Union extends org.apache.spark.sql.catalyst.plans.logical.Union
        implements ExposesMetadataColumns {
    public Union(SEQ children, boolean byName, boolean allowMissingCol) {
        super(children, byName, allowMissingCol);
    }

    /** The union with the column in each projection; null if one of the scans does not have it. */
    private LogicalPlan withColumn() {
        ListBuffer projections = new ListBuffer();
        for (Iterator children = this.children().iterator(); children.hasNext();) {
            Object child = children.next();
            Object metadata = child instanceof Project ? metadataOf(((Project) child).child()) : null;
            if (metadata == null) {
                return null;
            }
            ListBuffer columns = new ListBuffer();
            columns.appendAll(((Project) child).projectList());
            columns.append(metadata);
            projections.append(new Project(columns.toList(), ((Project) child).child()));
        }
        return new org.apache.spark.sql.catalyst.plans.logical.Union(
                projections.toList(), this.byName(), this.allowMissingCol());
    }

    private static Object metadataOf(LogicalPlan plan) {
        for (Iterator columns = plan.metadataOutput().iterator(); columns.hasNext();) {
            Attribute column = (Attribute) columns.next();
            // Spark renames the column if the table has one of that name; the key has the original
            if (column.metadata().contains("__metadata_col")
                    && column.metadata().getString("__metadata_col").equals("_metadata")) {
                return column;
            }
        }
        return null;
    }

    public SEQ metadataOutput() {
        LogicalPlan union = this.withColumn();
        return union == null ? super.metadataOutput() : (SEQ) union.output().takeRight(1);
    }

    public LogicalPlan withMetadataColumns() {
        LogicalPlan union = this.withColumn();
        return union == null ? this : union;
    }

    public org.apache.spark.sql.catalyst.plans.logical.Union withNewChildrenInternal(
            scala.collection.immutable.IndexedSeq children) {
        return new Union(children, this.byName(), this.allowMissingCol());
    }
}
