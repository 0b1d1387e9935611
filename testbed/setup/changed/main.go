// Command changed prints the packages whose tests the files changed since main can reach: what make test-changed tests. A change is what differs from
// the merge base with main, committed or not. It leaves running the tests to testbed/setup/test.sh.
//
// A test reaches what its package imports, what its files and all of these name as a package ("fsub/cmd/fed", a program that is built) or as a path
// that leads out of the folder ("../../README.md"), and the files that lie beside them or below (testdata, embedded files). Where this cannot tell what
// reads a file (a script, the Makefile, go.mod) every test is taken to.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	packages, err := changed()
	if err != nil {
		fmt.Fprintf(os.Stderr, "changed: %v\n", err)
		os.Exit(1)
	}
	for _, p := range packages {
		fmt.Println(p)
	}
}

func changed() ([]string, error) {
	files, err := changedFiles()
	if err != nil {
		return nil, err
	}
	root, err := output("git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	g, err := load(strings.TrimSpace(root))
	if err != nil {
		return nil, err
	}
	return g.reachedBy(files), nil
}

// changedFiles lists what differs from the merge base with main, by paths from the repository's root.
func changedFiles() ([]string, error) {
	base, err := output("git", "merge-base", "HEAD", "main")
	if err != nil {
		if base, err = output("git", "merge-base", "HEAD", "origin/main"); err != nil {
			return nil, err
		}
	}
	tracked, err := output("git", "diff", "--name-only", "--no-renames", "-z", strings.TrimSpace(base))
	if err != nil {
		return nil, err
	}
	added, err := output("git", "ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/")
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(tracked+added, func(r rune) bool { return r == 0 }), nil
}

// load reads the packages of the module at root, as they are built with any of our tags.
func load(root string) (*graph, error) {
	g := &graph{root: root, packages: map[string]*pkg{}}
	for _, tags := range []string{"", "remote"} {
		cmd := exec.Command("go", "list", "-tags", tags, "-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles", "./...")
		cmd.Dir = root
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
		}
		list := json.NewDecoder(bytes.NewReader(out))
		for {
			var l listed
			if err := list.Decode(&l); err == io.EOF {
				break
			} else if err != nil {
				return nil, fmt.Errorf("go list: %w", err)
			}
			if l.Dir, err = filepath.Rel(root, l.Dir); err != nil {
				return nil, err
			}
			g.add(l)
		}
	}
	return g, g.readNames()
}

func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
