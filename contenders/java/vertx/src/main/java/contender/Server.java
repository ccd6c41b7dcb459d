package contender;

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

/** One instance of the verticle for each CPU given, each with an event loop of its own, all on one port. */
public final class Server extends VerticleBase {
  private static final CharSequence SERVER = HttpHeaders.createOptimized("vert.x");
  private static final CharSequence TEXT = HttpHeaders.createOptimized("text/plain");
  private static final CharSequence JSON = HttpHeaders.createOptimized("application/json");

  private CharSequence date;

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

  /** Vert.x sends no Date by itself; formatting it once a second is what its users do. */
  private void renewDate() {
    date =
        HttpHeaders.createOptimized(
            DateTimeFormatter.RFC_1123_DATE_TIME.format(ZonedDateTime.now(ZoneOffset.UTC)));
  }

  private void handle(HttpServerRequest request) {
    boolean get = request.method() == HttpMethod.GET;
    if (get && request.path().equals("/")) {
      answer(request, TEXT).end("hello");
    } else if (get && request.path().equals("/json")) {
      answer(request, JSON).end(new JsonObject().put("message", "Hello, World!").toBuffer());
    } else {
      answer(request, TEXT).setStatusCode(404).end("not found");
    }
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
