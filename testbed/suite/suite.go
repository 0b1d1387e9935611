// Package suite is the frame of a package of tests over real Slurm: a bed of its own, or one that is lent, our programs where every user
// may run them, one daemon over the bed's sites, and an end to all of this, whatever the tests do.
//
// A package has one [Suite] in a variable and calls [Suite.Main] from its TestMain. What is tested is left to the package.
package suite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"fsub/testbed/bed"
	"fsub/testbed/daemon"
	"fsub/testbed/program"
)

// Config says what a package needs.
type Config struct {
	Name  string      // of the package, and of its federation
	Sites []string    // to be brought up
	Bed   bed.Options // beside the directory
	// Lends: FSUB_<NAME>_BED may name a bed that is up, with these sites, and is used instead.
	Lends bool
	// Start does the rest: programs, the daemon, and what else the tests have in common.
	Start func(context.Context) error
}

// Suite is what the tests of a package share. Its fields are for reading, once Start is called.
type Suite struct {
	Bed    *bed.Bed
	Lent   bool
	Dir    string // of this run, gone after it; everybody may enter it
	Bin    string // for programs; every site sees it too
	Daemon *daemon.Daemon

	name string
	skip string // why there is nothing of the above

	mu   sync.Mutex
	ends []func() error
}

// Main brings everything up, runs the tests and takes it down. It does not return.
func (s *Suite) Main(m *testing.M, c Config) {
	flag.Parse()
	s.name = c.Name
	switch {
	case os.Getuid() != 0:
		s.skip = "SKIPPED: not root: real Slurm sites need namespaces of their own"
	case testing.Short():
		s.skip = "SKIPPED: -short leaves out real Slurm"
	default:
		os.Exit(s.run(m, c))
	}
	os.Exit(m.Run())
}

// Need skips a test where there are no real sites.
func (s *Suite) Need(t testing.TB) {
	t.Helper()
	if s.skip != "" {
		t.Skip(s.skip)
	}
}

func (s *Suite) run(m *testing.M, c Config) (code int) {
	ctx := context.Background()
	defer func() {
		if err := s.end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	s.endBySignal()
	err := s.open(ctx, c)
	if err == nil && c.Start != nil {
		err = c.Start(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if code = m.Run(); code != 0 && s.Daemon != nil {
		s.showLog()
	}
	return code
}

// endBySignal has an interrupt leave nothing behind. After a signal that cannot be caught there is: bin/bed down --abandoned.
func (s *Suite) endBySignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		if err := s.end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}()
}

// Defer has the end of the suite begin with do; what is deferred last comes first.
func (s *Suite) Defer(do func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, do)
}

// end does what was deferred, once.
func (s *Suite) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, do := range slices.Backward(s.ends) {
		errs = append(errs, do())
	}
	s.ends = nil
	return errors.Join(errs...)
}

// open brings the bed up, or takes the one that is lent.
func (s *Suite) open(ctx context.Context, c Config) (err error) {
	if up := os.Getenv("FSUB_" + strings.ToUpper(c.Name) + "_BED"); c.Lends && up != "" {
		return s.borrow(up)
	}
	if s.Dir, err = folder("/var/tmp", c.Name); err != nil {
		return err
	}
	s.Defer(func() error { return os.RemoveAll(s.Dir) })
	c.Bed.Dir, c.Bed.Temporary = s.Dir, true
	if s.Bed, err = bed.New(c.Bed); err != nil {
		return err
	}
	s.Bin = s.Bed.BinDir()
	s.Defer(func() error { return s.Bed.Down(ctx, nil, true, io.Discard) })
	if err := s.Bed.Up(ctx, c.Sites, os.Stderr); err != nil {
		return fmt.Errorf("bed up: %w", err)
	}
	return nil
}

func (s *Suite) borrow(up string) (err error) {
	s.Lent = true
	if s.Bed, err = bed.Open(up); err != nil {
		return err
	}
	if s.Dir, err = folder(s.Bed.BinDir(), s.name); err != nil {
		return err
	}
	s.Defer(func() error { return os.RemoveAll(s.Dir) })
	s.Bin = filepath.Join(s.Dir, "bin")
	return nil
}

func folder(in, name string) (string, error) {
	dir, err := os.MkdirTemp(in, "fsub-"+name+"-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// Programs puts programs into Bin, with Slurm's names for the commands.
func (s *Suite) Programs(names ...string) error {
	if err := program.Put(s.Bin, names...); err != nil {
		return err
	}
	return program.Link(s.Bin)
}

// StartDaemon runs fed from Bin over the bed's sites. edit is that of [daemon.Options]. Whether it sees them is for the caller to wait for.
func (s *Suite) StartDaemon(ctx context.Context, edit func(map[string]any)) error {
	dir := s.Bed.FedDir()
	if s.Lent {
		dir = filepath.Join(s.Dir, "run")
	}
	o := daemon.Options{Bed: s.Bed, Fed: filepath.Join(s.Bin, "fed"), Dir: dir, Federation: s.name, Edit: edit}
	d, err := daemon.New(ctx, Several(outside{s}, o))
	if err == nil {
		err = d.Start(ctx)
	}
	if err != nil {
		return err
	}
	s.Daemon = d
	s.Defer(func() error {
		d.Stop()
		return nil
	})
	return nil
}

// logTail is how much of the daemon's log is shown when tests have failed.
const logTail = 16_000

func (s *Suite) showLog() {
	for _, name := range s.Daemon.LogFiles() {
		log, _ := os.ReadFile(name)
		fmt.Fprintf(os.Stderr, "the daemon's log ends:\n%s\n", log[max(0, len(log)-logTail):])
	}
}
