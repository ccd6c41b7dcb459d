import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executors;

/** The JDK's own server: one thread that selects, and one for each connection that is answered. */
public class Server {
    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[1]);
        var address = arguments.length > 2 ? new InetSocketAddress(arguments[2], port) : new InetSocketAddress(port);
        var server = HttpServer.create(address, 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", exchange -> {
            byte[] body = exchange.getRequestMethod().equals("POST")
                ? exchange.getRequestBody().readAllBytes()
                : Files.readAllBytes(Path.of(arguments[0], exchange.getRequestURI().getPath()));
            boolean none = exchange.getRequestMethod().equals("HEAD");
            exchange.sendResponseHeaders(200, none ? -1 : body.length);
            if (!none) {
                exchange.getResponseBody().write(body);
            }
            exchange.close();
        });
        server.start();
    }
}
