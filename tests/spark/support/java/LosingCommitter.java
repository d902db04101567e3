package deltareplay;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.parquet.hadoop.ParquetOutputCommitter;

/** Halts its executor once, when a task has committed its files and the driver does not know it. */
public final class LosingCommitter extends ParquetOutputCommitter {
  public LosingCommitter(org.apache.hadoop.fs.Path output, TaskAttemptContext context)
      throws IOException {
    super(output, context);
  }

  @Override
  public void commitTask(TaskAttemptContext context) throws IOException {
    super.commitTask(context);
    try {
      Files.createFile(Path.of(context.getConfiguration().get("deltareplay.lost")));
    } catch (FileAlreadyExistsException halted) {
      return;
    }
    Runtime.getRuntime().halt(137);
  }
}
