// A server for the workloads hello and json.
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

func main() {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /{$}", hello)
	routes.HandleFunc("GET /json", greet)
	address := net.JoinHostPort(os.Getenv("ADDRESS"), os.Getenv("PORT"))
	log.Fatal(http.ListenAndServe(address, routes))
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
