package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// tests are the tests that pass with Slurm's own commands at some site, one a line; "root" behind those that do so only for root.
//
//go:embed tests.txt
var tests string

// exceptions are lines "TEST REASON": what cannot pass with our commands, and why.
//
//go:embed exceptions.txt
var exceptions string

type options struct {
	suite, fsub, fed, bed, debs, logs string
	sides                             []string
	limit                             time.Duration
	keep                              bool
}

func main() {
	var o options
	var sides string
	flag.StringVar(&o.fsub, "fsub", "bin/fsub", "the fsub binary")
	flag.StringVar(&o.fed, "fed", "bin/fed", "the fed binary")
	flag.StringVar(&o.bed, "bed", "/var/lib/fsub-bed-expect", "directory for the sites, -real and -ours appended; removed at the end")
	flag.StringVar(&o.debs, "debs", "/var/cache/fsub-expect/debs", "where the Debian packages that the suite needs are kept")
	flag.StringVar(&o.logs, "logs", "/tmp/fsub-expect", "what each test said")
	flag.StringVar(&sides, "sides", "real,ours", "whose commands: real, ours or both")
	flag.DurationVar(&o.limit, "limit", 5*time.Minute, "how long one test may take")
	flag.BoolVar(&o.keep, "keep", false, "leave the sites up, for a look at what a test left there")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: expect [flags] SUITE [TEST...]   (SUITE: Slurm's testsuite/expect)\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	o.sides = strings.Split(sides, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "expect: error: %v\n", err)
		os.Exit(1)
	}
}

// run makes the sides ready, runs the tests on all of them at once, and compares.
func run(ctx context.Context, o options, args []string) error {
	if len(args) == 0 {
		return errors.New("no folder of Slurm's expect tests given: run with -h")
	}
	var err error
	for path, arg := range map[*string]string{&o.suite: args[0], &o.fsub: o.fsub, &o.fed: o.fed, &o.debs: o.debs, &o.logs: o.logs} {
		if *path, err = filepath.Abs(arg); err != nil {
			return err
		}
	}
	list := pick(tests, args[1:])
	for _, t := range list {
		if _, err := os.Stat(filepath.Join(o.suite, t.name)); err != nil {
			return fmt.Errorf("the suite has no such test: %w", err)
		}
	}
	results := make([][]result, len(o.sides))
	g, ctx := errgroup.WithContext(ctx)
	for i, name := range o.sides {
		g.Go(func() (err error) {
			results[i], err = runSide(ctx, o, name, list)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	reasons, err := parseExceptions(exceptions)
	if err != nil {
		return err
	}
	return report(os.Stdout, table{o.sides, list, results, reasons})
}

// runSide runs the tests with one side's commands. It leaves nothing behind unless asked to.
func runSide(ctx context.Context, o options, name string, list []test) (results []result, err error) {
	if !slices.Contains([]string{"real", "ours"}, name) {
		return nil, fmt.Errorf("no side %q: choose from real, ours", name)
	}
	s, err := newSide(ctx, o, name)
	if s != nil {
		defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx))) }()
	}
	if err != nil {
		return nil, fmt.Errorf("side %s: %w", name, err)
	}
	for _, t := range list {
		r, err := s.run(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("side %s: %s: %w", name, t.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s %s: %s (%s)\n", name, t.name, r.verdict, r.took)
		results = append(results, r)
	}
	return results, nil
}

// test is one test of the suite, and who runs it.
type test struct{ name, user string }

// pick reads a list of tests. Of names that are given those are taken, which need not be in the list.
func pick(list string, names []string) []test {
	var all, some []test
	users := map[string]string{}
	for line := range strings.Lines(list) {
		name, who, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		if who == "" {
			who = user
		}
		users[name] = who
		all = append(all, test{name, who})
	}
	for _, name := range names {
		who, ok := users[name]
		if !ok {
			who = user
		}
		some = append(some, test{name, who})
	}
	if len(names) > 0 {
		return some
	}
	return all
}
