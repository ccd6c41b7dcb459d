// A server for hello and json with nothing but the standard library, and for the database types with pgx.
package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"

	"store"
)

type message struct {
	Message string `json:"message"`
}

func main() {
	database, err := store.Open(context.Background(), runtime.GOMAXPROCS(0))
	if err != nil {
		log.Fatal(err)
	}
	bodies, err := store.Bodies()
	if err != nil {
		log.Fatal(err)
	}
	items, err := store.ReadItems()
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { text(w, "hello") })
	mux.HandleFunc("GET /plaintext", func(w http.ResponseWriter, _ *http.Request) { text(w, "Hello, World!") })
	mux.HandleFunc("GET /byte", func(w http.ResponseWriter, _ *http.Request) { text(w, "!") })
	mux.HandleFunc("GET /json", func(w http.ResponseWriter, _ *http.Request) {
		object(w, message{Message: "Hello, World!"}, nil)
	})
	mux.HandleFunc("GET /items.json", func(w http.ResponseWriter, r *http.Request) { compressed(w, r, items) })
	mux.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) {
		received, err := store.Sum(r.Body)
		object(w, received, err)
	})
	for path, body := range bodies {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { text(w, body) })
	}
	if database != nil {
		route(mux, database)
	}
	server := &http.Server{Addr: net.JoinHostPort(os.Getenv("ADDRESS"), os.Getenv("PORT")), Handler: mux}
	if os.Getenv("PROTOCOL") == "h2c" { // over TLS it speaks HTTP/2 by itself
		speakH2C(server)
	}
	certificate, key := os.Getenv("CERT"), os.Getenv("KEY")
	if certificate == "" {
		log.Fatal(server.ListenAndServe())
	}
	log.Fatal(server.ListenAndServeTLS(certificate, key))
}

func route(mux *http.ServeMux, database *store.Store) {
	mux.HandleFunc("GET /db", func(w http.ResponseWriter, r *http.Request) {
		world, err := database.One(r.Context())
		object(w, world, err)
	})
	mux.HandleFunc("GET /queries", func(w http.ResponseWriter, r *http.Request) {
		worlds, err := database.Many(r.Context(), store.Count(r.FormValue("queries")))
		object(w, worlds, err)
	})
	mux.HandleFunc("GET /updates", func(w http.ResponseWriter, r *http.Request) {
		worlds, err := database.Update(r.Context(), store.Count(r.FormValue("queries")))
		object(w, worlds, err)
	})
	mux.HandleFunc("GET /cached-queries", func(w http.ResponseWriter, r *http.Request) {
		object(w, database.Cached(store.Count(r.FormValue("count"))), nil)
	})
	mux.HandleFunc("GET /fortunes", func(w http.ResponseWriter, r *http.Request) {
		fortunes, err := database.Fortunes(r.Context())
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Server", "Go")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		store.Page.Execute(w, fortunes)
	})
}

func text(w http.ResponseWriter, body string) {
	w.Header().Set("Server", "Go")
	w.Header().Set("Content-Type", "text/plain")
	io.WriteString(w, body)
}

func object(w http.ResponseWriter, value any, err error) {
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Server", "Go")
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(value)
}

var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// compressed serialises and compresses a value for this request, as middleware does: with compressors that are used again.
func compressed(w http.ResponseWriter, r *http.Request, value any) {
	w.Header().Set("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		object(w, value, nil)
		return
	}
	w.Header().Set("Server", "Go")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	compressor := compressors.Get().(*gzip.Writer)
	defer compressors.Put(compressor)
	compressor.Reset(w)
	json.NewEncoder(compressor).Encode(value)
	compressor.Close()
}

func fail(w http.ResponseWriter, err error) {
	log.Print(err)
	http.Error(w, "the database failed", http.StatusInternalServerError)
}
