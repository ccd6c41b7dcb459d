// Gives a text back, or greets, with grpc-go.
package main

import (
	"context"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type echo struct{}

func (echo) Say(_ context.Context, text *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	return wrapperspb.String(text.GetValue()), nil
}

func (echo) Hello(_ context.Context, name *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	if name.GetValue() == "" {
		return wrapperspb.String("Hello, World!"), nil
	}
	return wrapperspb.String("Hello, " + name.GetValue() + "!"), nil
}

func main() {
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("ADDRESS"), os.Getenv("PORT")))
	if err != nil {
		log.Fatal(err)
	}
	var options []grpc.ServerOption
	if certificate := os.Getenv("CERT"); certificate != "" {
		secured, err := credentials.NewServerTLSFromFile(certificate, os.Getenv("KEY"))
		if err != nil {
			log.Fatal(err)
		}
		options = append(options, grpc.Creds(secured))
	}
	server := grpc.NewServer(options...)
	registerEcho(server, echo{})
	log.Fatal(server.Serve(listener))
}
