// A server for hello, json and the database types with Gin.
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"

	"github.com/gin-gonic/gin"

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
	router := gin.New()
	router.UseH2C = os.Getenv("PROTOCOL") == "h2c" // over TLS it speaks HTTP/2 by itself
	router.GET("/", func(c *gin.Context) { text(c, "hello") })
	router.GET("/plaintext", func(c *gin.Context) { text(c, "Hello, World!") })
	router.GET("/byte", func(c *gin.Context) { text(c, "!") })
	router.GET("/json", func(c *gin.Context) { object(c, message{Message: "Hello, World!"}, nil) })
	router.POST("/upload", func(c *gin.Context) {
		received, err := store.Sum(c.Request.Body)
		object(c, received, err)
	})
	for path, body := range bodies {
		router.GET(path, func(c *gin.Context) { text(c, body) })
	}
	if database != nil {
		route(router, database)
	}
	address, certificate, key := net.JoinHostPort(os.Getenv("ADDRESS"), os.Getenv("PORT")), os.Getenv("CERT"), os.Getenv("KEY")
	if certificate == "" {
		log.Fatal(router.Run(address))
	}
	log.Fatal(router.RunTLS(address, certificate, key))
}

func route(router *gin.Engine, database *store.Store) {
	router.SetHTMLTemplate(store.Page)
	router.GET("/db", func(c *gin.Context) {
		world, err := database.One(c)
		object(c, world, err)
	})
	router.GET("/queries", func(c *gin.Context) {
		worlds, err := database.Many(c, store.Count(c.Query("queries")))
		object(c, worlds, err)
	})
	router.GET("/updates", func(c *gin.Context) {
		worlds, err := database.Update(c, store.Count(c.Query("queries")))
		object(c, worlds, err)
	})
	router.GET("/cached-queries", func(c *gin.Context) {
		object(c, database.Cached(store.Count(c.Query("count"))), nil)
	})
	router.GET("/fortunes", func(c *gin.Context) {
		fortunes, err := database.Fortunes(c)
		if err != nil {
			fail(c, err)
			return
		}
		c.Header("Server", "Gin")
		c.HTML(http.StatusOK, store.Page.Name(), fortunes)
	})
}

func text(c *gin.Context, body string) {
	c.Header("Server", "Gin")
	c.String(http.StatusOK, body)
}

func object(c *gin.Context, value any, err error) {
	if err != nil {
		fail(c, err)
		return
	}
	c.Header("Server", "Gin")
	c.JSON(http.StatusOK, value)
}

func fail(c *gin.Context, err error) {
	log.Print(err)
	c.String(http.StatusInternalServerError, "the database failed")
}
