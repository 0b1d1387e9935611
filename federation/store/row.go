package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
)

// row reads the columns of one row in order. It scans into interfaces, which database/sql does without reflection: a listing
// of a million jobs has 27 million values.
type row struct {
	values []any
	into   []any // pointers to values
	next   int
	known  map[string]string
	err    error // first column of a type that was not expected
	job    federation.Job
}

func newRow(columns int) *row {
	r := &row{values: make([]any, columns), into: make([]any, columns)}
	for i := range r.values {
		r.into[i] = &r.values[i]
	}
	return r
}

func (r *row) column() any {
	r.next++
	return r.values[r.next-1]
}

func take[T any](r *row) (v T) {
	c := r.column()
	v, ok := c.(T)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("%w: the store is damaged: column %d holds a %T", federation.ErrUnavailable, r.next, c)
	}
	return v
}

func (r *row) int() int64    { return take[int64](r) }
func (r *row) bool() bool    { return take[bool](r) }
func (r *row) text() string  { return take[string](r) }
func (r *row) bytes() []byte { return take[[]byte](r) }

func (r *row) time() time.Time { return fromNanos(r.int()) }

// word is text of which many rows hold the same: they then share one copy.
func (r *row) word() string {
	s := r.text()
	if k, ok := r.known[s]; ok {
		return k
	}
	if r.known == nil {
		r.known = make(map[string]string)
	}
	if len(r.known) < 10_000 {
		r.known[s] = s
	}
	return s
}

func (r *row) json(into any) { r.parse(r.text(), into) }

// parse reads the JSON of the column that was taken last.
func (r *row) parse(text string, into any) {
	if text == "null" { // most of what is optional; into is zero
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil && r.err == nil {
		r.err = fmt.Errorf("%w: the store is damaged: column %d: %w", federation.ErrUnavailable, r.next, err)
	}
}

// readOptional is what optional has stored.
func readOptional[T any](r *row) *T {
	if text, _ := r.values[r.next].(string); text == "" {
		_ = r.text()
		return nil
	}
	v := new(T)
	r.json(v)
	return v
}

// query returns what read makes of each row.
func query[T any](ctx context.Context, db *sql.DB, read func(*row) T, text string, args ...any) ([]T, error) {
	var all gathered[T]
	err := queryInto(ctx, db, func(r *row) { all.add(read(r)) }, text, args...)
	if err != nil {
		return nil, err
	}
	return all.list(), nil
}

// queryInto calls take with each row.
func queryInto(ctx context.Context, db *sql.DB, take func(*row), text string, args ...any) error {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return readError(ctx, err)
	}
	return eachRow(rows, take, func(err error) error { return readError(ctx, err) })
}

// eachRow calls take with each of rows, and closes them. fault is what an error of the database becomes.
func eachRow(rows *sql.Rows, take func(*row), fault func(error) error) error {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return fault(err)
	}
	r := newRow(len(columns))
	for rows.Next() {
		if err := rows.Scan(r.into...); err != nil {
			return fault(err)
		}
		r.next = 0
		take(r)
		if r.err != nil {
			return r.err
		}
	}
	if err := rows.Err(); err != nil {
		return fault(err)
	}
	return nil
}

// gathered collects a list of unknown length. Growing one slice would copy a long list of large things again and again: a million jobs
// are a gigabyte.
type gathered[T any] struct {
	full [][]T
	last []T
}

func (g *gathered[T]) add(v T) {
	if len(g.last) == 4096 {
		g.full = append(g.full, g.last)
		g.last = make([]T, 0, 4096)
	}
	g.last = append(g.last, v)
}

func (g *gathered[T]) list() []T {
	if len(g.full) == 0 {
		return g.last
	}
	return slices.Concat(append(g.full, g.last)...)
}

// readError returns the caller's own cancellation, or the database's error.
func readError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return databaseError(err)
}

// list returns a list of n parameters from number first: "($3, $4, $5)". In every statement the first mentions of the
// parameters must be in the order of their numbers: to SQLite "$3" is a name, which gets the next free number.
func list(first, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ", $%d", first+i)
	}
	return "(" + strings.TrimPrefix(b.String(), ", ") + ")"
}

// nanos is how a time is stored; fromNanos gives it back in UTC.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// encode returns v as JSON. A value that JSON cannot hold (a cost that is not a number) is the caller's fault.
func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("%w: %w", federation.ErrInvalid, err)
	}
	return string(b), nil
}
