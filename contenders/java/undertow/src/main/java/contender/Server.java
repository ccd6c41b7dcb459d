package contender;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.server.HttpHandler;
import io.undertow.server.handlers.PathHandler;
import io.undertow.util.Headers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLContext;

/** Undertow's core server with a path handler: one I/O thread for each CPU given. */
public final class Server {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  public static void main(String[] arguments) throws IOException, GeneralSecurityException {
    PathHandler routes =
        Handlers.path()
            .addExactPath("/", text("hello"))
            .addExactPath("/plaintext", text("Hello, World!"))
            .addExactPath("/byte", text("!"))
            .addExactPath("/json", json());
    Bodies.read().forEach((path, body) -> routes.addExactPath(path, text(body)));
    int port = Integer.parseInt(System.getenv("PORT"));
    String address = System.getenv("ADDRESS");
    SSLContext tls = Tls.context();
    String protocol = String.valueOf(System.getenv("PROTOCOL"));
    Undertow.Builder builder = Undertow.builder();
    (tls == null ? builder.addHttpListener(port, address) : builder.addHttpsListener(port, address, tls))
        .setIoThreads(Integer.parseInt(System.getenv("WORKERS")))
        .setServerOption(UndertowOptions.ALWAYS_SET_KEEP_ALIVE, false)
        .setServerOption(UndertowOptions.ENABLE_HTTP2, List.of("h2c", "h2").contains(protocol))
        .setHandler(Handlers.header(routes, "Server", "undertow"))
        .build()
        .start();
  }

  private static HttpHandler text(String body) {
    return text(body.getBytes(StandardCharsets.US_ASCII));
  }

  private static HttpHandler text(byte[] body) {
    ByteBuffer bytes = ByteBuffer.wrap(body);
    return exchange -> {
      exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/plain");
      exchange.getResponseSender().send(bytes.duplicate());
    };
  }

  private static HttpHandler json() {
    return exchange -> {
      exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "application/json");
      byte[] body = MAPPER.writeValueAsBytes(Map.of("message", "Hello, World!"));
      exchange.getResponseSender().send(ByteBuffer.wrap(body));
    };
  }
}
