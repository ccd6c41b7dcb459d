// A server for the hello and json workloads with Gin.
package main

import (
	"log"
	"net"
	"net/http"
	"os"

	"github.com/gin-gonic/gin"
)

type message struct {
	Message string `json:"message"`
}

func hello(c *gin.Context) {
	c.Header("Server", "Gin")
	c.String(http.StatusOK, "hello")
}

func greet(c *gin.Context) {
	c.Header("Server", "Gin")
	c.JSON(http.StatusOK, message{Message: "Hello, World!"})
}

func main() {
	router := gin.New()
	router.GET("/", hello)
	router.GET("/json", greet)
	log.Fatal(router.Run(net.JoinHostPort(os.Getenv("ADDRESS"), os.Getenv("PORT"))))
}
