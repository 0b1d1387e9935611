package daemons

import (
	"bytes"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"fsub/testbed/postgres"
)

// A daemon whose turn it is to lead, and that cannot, stands by and tries again: the database gives it no more connections, or a newer fed has changed the schema. It lists jobs
// meanwhile.
func TestCannotLead(t *testing.T) {
	w := newWorld(t, 2)
	w.write("job.sh", "#!/bin/sh\n")
	held, err := w.daemons[0].run("fsub", "--parsable", "--hold", "job.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, before, after, says string }{
		{"no connections", "ALTER ROLE " + postgres.Role + " CONNECTION LIMIT 1", "ALTER ROLE " + postgres.Role + " CONNECTION LIMIT -1", "this daemon cannot lead now"},
		{"a newer schema", "INSERT INTO schema_version VALUES (1000); ALTER TABLE jobs ADD COLUMN later text NOT NULL DEFAULT ''; CREATE TABLE later ()",
			"DELETE FROM schema_version WHERE version = 1000; ALTER TABLE jobs DROP COLUMN later; DROP TABLE later", "run the newer fed"},
	} {
		was := w.leader(w.daemons[0])
		other := w.others(was)[0]
		eventually(t, other.name+" knows the queue", other.ready)
		w.exec(tt.before)
		was.kill()
		eventually(t, tt.name+": the other one cannot lead", func() error {
			log, err := os.ReadFile(w.path(other.name + ".log"))
			if err == nil && !bytes.Contains(log, []byte(tt.says)) {
				err = errors.New("it does not say so")
			}
			return err
		})
		eventually(t, tt.name+": the other one lists jobs", func() error {
			out, err := other.run("squeue", "--noheader", "--format=%i")
			if err == nil && out != held {
				err = errors.New(out)
			}
			return err
		})
		w.exec(tt.after)
		if is := w.leader(other); is != other {
			t.Errorf("%s: %s leads", tt.name, is.name)
		}
		was.start()
	}
}

// exec runs a statement in the daemons' database.
func (w *world) exec(text string) {
	w.t.Helper()
	u, err := url.Parse(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	w.pg.ExecIn(strings.TrimPrefix(u.Path, "/"), text)
}
