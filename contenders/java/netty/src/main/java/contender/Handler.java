package contender;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Answers one connection's requests in turn; what one read brought is flushed together. */
final class Handler extends SimpleChannelInboundHandler<FullHttpRequest> {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final AsciiString SERVER = AsciiString.cached("netty");

  private final Clock clock;
  private final Map<String, byte[]> bodies;

  Handler(Clock clock, Map<String, byte[]> bodies) {
    this.clock = clock;
    this.bodies = bodies;
  }

  @Override
  protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request)
      throws JsonProcessingException {
    FullHttpResponse response = answer(request);
    HttpUtil.setContentLength(response, response.content().readableBytes());
    response.headers().set(HttpHeaderNames.SERVER, SERVER).set(HttpHeaderNames.DATE, clock.date());
    boolean stays = request.decoderResult().isSuccess() && HttpUtil.isKeepAlive(request);
    HttpUtil.setKeepAlive(response.headers(), request.protocolVersion(), stays);
    if (request.method().equals(HttpMethod.HEAD)) {
      response.content().clear();
    }
    var sent = context.write(response);
    if (!stays) {
      sent.addListener(ChannelFutureListener.CLOSE);
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    context.flush();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    context.close();
  }

  private FullHttpResponse answer(FullHttpRequest request) throws JsonProcessingException {
    if (!request.decoderResult().isSuccess()) {
      return text(HttpResponseStatus.BAD_REQUEST, "bad request");
    }
    boolean get = request.method().equals(HttpMethod.GET) || request.method().equals(HttpMethod.HEAD);
    switch (request.uri()) {
      case "/":
        return get ? text(HttpResponseStatus.OK, "hello") : refusal();
      case "/plaintext":
        return get ? text(HttpResponseStatus.OK, "Hello, World!") : refusal();
      case "/byte":
        return get ? text(HttpResponseStatus.OK, "!") : refusal();
      case "/json":
        return get ? json(Map.of("message", "Hello, World!")) : refusal();
      default:
        byte[] body = bodies.get(request.uri());
        if (body == null) {
          return text(HttpResponseStatus.NOT_FOUND, "not found");
        }
        return get ? respond(HttpResponseStatus.OK, HttpHeaderValues.TEXT_PLAIN, body) : refusal();
    }
  }

  private static FullHttpResponse refusal() {
    FullHttpResponse response = text(HttpResponseStatus.METHOD_NOT_ALLOWED, "method not allowed");
    response.headers().set(HttpHeaderNames.ALLOW, "GET, HEAD");
    return response;
  }

  private static FullHttpResponse text(HttpResponseStatus status, String body) {
    return respond(status, HttpHeaderValues.TEXT_PLAIN, body.getBytes(StandardCharsets.US_ASCII));
  }

  private static FullHttpResponse json(Object value) throws JsonProcessingException {
    return respond(
        HttpResponseStatus.OK, HttpHeaderValues.APPLICATION_JSON, MAPPER.writeValueAsBytes(value));
  }

  private static FullHttpResponse respond(HttpResponseStatus status, AsciiString type, byte[] body) {
    var response =
        new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, Unpooled.wrappedBuffer(body));
    response.headers().set(HttpHeaderNames.CONTENT_TYPE, type);
    return response;
  }
}
