package store

import (
	"context"
	"fmt"
	"io"
	"time"

	"fsub/federation"
)

// idleReader is after how long a connection of a store that only reads is closed: while its daemon leads, it does not use it.
const idleReader = time.Minute

// OpenReader opens the PostgreSQL of c to read it while another daemon writes. It changes nothing, and all that would fails: a schema that is not the one of
// this fed is an error.
func OpenReader(ctx context.Context, c Config) (*Store, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	p, err := newPostgres(&c)
	if err != nil {
		return nil, err
	}
	if err := p.readable(ctx); err != nil {
		return nil, err
	}
	readers := p.readers()
	readers.SetConnMaxIdleTime(idleReader)
	w := &writer{closing: make(chan struct{})}
	close(w.closing)
	s := &Store{postgres: p, replaced: p.replaced, server: p.server.String(), closers: []io.Closer{readers}}
	s.have(database{readers: readers, writer: w}, c)
	return s, nil
}

// readable finds the server, and looks whether its schema is known.
func (p *postgres) readable(ctx context.Context) error {
	s := &pgSession{postgres: p}
	defer s.release()
	s.preferNewest(ctx)
	if err := s.connect(ctx); err != nil {
		return err
	}
	var version int
	if err := s.conn.QueryRow(ctx, "SELECT COALESCE(MAX(version), 0) FROM schema_version").Scan(&version); err != nil {
		return s.fault(err)
	}
	if newest := NewestSchema(); version != newest {
		return fmt.Errorf("%w: %s: its schema has version %d, and that of this fed %d", federation.ErrUnavailable, p.name, version, newest)
	}
	return nil
}
