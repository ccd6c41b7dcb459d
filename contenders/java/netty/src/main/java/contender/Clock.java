package contender;

import io.netty.channel.EventLoopGroup;
import io.netty.util.AsciiString;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.TimeUnit;

/** The value of the Date field, formatted once a second. */
final class Clock {
  private volatile AsciiString date = format();

  Clock(EventLoopGroup loops) {
    loops.next().scheduleAtFixedRate(() -> date = format(), 1, 1, TimeUnit.SECONDS);
  }

  AsciiString date() {
    return date;
  }

  private static AsciiString format() {
    return new AsciiString(DateTimeFormatter.RFC_1123_DATE_TIME.format(ZonedDateTime.now(ZoneOffset.UTC)));
  }
}
