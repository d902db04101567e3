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
 * Puts commits on a local disk so that other processes may write too: whole files, published by a
 * hard link, which fails where the name is taken. The log store that delta-spark has for local disks
 * looks, and then renames; a commit that comes in between is overwritten.
 */
public class LinkLogStore extends LocalLogStore {
  private static final AtomicInteger PUBLISHED = new AtomicInteger();
  private static final AtomicInteger TAKEN = new AtomicInteger();

  public LinkLogStore(Configuration configuration) {
    super(configuration);
  }

  /** How many commits it has put. */
  public static int published() {
    return PUBLISHED.get();
  }

  /** How often another writer had the version first. */
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
    Path whole = target.resolveSibling("." + target.getFileName() + "." + UUID.randomUUID() + ".tmp");
    StringBuilder content = new StringBuilder();
    lines.forEachRemaining(line -> content.append(line).append('\n'));
    try {
      Files.write(whole, content.toString().getBytes(StandardCharsets.UTF_8));
      Files.createLink(target, whole);
      PUBLISHED.incrementAndGet();
    } catch (FileAlreadyExistsException taken) {
      TAKEN.incrementAndGet();
      throw taken;
    } finally {
      Files.deleteIfExists(whole);
    }
  }
}
