package store

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Items is the object of the workload gzip.
type Items struct {
	Items []Item `json:"items"`
	Count int    `json:"count"`
}

// Item is one of them.
type Item struct {
	ID        int     `json:"id"`
	Name      string  `json:"name"`
	Category  string  `json:"category"`
	Price     float64 `json:"price"`
	Available bool    `json:"available"`
	Rating    Rating  `json:"rating"`
}

// Rating is what buyers think of it.
type Rating struct {
	Average float64 `json:"average"`
	Count   int     `json:"count"`
}

// ReadItems reads the object from $FILES, once.
func ReadItems() (Items, error) {
	var items Items
	text, err := os.ReadFile(filepath.Join(os.Getenv("FILES"), "items.json"))
	if err != nil {
		return items, err
	}
	return items, json.Unmarshal(text, &items)
}
