package daemons

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"fsub/testbed/postgres"
)

// A dump is made while the daemon runs, and restored: into a new database, or over the same. The daemon notices either, gives no ID that may have been given since,
// and compares all jobs with the site, where one of them has run meanwhile.
func TestDumpIsRestored(t *testing.T) {
	for _, over := range []bool{false, true} {
		t.Run(fmt.Sprintf("over the same %v", over), func(t *testing.T) {
			if !over && os.Getenv("FSUB_FULL") == "" {
				t.Skip("SKIPPED: the store's tests restore into a new database too: FSUB_FULL=1 does it with a daemon")
			}
			t.Parallel()
			w := newWorld(t, 1, on(postgres.Start(t), ""), alone)
			d := w.daemons[0]
			w.write("job.sh", "#!/bin/sh\n#SBATCH --time=5\n#SIM run=1s\n")
			w.submitSome(3)
			held := w.submitSome(1, "--hold")[0]
			dump := w.path("fed.dump")
			w.tool("pg_dump", "-Fc", "-f", dump, w.url)
			if _, err := d.run("scontrol", "release", fmt.Sprint(held)); err != nil {
				t.Fatal(err)
			}
			w.recorded([]uint32{held})
			since := w.submitSome(3)
			d.end(syscall.SIGTERM)
			<-d.ended
			d.cmd = nil
			if over {
				w.tool("pg_restore", "--clean", "-d", w.url, dump)
			} else {
				w.url = w.pg.URL()
				w.tool("pg_restore", "-d", w.url, dump)
				d.configure()
			}
			d.start()
			after := w.submitSome(1)[0]
			if after < since[2]+500_000 {
				t.Errorf("ID %d is given after %d", after, since[2])
			}
			if _, err := d.run("scontrol", "release", fmt.Sprint(held)); err != nil { // it waits again, by the copy
				t.Log(err)
			}
			w.recorded([]uint32{held, after})
			if n := w.site.RunCount(held); n != 1 {
				t.Errorf("job %d ran %d times", held, n)
			}
			log, err := os.ReadFile(w.path(d.name + ".log"))
			if err != nil || !strings.Contains(string(log), "the restored store was compared with the sites") {
				t.Errorf("the store was not compared with the site: %v", err)
			}
		})
	}
}

// tool runs one of PostgreSQL's programs.
func (w *world) tool(args ...string) {
	w.t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
