// Command verdict runs `go test -json` and shows what it says for people: a line per package as it ends, below one that failed
// the last words of its tests, and at the end what was skipped and why, what failed with its own words, the slowest packages,
// and one line that says whether all is well. A test that failed is run again alone, twice: one that then passes both times is
// shown as FLAKY and does not fail the run, unless there are more than three of them. Exit code 1 means that something failed,
// or that nothing was tested.
//
//	verdict [-log FILE] -packages PACKAGES GO test -json [ARG...]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	logFile := flag.String("log", "", "write everything that the tests say to this file")
	packages := flag.String("packages", "./...", "the packages to test, separated by spaces")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "verdict: no command: want GO test -json [ARG...]")
		os.Exit(2)
	}
	log := io.Discard
	if *logFile != "" {
		f, err := os.Create(*logFile)
		if err != nil {
			fmt.Fprintf(os.Stderr, "verdict: %v\n", err)
			os.Exit(2)
		}
		defer f.Close()
		log = f
	}
	goTest := command(flag.Args())
	r := newReport(os.Stdout, log)
	r.exit = goTest.run(strings.Fields(*packages), r.read)
	r.runAgain(goTest.alone(log))
	ok := r.finish()
	if *logFile != "" {
		fmt.Printf("All that the tests said: %s\n", *logFile)
	}
	if !ok {
		os.Exit(1)
	}
}
