package contender;

import com.google.protobuf.StringValue;
import io.grpc.BindableService;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.ServerCalls.UnaryMethod;
import io.grpc.stub.StreamObserver;

/** The service of echo.proto, bound as protoc-gen-grpc-java binds one. */
final class Echo implements BindableService {
  private static final String NAME = "assay.Echo";

  @Override
  public ServerServiceDefinition bindService() {
    return ServerServiceDefinition.builder(NAME)
        .addMethod(unary("Say"), ServerCalls.asyncUnaryCall((UnaryMethod<StringValue, StringValue>) Echo::say))
        .addMethod(unary("Hello"), ServerCalls.asyncUnaryCall((UnaryMethod<StringValue, StringValue>) Echo::hello))
        .build();
  }

  private static void say(StringValue text, StreamObserver<StringValue> answer) {
    give(text.getValue(), answer);
  }

  private static void hello(StringValue name, StreamObserver<StringValue> answer) {
    give("Hello, " + (name.getValue().isEmpty() ? "World" : name.getValue()) + "!", answer);
  }

  private static void give(String text, StreamObserver<StringValue> answer) {
    answer.onNext(StringValue.of(text));
    answer.onCompleted();
  }

  private static MethodDescriptor<StringValue, StringValue> unary(String name) {
    var messages = ProtoUtils.marshaller(StringValue.getDefaultInstance());
    return MethodDescriptor.<StringValue, StringValue>newBuilder()
        .setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName(MethodDescriptor.generateFullMethodName(NAME, name))
        .setSampledToLocalTracing(true)
        .setRequestMarshaller(messages)
        .setResponseMarshaller(messages)
        .build();
  }
}
