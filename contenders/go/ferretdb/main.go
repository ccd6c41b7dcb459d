// A store that speaks MongoDB's protocol: FerretDB's embeddable package with SQLite in the folder SCRATCH, filled with what
// the chat workloads ask for, at the socket SCRATCH/mongodb.sock. Its own command is not made for being built as a module.
package main

import (
	"context"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

// Where it listens until it is filled, and from then on: whoever finds the socket finds everything behind it.
const filling, socket = "filling.sock", "mongodb.sock"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The driver for Go writes paths of sockets in lower case; names within the working folder survive that.
	if err := os.Chdir(os.Getenv("SCRATCH")); err != nil {
		log.Fatal(err)
	}
	store, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{Unix: filling},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Handler:  "sqlite",
		// Durability is given up, as PostgreSQL's is: the store lives as long as a run (sqlite.org/pragma.html).
		SQLiteURL: "file:./?_pragma=synchronous(off)",
	})
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if err := fill(ctx); err != nil {
			log.Fatal("filling the store: ", err)
		}
		if err := os.Rename(filling, socket); err != nil {
			log.Fatal(err)
		}
	}()
	if err := store.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
