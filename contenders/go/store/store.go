// Package store is what the Go contenders answer from: the tables World and Fortune of the TechEmpower tests, read and
// written with pgx, and texts of several lengths.
package store

import (
	"context"
	"html/template"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	rows       = 10000
	maxQueries = 500
	// Connections to the database for each CPU given: enough to keep both sides busy, far below PostgreSQL's limit.
	connectionsPerCPU = 16
)

// World is a row of the table of that name.
type World struct {
	ID           int32 `json:"id"`
	RandomNumber int32 `json:"randomNumber"`
}

// Fortune is a row of the table of that name.
type Fortune struct {
	ID      int32
	Message string
}

// Store is a pool of connections, and the rows that may be served from memory.
type Store struct {
	pool  *pgxpool.Pool
	cache []World
}

// Open connects to $DATABASE_URL; nil when there is none, since most workloads need no database.
func Open(ctx context.Context, workers int) (*Store, error) {
	url := os.Getenv("DATABASE_URL")
	if url == "" {
		return nil, nil
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(connectionsPerCPU * workers)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	all, err := pool.Query(ctx, "SELECT id, randomnumber FROM world")
	if err != nil {
		return nil, err
	}
	cache, err := pgx.CollectRows(all, pgx.RowToStructByPos[World])
	return &Store{pool, cache}, err
}

// One reads a random row.
func (s *Store) One(ctx context.Context) (world World, err error) {
	row := s.pool.QueryRow(ctx, "SELECT id, randomnumber FROM world WHERE id = $1", randomID())
	err = row.Scan(&world.ID, &world.RandomNumber)
	return world, err
}

// Many reads n random rows, each with a query of its own.
func (s *Store) Many(ctx context.Context, n int) ([]World, error) {
	worlds := make([]World, n)
	for i := range worlds {
		var err error
		if worlds[i], err = s.One(ctx); err != nil {
			return nil, err
		}
	}
	return worlds, nil
}

// Update reads n rows one by one, gives each a new number and writes them back with one statement, in the order of
// their ids, so that two requests cannot wait for each other's locks.
func (s *Store) Update(ctx context.Context, n int) ([]World, error) {
	ids := distinctIDs(n)
	numbers := make([]int32, n)
	worlds := make([]World, n)
	for i, id := range ids {
		row := s.pool.QueryRow(ctx, "SELECT id, randomnumber FROM world WHERE id = $1", id)
		if err := row.Scan(&worlds[i].ID, &worlds[i].RandomNumber); err != nil {
			return nil, err
		}
		numbers[i] = otherThan(worlds[i].RandomNumber)
		worlds[i].RandomNumber = numbers[i]
	}
	_, err := s.pool.Exec(ctx, `UPDATE world SET randomnumber = new.number
		FROM (SELECT unnest($1::int[]) AS id, unnest($2::int[]) AS number) AS new
		WHERE world.id = new.id`, ids, numbers)
	return worlds, err
}

// Cached takes n random rows from memory.
func (s *Store) Cached(n int) []World {
	worlds := make([]World, n)
	for i := range worlds {
		worlds[i] = s.cache[rand.IntN(len(s.cache))]
	}
	return worlds
}

// Fortunes reads all fortunes, adds the one that every request adds, and sorts them by message.
func (s *Store) Fortunes(ctx context.Context) ([]Fortune, error) {
	all, err := s.pool.Query(ctx, "SELECT id, message FROM fortune")
	if err != nil {
		return nil, err
	}
	fortunes, err := pgx.CollectRows(all, pgx.RowToStructByPos[Fortune])
	if err != nil {
		return nil, err
	}
	fortunes = append(fortunes, Fortune{Message: "Additional fortune added at request time."})
	slices.SortFunc(fortunes, func(a, b Fortune) int { return strings.Compare(a.Message, b.Message) })
	return fortunes, nil
}

// Page draws fortunes; html/template escapes what is in them.
var Page = template.Must(template.New("fortunes").Parse(`<!DOCTYPE html><html><head><title>Fortunes</title></head>` +
	`<body><table><tr><th>id</th><th>message</th></tr>` +
	`{{range .}}<tr><td>{{.ID}}</td><td>{{.Message}}</td></tr>{{end}}</table></body></html>`))

// Count reads the parameter of how many rows are wanted: 1 when it is no number or too small, 500 at most.
func Count(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 1
	}
	return min(max(n, 1), maxQueries)
}

func randomID() int32 { return rand.Int32N(rows) + 1 }

func distinctIDs(n int) []int32 {
	ids := make([]int32, 0, n)
	for len(ids) < n {
		if id := randomID(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// A number other than the row's own: writing the same again would change nothing.
func otherThan(current int32) int32 {
	for {
		if number := randomID(); number != current {
			return number
		}
	}
}
