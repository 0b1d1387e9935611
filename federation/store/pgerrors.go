package store

import (
	"crypto/x509"
	"errors"
	"io"
	"net"
	"slices"
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
	if noPrimary(err) {
		return "no host of the URL takes writes: each is a standby, cannot be reached, or was made read-only"
	}
	code := state(err)
	for _, a := range postgresAdvice {
		if code != "" && strings.HasPrefix(code, a.prefix) {
			return a.advice
		}
	}
	switch {
	case code != "":
		return ""
	case certificateWords(err) != "":
		return certificateWords(err)
	case errors.As(err, new(*pgconn.ConnectError)):
		return "the database does not answer"
	case lost(err):
		return "the connection to the database was lost"
	}
	return ""
}

// certificateWords says what is wrong with TLS, if that is it.
func certificateWords(err error) string {
	const of = "the certificate of the database's server "
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "no authority of sslrootcert has signed " + strings.TrimSpace(of) + ": see that file in the URL, and ssl_cert_file there"
	case errors.As(err, new(x509.HostnameError)):
		return of + "is for another name than the URL's: name the server in the URL as its certificate does"
	case errors.As(err, new(x509.CertificateInvalidError)):
		return of + "is not valid now: see its dates, and the clocks"
	case errors.As(err, new(*pgconn.ConnectError)) && strings.Contains(err.Error(), "server refused TLS connection"): // pgx has no other sign of it
		return "the database's server has no TLS: set ssl = on there"
	}
	return ""
}

// noPrimary reports that a host that answers takes no writes. pgx has no other sign of it.
func noPrimary(err error) bool {
	return errors.As(err, new(*pgconn.ConnectError)) && strings.Contains(err.Error(), "read only connection")
}

// lost reports that a connection has ended.
func lost(err error) bool {
	return errors.As(err, new(*net.OpError)) || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// passing are the states of a server that stops or starts, has no connection left, or takes no writes: another host may take over, or an administrator acts.
var passing = []string{"08", "53300", "57P", readOnly}

// mayPass reports that the database is away, or is not the primary, and that nothing was done: the same may succeed in a moment.
func mayPass(err error) bool {
	code := state(err)
	switch {
	case err == nil || errors.Is(err, ErrOpen):
		return false
	case code == "":
		return errors.As(err, new(*pgconn.ConnectError)) || lost(err)
	}
	return noPrimary(err) || slices.ContainsFunc(passing, func(prefix string) bool { return strings.HasPrefix(code, prefix) })
}

// Away reports whether an error says that PostgreSQL does not answer now, or takes no writes now, as while it restarts or a standby takes over: it may in a moment.
func Away(err error) bool { return mayPass(err) }

// inOneLine is err with the reasons of all hosts in one line.
func inOneLine(err error) error {
	var e *pgconn.ConnectError
	if !errors.As(err, &e) {
		return err
	}
	return lineError{strings.ReplaceAll(e.Unwrap().Error(), "\n", "; "), err}
}

type lineError struct {
	line string
	of   error
}

func (e lineError) Error() string { return e.line }
func (e lineError) Unwrap() error { return e.of }
