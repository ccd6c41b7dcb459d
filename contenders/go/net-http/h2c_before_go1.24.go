//go:build !go1.24

package main

import (
	"log"
	"net/http"
)

// speakH2C ends the program: the standard library speaks HTTP/2 without TLS since Go 1.24.
func speakH2C(*http.Server) {
	log.Fatal("HTTP/2 without TLS needs Go 1.24 or newer: build this server with one from https://go.dev/dl")
}
