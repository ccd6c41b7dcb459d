package contender;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerExpectContinueHandler;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.codec.http2.Http2StreamFrameToHttpObjectCodec;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Netty's own HTTP codec in a pipeline of three, one event loop for each CPU given, on epoll where it is to be had. */
public final class Server {
  private static final int LARGEST_BODY_BYTES = 1 << 20;
  /** Whether HTTP/2 is to be spoken: over TLS where it is chosen, without TLS at once. */
  private static final boolean HTTP2 =
      List.of("h2c", "h2").contains(String.valueOf(System.getenv("PROTOCOL")));

  public static void main(String[] arguments) throws InterruptedException, IOException {
    int workers = Integer.parseInt(System.getenv("WORKERS"));
    boolean epoll = Epoll.isAvailable();
    EventLoopGroup loops = epoll ? new EpollEventLoopGroup(workers) : new NioEventLoopGroup(workers);
    new ServerBootstrap()
        .group(loops)
        .channel(epoll ? EpollServerSocketChannel.class : NioServerSocketChannel.class)
        .option(ChannelOption.SO_BACKLOG, 4096)
        .childOption(ChannelOption.TCP_NODELAY, true)
        .childHandler(new Pipeline(tls(), new Clock(loops), Bodies.read()))
        .bind(System.getenv("ADDRESS"), Integer.parseInt(System.getenv("PORT")))
        .sync()
        .channel()
        .closeFuture()
        .sync();
  }

  /** What secures the connections, where a certificate is given; else null. */
  private static SslContext tls() throws IOException {
    String certificate = System.getenv("CERT");
    if (certificate == null || certificate.isEmpty()) {
      return null;
    }
    var builder = SslContextBuilder.forServer(new File(certificate), new File(System.getenv("KEY")));
    if (HTTP2) {
      builder
          .ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
          .applicationProtocolConfig(
              new ApplicationProtocolConfig(
                  Protocol.ALPN,
                  SelectorFailureBehavior.NO_ADVERTISE,
                  SelectedListenerFailureBehavior.ACCEPT,
                  ApplicationProtocolNames.HTTP_2));
    }
    return builder.build();
  }

  private static final class Pipeline extends ChannelInitializer<Channel> {
    private final SslContext tls;
    private final Clock clock;
    private final Map<String, byte[]> bodies;

    Pipeline(SslContext tls, Clock clock, Map<String, byte[]> bodies) {
      this.tls = tls;
      this.clock = clock;
      this.bodies = bodies;
    }

    @Override
    protected void initChannel(Channel channel) {
      if (tls != null) {
        channel.pipeline().addLast(tls.newHandler(channel.alloc()));
      }
      if (HTTP2) {
        channel
            .pipeline()
            .addLast(Http2FrameCodecBuilder.forServer().build())
            .addLast(new Http2MultiplexHandler(new Streams(clock, bodies)));
      } else {
        channel.pipeline().addLast(new HttpServerCodec());
        answer(channel, clock, bodies);
      }
    }
  }

  /** Each stream of HTTP/2 is a channel of its own, whose frames become the objects of HTTP/1.1. */
  private static final class Streams extends ChannelInitializer<Channel> {
    private final Clock clock;
    private final Map<String, byte[]> bodies;

    Streams(Clock clock, Map<String, byte[]> bodies) {
      this.clock = clock;
      this.bodies = bodies;
    }

    @Override
    protected void initChannel(Channel stream) {
      stream.pipeline().addLast(new Http2StreamFrameToHttpObjectCodec(true));
      answer(stream, clock, bodies);
    }
  }

  private static void answer(Channel channel, Clock clock, Map<String, byte[]> bodies) {
    channel
        .pipeline()
        .addLast(new HttpServerExpectContinueHandler())
        .addLast(new HttpObjectAggregator(LARGEST_BODY_BYTES))
        .addLast(new Handler(clock, bodies));
  }
}
