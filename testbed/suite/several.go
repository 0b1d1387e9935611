package suite

import (
	"fmt"
	"os"
	"strconv"

	"fsub/testbed/daemon"
	"fsub/testbed/postgres"
)

// Several has as many daemons as FSUB_DAEMONS says share a PostgreSQL, where it says more than one. So each package of tests over a daemon can be run over several.
func Several(tb postgres.TB, o daemon.Options) daemon.Options {
	n, _ := strconv.Atoi(os.Getenv("FSUB_DAEMONS"))
	if n < 2 {
		return o
	}
	return Share(postgres.Start(tb), o, n)
}

// Share has n daemons share a database of a server.
func Share(s *postgres.Server, o daemon.Options, n int) daemon.Options {
	o.Store, o.Count = s.URLOverTCP(), n // the login has a /tmp of its own
	return o
}

// outside is what there is of a test before the tests begin.
type outside struct{ *Suite }

func (outside) Helper()      {}
func (outside) Failed() bool { return false }

func (o outside) Cleanup(do func()) {
	o.Defer(func() error { do(); return nil })
}

func (outside) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (o outside) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	if err := o.end(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1)
}

func (o outside) Fatalf(format string, args ...any) { o.Fatal(fmt.Sprintf(format, args...)) }

// Skipf fails: who asks for several daemons is not to get one.
func (o outside) Skipf(format string, args ...any) { o.Fatalf(format, args...) }
