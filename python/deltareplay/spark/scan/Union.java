package deltareplay;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.ExposesMetadataColumns;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

import scala.collection.Iterator;
import scala.collection.mutable.ListBuffer;

/**
 * A union of selects of files, which has Spark's column _metadata for those who name it.
 *
 * Spark hides that column from whatever is above a union. Where nobody names it, this is a union as
 * any other. Compiled on the driver, as SnapshotFiles.java, and written as that.
 */
public class Union extends org.apache.spark.sql.catalyst.plans.logical.Union
        implements ExposesMetadataColumns {
    public Union(SEQ children, boolean byName, boolean allowMissingCol) {
        super(children, byName, allowMissingCol);
    }

    /** The selects with the column, which Spark adds to what is below; null if one has none. */
    private LogicalPlan exposed() {
        ListBuffer selects = new ListBuffer();
        for (Iterator each = this.children().iterator(); each.hasNext();) {
            Object child = each.next();
            Object hidden = child instanceof Project ? hidden(((Project) child).child()) : null;
            if (hidden == null) {
                return null;
            }
            ListBuffer columns = new ListBuffer();
            columns.appendAll(((Project) child).projectList());
            columns.append(hidden);
            selects.append(new Project(columns.toList(), ((Project) child).child()));
        }
        return new org.apache.spark.sql.catalyst.plans.logical.Union(
                selects.toList(), this.byName(), this.allowMissingCol());
    }

    private static Object hidden(LogicalPlan plan) {
        for (Iterator each = plan.metadataOutput().iterator(); each.hasNext();) {
            Attribute column = (Attribute) each.next();
            // by its own name, where the column has another because of one that is called so
            if (column.metadata().contains("__metadata_col")
                    && column.metadata().getString("__metadata_col").equals("_metadata")) {
                return column;
            }
        }
        return null;
    }

    public SEQ metadataOutput() {
        LogicalPlan exposed = this.exposed();
        return exposed == null ? super.metadataOutput() : (SEQ) exposed.output().takeRight(1);
    }

    public LogicalPlan withMetadataColumns() {
        LogicalPlan exposed = this.exposed();
        return exposed == null ? this : exposed;
    }

    public org.apache.spark.sql.catalyst.plans.logical.Union withNewChildrenInternal(
            scala.collection.immutable.IndexedSeq children) {
        return new Union(children, this.byName(), this.allowMissingCol());
    }
}
