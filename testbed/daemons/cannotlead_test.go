package daemons

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"fsub/testbed/postgres"
)

// A daemon whose turn it is to lead, and to which the database gives no more connections, stands by and tries again.
func TestCannotLead(t *testing.T) {
	w := newWorld(t, 2)
	was := w.leader(w.daemons[0])
	other := w.others(was)[0]
	w.pg.Exec("ALTER ROLE " + postgres.Role + " CONNECTION LIMIT 1")
	was.kill()
	eventually(t, "the other one cannot lead", func() error {
		log, err := os.ReadFile(w.path(other.name + ".log"))
		if err == nil && !bytes.Contains(log, []byte("this daemon cannot lead now")) {
			err = errors.New("it does not say so")
		}
		return err
	})
	w.pg.Exec("ALTER ROLE " + postgres.Role + " CONNECTION LIMIT -1")
	if is := w.leader(other); is != other {
		t.Errorf("%s leads", is.name)
	}
}
