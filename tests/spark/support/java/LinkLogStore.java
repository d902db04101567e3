package deltareplay;

import io.delta.storage.LocalLogStore;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;

/**
 * Writes commits to a local disk that other processes write to as well: each file is complete when
 * a hard link publishes it, and the link fails if the version exists. delta-spark's own log store
 * for local disks checks for the version, then renames, and overwrites a commit in between.
 */
public class LinkLogStore extends LocalLogStore {
  private static final AtomicInteger PUBLISHED = new AtomicInteger();
  private static final AtomicInteger TAKEN = new AtomicInteger();

  public LinkLogStore(Configuration configuration) {
    super(configuration);
  }

  /** The number of commits published. */
  public static int published() {
    return PUBLISHED.get();
  }

  /** The number of commits whose version another writer had published. */
  public static int taken() {
    return TAKEN.get();
  }

  @Override
  public void write(
      org.apache.hadoop.fs.Path path,
      Iterator<String> lines,
      Boolean overwrite,
      Configuration configuration)
      throws IOException {
    if (overwrite) {
      super.write(path, lines, true, configuration);
      return;
    }
    Path target = new File(path.toUri().getPath()).toPath();
    String name = "." + target.getFileName() + "." + UUID.randomUUID() + ".tmp";
    Path complete = target.resolveSibling(name);
    StringBuilder content = new StringBuilder();
    lines.forEachRemaining(line -> content.append(line).append('\n'));
    try {
      Files.write(complete, content.toString().getBytes(StandardCharsets.UTF_8));
      Files.createLink(target, complete);
      PUBLISHED.incrementAndGet();
    } catch (FileAlreadyExistsException taken) {
      TAKEN.incrementAndGet();
      throw taken;
    } finally {
      Files.deleteIfExists(complete);
    }
  }
}
