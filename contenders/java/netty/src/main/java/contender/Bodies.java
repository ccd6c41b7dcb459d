package contender;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** The texts of several lengths in $FILES. */
final class Bodies {
  private Bodies() {}

  /** By their paths, read once. */
  static Map<String, byte[]> read() throws IOException {
    Map<String, byte[]> bodies = new HashMap<>();
    try (var files = Files.newDirectoryStream(Path.of(System.getenv("FILES"), "body"))) {
      for (Path file : files) {
        bodies.put("/body/" + file.getFileName(), Files.readAllBytes(file));
      }
    }
    return bodies;
  }
}
