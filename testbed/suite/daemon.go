package suite

import (
	"os"
	"testing"

	"fsub/testbed/daemon"
)

// Daemon starts a daemon for one test, and returns when it has seen its sites. It ends with the test; if that has failed, the end of its log is shown.
func Daemon(t testing.TB, o daemon.Options) *daemon.Daemon {
	t.Helper()
	d, err := daemon.New(t.Context(), Several(t, o))
	if err == nil {
		err = d.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Stop()
		if t.Failed() {
			for _, name := range d.LogFiles() {
				log, _ := os.ReadFile(name)
				t.Logf("the daemon's log ends:\n%s", log[max(0, len(log)-logTail):])
			}
		}
	})
	if err := d.AwaitSites(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}
