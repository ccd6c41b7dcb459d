package contender;

import com.github.mustachejava.DefaultMustacheFactory;
import com.github.mustachejava.Mustache;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.ServerWebSocket;
import io.vertx.core.http.ServerWebSocketHandshake;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.PemKeyCertOptions;
import java.io.File;
import java.io.StringWriter;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** One instance of the verticle for each CPU given, each with an event loop of its own, all on one port. */
public final class Server extends VerticleBase {
  private static final CharSequence SERVER = HttpHeaders.createOptimized("vert.x");
  private static final CharSequence TEXT = HttpHeaders.createOptimized("text/plain");
  private static final CharSequence JSON = HttpHeaders.createOptimized("application/json");
  private static final CharSequence HTML = HttpHeaders.createOptimized("text/html; charset=utf-8");
  /** RFC 9110 §5.6.7: a day has two digits, which RFC_1123_DATE_TIME gives it only from the tenth on. */
  private static final DateTimeFormatter IMF_FIXDATE =
      DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH);
  /** The longest message of a WebSocket, as with the other contenders. */
  private static final int MESSAGE_BYTES = 1 << 20;

  private static final Mustache PAGE = new DefaultMustacheFactory().compile("fortunes.mustache");

  private final Map<String, Buffer> bodies = new HashMap<>();
  private CharSequence date;
  private Store store;

  public static void main(String[] arguments) {
    int workers = Integer.parseInt(System.getenv("WORKERS"));
    Vertx.vertx(new VertxOptions().setEventLoopPoolSize(workers))
        .deployVerticle(Server::new, new DeploymentOptions().setInstances(workers))
        .onFailure(Server::fail);
  }

  private static void fail(Throwable cause) {
    cause.printStackTrace();
    System.exit(1);
  }

  @Override
  public Future<?> start() {
    readBodies();
    renewDate();
    vertx.setPeriodic(1000, timer -> renewDate());
    return openStore().compose(opened -> listen());
  }

  /** Texts of several lengths, by their paths. */
  private void readBodies() {
    for (String file : vertx.fileSystem().readDirBlocking(System.getenv("FILES") + "/body")) {
      bodies.put("/body/" + new File(file).getName(), vertx.fileSystem().readFileBlocking(file));
    }
  }

  /** Most workloads need no database: without one its routes do not exist. */
  private Future<Store> openStore() {
    String url = System.getenv("DATABASE_URL");
    if (url == null) {
      return Future.succeededFuture();
    }
    return Store.open(vertx, url).onSuccess(opened -> store = opened);
  }

  private Future<?> listen() {
    return vertx
        .createHttpServer(options())
        .requestHandler(this::handle)
        .webSocketHandshakeHandler(Server::open)
        .webSocketHandler(Server::echo)
        .listen(Integer.parseInt(System.getenv("PORT")), System.getenv("ADDRESS"));
  }

  /** Over TLS where a certificate is given. The client chooses the version of HTTP, over TLS (ALPN) and without. */
  private static HttpServerOptions options() {
    var options =
        new HttpServerOptions()
            .setMaxWebSocketFrameSize(MESSAGE_BYTES)
            .setMaxWebSocketMessageSize(MESSAGE_BYTES);
    String certificate = System.getenv("CERT");
    if (certificate == null || certificate.isEmpty()) {
      return options;
    }
    var pair = new PemKeyCertOptions().setCertPath(certificate).setKeyPath(System.getenv("KEY"));
    return options.setSsl(true).setUseAlpn(true).setKeyCertOptions(pair);
  }

  private static void open(ServerWebSocketHandshake handshake) {
    if (handshake.path().equals("/ws")) {
      handshake.accept();
    } else {
      handshake.reject(404);
    }
  }

  /** Gives every message of a WebSocket back. */
  private static void echo(ServerWebSocket socket) {
    socket.textMessageHandler(socket::writeTextMessage);
    socket.binaryMessageHandler(socket::writeBinaryMessage);
  }

  /** Vert.x sends no Date by itself; formatting it once a second is what its users do. */
  private void renewDate() {
    date = HttpHeaders.createOptimized(IMF_FIXDATE.format(ZonedDateTime.now(ZoneOffset.UTC)));
  }

  private void handle(HttpServerRequest request) {
    if (request.method() != HttpMethod.GET) {
      notFound(request);
      return;
    }
    switch (request.path()) {
      case "/":
        answer(request, TEXT).end("hello");
        break;
      case "/plaintext":
        answer(request, TEXT).end("Hello, World!");
        break;
      case "/byte":
        answer(request, TEXT).end("!");
        break;
      case "/json":
        answer(request, JSON).end(new JsonObject().put("message", "Hello, World!").toBuffer());
        break;
      default:
        Buffer body = bodies.get(request.path());
        if (body != null) {
          answer(request, TEXT).end(body);
        } else {
          askLeniently(request);
        }
    }
  }

  private void askLeniently(HttpServerRequest request) {
    try {
      ask(request);
    } catch (IllegalArgumentException malformed) { // a parameter with a broken percent escape
      answer(request, TEXT).setStatusCode(400).end("bad request");
    }
  }

  private void ask(HttpServerRequest request) {
    switch (store == null ? "" : request.path()) {
      case "/db":
        send(request, store.one().map(JsonObject::toBuffer));
        break;
      case "/queries":
        send(request, store.many(Store.count(request.getParam("queries"))).map(JsonArray::toBuffer));
        break;
      case "/updates":
        send(request, store.update(Store.count(request.getParam("queries"))).map(JsonArray::toBuffer));
        break;
      case "/cached-queries":
        answer(request, JSON).end(store.cached(Store.count(request.getParam("count"))).toBuffer());
        break;
      case "/fortunes":
        store
            .fortunes()
            .onSuccess(fortunes -> answer(request, HTML).end(page(fortunes)))
            .onFailure(cause -> failed(request, cause));
        break;
      default:
        notFound(request);
    }
  }

  private void send(HttpServerRequest request, Future<Buffer> body) {
    body.onSuccess(json -> answer(request, JSON).end(json)).onFailure(cause -> failed(request, cause));
  }

  private void failed(HttpServerRequest request, Throwable cause) {
    cause.printStackTrace();
    answer(request, TEXT).setStatusCode(500).end("the database failed");
  }

  private void notFound(HttpServerRequest request) {
    answer(request, TEXT).setStatusCode(404).end("not found");
  }

  private static String page(List<Store.Fortune> fortunes) {
    return PAGE.execute(new StringWriter(), Map.of("fortunes", fortunes)).toString();
  }

  private HttpServerResponse answer(HttpServerRequest request, CharSequence type) {
    var response = request.response();
    response
        .headers()
        .add(HttpHeaders.CONTENT_TYPE, type)
        .add(HttpHeaders.SERVER, SERVER)
        .add(HttpHeaders.DATE, date);
    return response;
  }
}
