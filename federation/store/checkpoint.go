package store

import (
	"context"
	"database/sql"
	"log/slog"
	"net/url"
	"time"
)

const (
	// lookAtWAL is how often the WAL is looked at while there are commits.
	lookAtWAL = 100 * time.Millisecond
	// longWAL is how many pages wait in the WAL before they are copied: SQLite's own default.
	longWAL = 1000
	// tooLongWAL is when the commit itself copies: if this one does not get on because of long reads, or of writes without a pause.
	tooLongWAL = 4000
)

// checkpointer copies pages from the WAL into the database while the writer goes on. SQLite does that within the commit which makes the WAL
// long, and all that wait for the writer wait for eight megabytes and two more fsyncs with it.
type checkpointer struct {
	db      *sql.DB
	log     *slog.Logger
	commits chan struct{} // holds one: there was a commit since the last look
	closing chan struct{}
	stopped chan struct{}
}

func startCheckpointer(path string, volatile bool, log *slog.Logger) *checkpointer {
	q := url.Values{"_synchronous": {"full"}}
	if volatile {
		q.Set("_synchronous", "off")
	}
	c := &checkpointer{db: mustOpen(path, q), log: log, commits: make(chan struct{}, 1), closing: make(chan struct{}), stopped: make(chan struct{})}
	c.db.SetMaxOpenConns(1)
	go c.run()
	return c
}

// committed is told of each commit. It does not wait.
func (c *checkpointer) committed() {
	select {
	case c.commits <- struct{}{}:
	default:
	}
}

// Close waits for the copying that is under way.
func (c *checkpointer) Close() error {
	close(c.closing)
	<-c.stopped
	return c.db.Close()
}

func (c *checkpointer) run() {
	defer close(c.stopped)
	for {
		select {
		case <-c.commits:
		case <-c.closing:
			return
		}
		if err := c.look(); err != nil {
			c.log.Warn("copy from the database's WAL", "err", err) // the writer will do it
		}
		select {
		case <-time.After(lookAtWAL):
		case <-c.closing:
			return
		}
	}
}

// look copies if there is enough. What is committed meanwhile is copied after it, so that the next commit finds nothing left and begins the WAL anew.
func (c *checkpointer) look() error {
	pages, copied, err := c.checkpoint("NOOP")
	if err != nil || pages-copied < longWAL {
		return err
	}
	for range 5 {
		if pages, copied, err = c.checkpoint("PASSIVE"); err != nil || pages == copied {
			return err
		}
	}
	return nil
}

// checkpoint returns how many pages the WAL has, and how many of them are copied.
func (c *checkpointer) checkpoint(mode string) (pages, copied int, err error) {
	var busy int // another one copies
	err = c.db.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &pages, &copied)
	return pages, copied, err
}
