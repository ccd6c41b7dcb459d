// Gives every message of a WebSocket back, with net/http and coder/websocket.
package main

import (
	"log"
	"net"
	"net/http"
	"os"

	"github.com/coder/websocket"
)

// A message is put together before it is given back, up to this length.
const messageBytes = 1 << 20

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws", echo)
	server := &http.Server{Addr: net.JoinHostPort(os.Getenv("ADDRESS"), os.Getenv("PORT")), Handler: mux}
	certificate, key := os.Getenv("CERT"), os.Getenv("KEY")
	if certificate == "" {
		log.Fatal(server.ListenAndServe())
	}
	log.Fatal(server.ListenAndServeTLS(certificate, key))
}

func echo(w http.ResponseWriter, r *http.Request) {
	connection, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer connection.CloseNow()
	connection.SetReadLimit(messageBytes)
	for {
		kind, message, err := connection.Read(r.Context())
		if err != nil {
			return
		}
		if err := connection.Write(r.Context(), kind, message); err != nil {
			return
		}
	}
}
