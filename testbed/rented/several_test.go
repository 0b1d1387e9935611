package rented

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"fsub/testbed/postgres"
)

// several is how many daemons each test has, by FSUB_DAEMONS. They share a database of PostgreSQL, start together, and end together when the test ends "the daemon".
func several() int {
	n, _ := strconv.Atoi(os.Getenv("FSUB_DAEMONS"))
	return max(n, 1)
}

// single skips a test of what one daemon keeps in its own files.
func single(t testing.TB) {
	t.Helper()
	if several() > 1 {
		t.Skip("SKIPPED: it looks into files that several daemons keep in their database")
	}
}

// configure writes the configuration of the daemon, or of each of several: a socket, a directory and a port are its own. The first has those that the text says.
func (w *world) configure(text string) {
	w.t.Helper()
	n := several()
	if n == 1 {
		w.write("fed.yaml", text)
		return
	}
	w.write("secret", strings.Repeat("secret", 8))
	text += "store: " + postgres.Start(w.t).URL() + "\n"
	for i := range n {
		own := text
		if i > 0 {
			own = strings.NewReplacer("socket: "+w.dir+"/s", "socket: "+w.dir+"/s"+strconv.Itoa(i+1), "state_dir: "+w.dir+"/state", "state_dir: "+w.dir+"/state"+strconv.Itoa(i+1),
				`"127.0.0.1:`+w.port+`"`, `"127.0.0.1:`+freePort(w.t)+`"`).Replace(text)
		}
		w.write(configName(i), own+fmt.Sprintf("daemons: {name: d%d, listen: \"127.0.0.1:%s\", secret_file: %s/secret}\n", i+1, freePort(w.t), w.dir))
	}
}

// configName is the file of the i-th daemon's configuration.
func configName(i int) string {
	if i == 0 {
		return "fed.yaml"
	}
	return fmt.Sprintf("fed%d.yaml", i+1)
}
