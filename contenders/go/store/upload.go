package store

import (
	"fmt"
	"hash/crc32"
	"io"
)

// Received tells how many bytes a request brought, and their CRC-32.
type Received struct {
	Bytes int64  `json:"bytes"`
	CRC32 string `json:"crc32"`
}

// Sum reads a body to its end.
func Sum(body io.Reader) (Received, error) {
	sum := crc32.NewIEEE()
	bytes, err := io.Copy(sum, body)
	return Received{bytes, fmt.Sprintf("%08x", sum.Sum32())}, err
}
