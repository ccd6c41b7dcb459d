package contender;

import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;

/** Gives a text back, or greets. */
public final class Server {
  private Server() {}

  public static void main(String[] arguments) throws IOException, InterruptedException {
    int port = Integer.parseInt(System.getenv("PORT"));
    var server = NettyServerBuilder.forAddress(new InetSocketAddress(System.getenv("ADDRESS"), port));
    String certificate = System.getenv("CERT");
    if (certificate != null && !certificate.isEmpty()) {
      server.useTransportSecurity(new File(certificate), new File(System.getenv("KEY")));
    }
    server.addService(new Echo()).build().start().awaitTermination();
  }
}
