// A server for the hello and json workloads with nothing but the standard library.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"
)

type message struct {
	Message string `json:"message"`
}

func hello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Server", "Go")
	w.Header().Set("Content-Type", "text/plain")
	io.WriteString(w, "hello")
}

func greet(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Server", "Go")
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(message{Message: "Hello, World!"})
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", hello)
	mux.HandleFunc("GET /json", greet)
	log.Fatal(http.ListenAndServe(net.JoinHostPort(os.Getenv("ADDRESS"), os.Getenv("PORT")), mux))
}
