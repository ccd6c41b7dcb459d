//go:build go1.24

package main

import "net/http"

// speakH2C has a server take HTTP/2 without TLS, with prior knowledge.
func speakH2C(server *http.Server) {
	server.Protocols = new(http.Protocols)
	server.Protocols.SetUnencryptedHTTP2(true)
}
