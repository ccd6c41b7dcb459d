package main

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// echoServer is the service of echo.proto, as protoc-gen-go-grpc writes it.
type echoServer interface {
	Say(context.Context, *wrapperspb.StringValue) (*wrapperspb.StringValue, error)
	Hello(context.Context, *wrapperspb.StringValue) (*wrapperspb.StringValue, error)
}

func registerEcho(registrar grpc.ServiceRegistrar, server echoServer) {
	registrar.RegisterService(&grpc.ServiceDesc{
		ServiceName: "assay.Echo",
		HandlerType: (*echoServer)(nil),
		Methods: []grpc.MethodDesc{
			unary("Say", echoServer.Say),
			unary("Hello", echoServer.Hello),
		},
		Metadata: "echo.proto",
	}, server)
}

type procedure func(echoServer, context.Context, *wrapperspb.StringValue) (*wrapperspb.StringValue, error)

func unary(name string, call procedure) grpc.MethodDesc {
	handle := func(server any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		request := new(wrapperspb.StringValue)
		if err := decode(request); err != nil {
			return nil, err
		}
		if interceptor == nil {
			return call(server.(echoServer), ctx, request)
		}
		info := &grpc.UnaryServerInfo{Server: server, FullMethod: "/assay.Echo/" + name}
		return interceptor(ctx, request, info, func(ctx context.Context, request any) (any, error) {
			return call(server.(echoServer), ctx, request.(*wrapperspb.StringValue))
		})
	}
	return grpc.MethodDesc{MethodName: name, Handler: handle}
}
