// Command verdict reads what `go test -json` writes and shows it for people: a line per package as it ends, below one that
// failed what its tests said last, and at the end what was skipped and why, what failed with its own words, and one line that
// says whether all is well. It leaves running the tests to go test. Exit code 1 means that something failed, or that nothing
// was tested.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	logFile := flag.String("log", "", "write everything that the tests said to this file")
	flag.Parse()
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
	r := newReport(os.Stdout, log)
	r.read(os.Stdin)
	ok := r.finish()
	if *logFile != "" {
		fmt.Printf("All that the tests said: %s\n", *logFile)
	}
	if !ok {
		os.Exit(1)
	}
}
