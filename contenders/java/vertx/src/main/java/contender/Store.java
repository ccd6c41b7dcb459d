package contender;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.sqlclient.PoolOptions;
import io.vertx.sqlclient.Row;
import io.vertx.sqlclient.SqlClient;
import io.vertx.sqlclient.Tuple;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The tables World and Fortune of the TechEmpower tests, through Vert.x's own client. Each event loop has one. */
final class Store {
  /** To the database, for each event loop; requests are pipelined over them, which is Vert.x's way. */
  private static final int CONNECTIONS = 16;

  private static final int ROWS = 10_000;
  private static final int MAX_QUERIES = 500;
  private static final String SELECT = "SELECT id, randomnumber FROM world WHERE id = $1";
  private static final String UPDATE =
      "UPDATE world SET randomnumber = new.number FROM (SELECT unnest($1::int[]) AS id,"
          + " unnest($2::int[]) AS number) AS new WHERE world.id = new.id";

  private final SqlClient client;
  private List<JsonObject> cache;

  private Store(SqlClient client) {
    this.client = client;
  }

  /** Connects to the database of that URL and keeps the rows that may be served from memory. */
  static Future<Store> open(Vertx vertx, String url) {
    var options = PgConnectOptions.fromUri(url).setCachePreparedStatements(true);
    var store =
        new Store(
            PgBuilder.client()
                .connectingTo(options)
                .with(new PoolOptions().setMaxSize(CONNECTIONS))
                .using(vertx)
                .build());
    return store
        .client
        .query("SELECT id, randomnumber FROM world")
        .execute()
        .map(
            rows -> {
              store.cache = rows.stream().map(Store::world).collect(Collectors.toList());
              return store;
            });
  }

  Future<JsonObject> one() {
    return read(randomId());
  }

  /** Each row with a query of its own. */
  Future<JsonArray> many(int n) {
    return readAll(IntStream.range(0, n).map(i -> randomId()).boxed().collect(Collectors.toList()))
        .map(JsonArray::new);
  }

  /**
   * Reads n rows one by one, gives each a new number and writes them with one statement, in the order of their ids, so
   * that two requests cannot wait for each other's locks.
   */
  Future<JsonArray> update(int n) {
    return readAll(distinctIds(n)).compose(this::renew).map(JsonArray::new);
  }

  JsonArray cached(int n) {
    var rows = new JsonArray();
    for (int i = 0; i < n; i++) {
      rows.add(cache.get(randomId() - 1));
    }
    return rows;
  }

  /** All fortunes and the one that every request adds, sorted by message. */
  Future<List<Fortune>> fortunes() {
    return client
        .preparedQuery("SELECT id, message FROM fortune")
        .execute()
        .map(
            rows -> {
              var fortunes = new ArrayList<Fortune>();
              rows.forEach(row -> fortunes.add(new Fortune(row.getInteger(0), row.getString(1))));
              fortunes.add(new Fortune(0, "Additional fortune added at request time."));
              fortunes.sort(Comparator.comparing(fortune -> fortune.message));
              return fortunes;
            });
  }

  /** How many rows are wanted: 1 when it is no number or too small, 500 at most. */
  static int count(String text) {
    try {
      return Math.min(Math.max(Integer.parseInt(text), 1), MAX_QUERIES);
    } catch (NumberFormatException none) {
      return 1;
    }
  }

  private Future<List<JsonObject>> renew(List<JsonObject> rows) {
    rows.forEach(row -> row.put("randomNumber", otherThan(row.getInteger("randomNumber"))));
    var ids = rows.stream().map(row -> row.getInteger("id")).toArray(Integer[]::new);
    var numbers = rows.stream().map(row -> row.getInteger("randomNumber")).toArray(Integer[]::new);
    var arrays = Tuple.tuple().addArrayOfInteger(ids).addArrayOfInteger(numbers);
    return client.preparedQuery(UPDATE).execute(arrays).map(rows);
  }

  private Future<List<JsonObject>> readAll(List<Integer> ids) {
    var reads = ids.stream().map(this::read).collect(Collectors.toList());
    return Future.all(reads).map(all -> all.<JsonObject>list());
  }

  private Future<JsonObject> read(int id) {
    return client
        .preparedQuery(SELECT)
        .execute(Tuple.of(id))
        .map(rows -> world(rows.iterator().next()));
  }

  private static JsonObject world(Row row) {
    return new JsonObject().put("id", row.getInteger(0)).put("randomNumber", row.getInteger(1));
  }

  private static int randomId() {
    return ThreadLocalRandom.current().nextInt(ROWS) + 1;
  }

  private static List<Integer> distinctIds(int n) {
    var ids = new TreeSet<Integer>();
    while (ids.size() < n) {
      ids.add(randomId());
    }
    return List.copyOf(ids);
  }

  /** A number other than the row's own: writing the same again would change nothing. */
  private static int otherThan(int current) {
    int number = randomId();
    return number == current ? otherThan(current) : number;
  }

  /** A row of the table Fortune, as the template sees it. */
  static final class Fortune {
    final int id;
    final String message;

    Fortune(int id, String message) {
      this.id = id;
      this.message = message;
    }
  }
}
