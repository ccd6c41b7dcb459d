// A server for hello, json and the database types with fasthttp.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"os"
	"runtime"

	"github.com/valyala/fasthttp"

	"store"
)

type message struct {
	Message string `json:"message"`
}

type server struct {
	database *store.Store
	bodies   map[string]string
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
	http := fasthttp.Server{Name: "fasthttp", Handler: server{database, bodies}.handle}
	address, certificate, key := net.JoinHostPort(os.Getenv("ADDRESS"), os.Getenv("PORT")), os.Getenv("CERT"), os.Getenv("KEY")
	if certificate == "" {
		log.Fatal(http.ListenAndServe(address))
	}
	log.Fatal(http.ListenAndServeTLS(address, certificate, key))
}

// fasthttp has no router of its own: a switch on the path is what its users write.
func (s server) handle(c *fasthttp.RequestCtx) {
	if !c.IsGet() && !c.IsHead() {
		c.Error("method not allowed", fasthttp.StatusMethodNotAllowed)
		c.Response.Header.Set("Allow", "GET, HEAD")
		return
	}
	switch path := string(c.Path()); path {
	case "/":
		text(c, "hello")
	case "/plaintext":
		text(c, "Hello, World!")
	case "/byte":
		text(c, "!")
	case "/json":
		object(c, message{Message: "Hello, World!"}, nil)
	default:
		if body, known := s.bodies[path]; known {
			text(c, body)
		} else if s.database == nil || !s.ask(c, path) {
			c.Error("not found", fasthttp.StatusNotFound)
		}
	}
}

// ask answers from the database; false when no such path is known.
func (s server) ask(c *fasthttp.RequestCtx, path string) bool {
	queries := func(name string) int { return store.Count(string(c.QueryArgs().Peek(name))) }
	switch path {
	case "/db":
		world, err := s.database.One(c)
		object(c, world, err)
	case "/queries":
		worlds, err := s.database.Many(c, queries("queries"))
		object(c, worlds, err)
	case "/updates":
		worlds, err := s.database.Update(c, queries("queries"))
		object(c, worlds, err)
	case "/cached-queries":
		object(c, s.database.Cached(queries("count")), nil)
	case "/fortunes":
		fortunes, err := s.database.Fortunes(c)
		if err != nil {
			fail(c, err)
			break
		}
		c.SetContentType("text/html; charset=utf-8")
		store.Page.Execute(c, fortunes)
	default:
		return false
	}
	return true
}

func text(c *fasthttp.RequestCtx, body string) {
	c.SetContentType("text/plain")
	c.SetBodyString(body)
}

func object(c *fasthttp.RequestCtx, value any, err error) {
	if err != nil {
		fail(c, err)
		return
	}
	c.SetContentType("application/json")
	json.NewEncoder(c).Encode(value)
}

func fail(c *fasthttp.RequestCtx, err error) {
	log.Print(err)
	c.Error("the database failed", fasthttp.StatusInternalServerError)
}
