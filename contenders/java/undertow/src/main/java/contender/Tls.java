package contender;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** A certificate and its key from files in PEM form, which the JDK takes only from a key store. */
final class Tls {
  private static final char[] NO_PASSWORD = {};

  private Tls() {}

  /** What secures the connections, where a certificate is given; else null. */
  static SSLContext context() throws IOException, GeneralSecurityException {
    String certificate = System.getenv("CERT");
    if (certificate == null || certificate.isEmpty()) {
      return null;
    }
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    PrivateKey key = key(Path.of(System.getenv("KEY")));
    store.setKeyEntry("server", key, NO_PASSWORD, chain(Path.of(certificate)));
    KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    managers.init(store, NO_PASSWORD);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(managers.getKeyManagers(), null, null);
    return context;
  }

  private static Certificate[] chain(Path file) throws IOException, GeneralSecurityException {
    try (var input = Files.newInputStream(file)) {
      return CertificateFactory.getInstance("X.509").generateCertificates(input).toArray(Certificate[]::new);
    }
  }

  private static PrivateKey key(Path file) throws IOException, GeneralSecurityException {
    String base64 = Files.readString(file).replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
    return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(base64)));
  }
}
