import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonObject;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** A server for the workloads hello and json: one event loop for each CPU given, all on one port. */
public final class Server extends VerticleBase {
  /** RFC 9110, section 5.6.7: the day always has two digits. */
  private static final DateTimeFormatter HTTP_DATE =
      DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH);

  private String date;

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
    renewDate();
    vertx.setPeriodic(1000, timer -> renewDate());
    return vertx
        .createHttpServer()
        .requestHandler(this::handle)
        .listen(Integer.parseInt(System.getenv("PORT")), System.getenv("ADDRESS"));
  }

  private void handle(HttpServerRequest request) {
    String path = request.method() == HttpMethod.GET ? request.path() : "";
    switch (path) {
      case "/":
        answer(request, "text/plain").end("hello");
        break;
      case "/json":
        answer(request, "application/json").end(new JsonObject().put("message", "Hello, World!").toBuffer());
        break;
      default:
        answer(request, "text/plain").setStatusCode(404).end("not found");
    }
  }

  private HttpServerResponse answer(HttpServerRequest request, String type) {
    HttpServerResponse response = request.response();
    response
        .headers()
        .add(HttpHeaders.CONTENT_TYPE, type)
        .add(HttpHeaders.SERVER, "vert.x")
        .add(HttpHeaders.DATE, date);
    return response;
  }

  /** Vert.x sends no Date by itself; formatting it once a second is what its users do. */
  private void renewDate() {
    date = HTTP_DATE.format(ZonedDateTime.now(ZoneOffset.UTC));
  }
}
