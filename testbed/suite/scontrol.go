package suite

import (
	"context"
	"fmt"
	"os"
	"strings"

	"fsub/testbed/bed"
)

// scontrolAt has a test program run scontrol in a site of a bed, as root: DIRECTORY:SITE.
const scontrolAt = "FSUB_TEST_SCONTROL"

// NodeCommand is a node_command for a site of a bed: this program, whose TestMain begins with [Scontrol].
func NodeCommand(b *bed.Bed, site string) []string {
	return []string{"/usr/bin/env", scontrolAt + "=" + b.Dir() + ":" + site, os.Args[0]}
}

// Scontrol runs scontrol at a site and ends the program if that is what it was called for, by [NodeCommand].
func Scontrol() {
	at := os.Getenv(scontrolAt)
	if at == "" {
		return
	}
	dir, site, _ := strings.Cut(at, ":")
	b, err := bed.New(bed.Options{Dir: dir})
	if err == nil {
		err = b.Exec(context.Background(), bed.Cmd{Site: site, Args: append([]string{"scontrol"}, os.Args[1:]...), Stdout: os.Stdout, Stderr: os.Stderr})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
