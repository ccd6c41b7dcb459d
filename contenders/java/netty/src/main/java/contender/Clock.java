package contender;

import io.netty.channel.EventLoopGroup;
import io.netty.util.AsciiString;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** The value of the Date field, formatted once a second. */
final class Clock {
  /** RFC 9110 §5.6.7: a day has two digits, which RFC_1123_DATE_TIME gives it only from the tenth on. */
  private static final DateTimeFormatter IMF_FIXDATE =
      DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH);

  private volatile AsciiString date = format();

  Clock(EventLoopGroup loops) {
    loops.next().scheduleAtFixedRate(() -> date = format(), 1, 1, TimeUnit.SECONDS);
  }

  AsciiString date() {
    return date;
  }

  private static AsciiString format() {
    return new AsciiString(IMF_FIXDATE.format(ZonedDateTime.now(ZoneOffset.UTC)));
  }
}
