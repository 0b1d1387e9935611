package store

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"fsub/federation"
)

// SQLSTATEs with a meaning of their own.
const (
	readOnly      = "25006"
	serialization = "40001"
	deadlock      = "40P01"
)

// errAgain is what the database wants to be asked once more.
var errAgain = errors.New("the database asks to try again")

// state is the SQLSTATE of an error; "": it has none.
func state(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

// postgresClasses are what states stand for, by the beginning of the state; the longest counts. All others are ErrUnavailable.
var postgresClasses = []struct {
	prefix string
	class  error
}{
	{"23503", federation.ErrNotFound}, // foreign key
	{"23505", federation.ErrConflict}, // unique
	{"23", federation.ErrInvalid},     // other constraints
	{"22", federation.ErrInvalid},     // a value that its column does not take
	{"54", federation.ErrInvalid},     // too large
	{"P0001", federation.ErrInvalid},  // raised by a trigger of ours
	{serialization, errAgain},
	{deadlock, errAgain},
}

// postgresAdvice says what to do, where PostgreSQL's own words do not.
var postgresAdvice = []struct{ prefix, advice string }{
	{"53100", "no space left for the database: free some; nothing of this was written"},
	{"53300", "the database has no connection left: raise its max_connections"},
	{"53", "the database lacks a resource: see its log"},
	{readOnly, "the database takes no writes: it is a standby, or was made read-only"},
	{"57P01", "the database was stopped or restarts"},
	{"57P02", "the database has crashed and restarts"},
	{"57P03", "the database is starting"},
	{"28", "the database does not let fed in: see the user in the URL, store_password_file, and the server's pg_hba.conf"},
	{"3D000", "there is no such database: create it with: createdb -O USER DATABASE"},
	{"42501", "the database's user lacks a right: it must own the database"},
	{"XX001", "the database is damaged: stop fed and restore a copy"},
	{"XX002", "an index of the database is damaged: stop fed, and see PostgreSQL's REINDEX"},
}

func postgresClass(err error) error {
	code := state(err)
	for _, c := range postgresClasses {
		if code != "" && strings.HasPrefix(code, c.prefix) {
			return c.class
		}
	}
	return federation.ErrUnavailable
}

func postgresWords(err error) string {
	code := state(err)
	for _, a := range postgresAdvice {
		if code != "" && strings.HasPrefix(code, a.prefix) {
			return a.advice
		}
	}
	return ""
}
