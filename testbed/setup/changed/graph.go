package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listed is what go list says of a package, Dir being relative to the repository's root.
type listed struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
	GoFiles, CgoFiles                  []string
	TestGoFiles, XTestGoFiles          []string
}

// pkg is a package of the module and what it needs.
type pkg struct {
	path, dir        string
	imports          map[string]bool // by the package, or named in it
	tests            map[string]bool // by its tests, further
	reads, testReads map[string]bool // files and folders elsewhere that are named in it, and in its tests
	files, testFiles map[string]bool
}

// graph is all packages of the module, by import path.
type graph struct {
	root     string
	packages map[string]*pkg
}

// add adds a package, or what it needs with other build tags.
func (g *graph) add(l listed) {
	p := g.packages[l.ImportPath]
	if p == nil {
		p = &pkg{path: l.ImportPath, dir: filepath.ToSlash(l.Dir), imports: map[string]bool{}, tests: map[string]bool{},
			reads: map[string]bool{}, testReads: map[string]bool{}, files: map[string]bool{}, testFiles: map[string]bool{}}
		g.packages[l.ImportPath] = p
	}
	for set, lists := range map[*map[string]bool][][]string{
		&p.imports: {l.Imports}, &p.tests: {l.TestImports, l.XTestImports},
		&p.files: {l.GoFiles, l.CgoFiles}, &p.testFiles: {l.TestGoFiles, l.XTestGoFiles},
	} {
		for _, list := range lists {
			for _, s := range list {
				(*set)[s] = true
			}
		}
	}
}

// readNames finds the packages and paths that the packages' files name in string literals.
func (g *graph) readNames() error {
	for _, p := range g.packages {
		for _, part := range []struct{ files, imports, reads map[string]bool }{{p.files, p.imports, p.reads}, {p.testFiles, p.tests, p.testReads}} {
			for file := range part.files {
				source, err := os.ReadFile(filepath.Join(g.root, p.dir, file))
				if err != nil {
					return err
				}
				for _, s := range literals(source) {
					for _, named := range g.named(s) {
						part.imports[named] = true
					}
					if at, ok := g.pathNamed(p, s); ok {
						part.reads[at] = true
					}
				}
			}
		}
	}
	return nil
}

// named returns the packages that a string names: one by its path; all below where it ends in a slash or in "/...".
func (g *graph) named(s string) []string {
	if g.packages[s] != nil {
		return []string{s}
	}
	below := strings.TrimSuffix(s, "...")
	if !strings.HasSuffix(below, "/") || len(below) < 2 {
		return nil
	}
	var named []string
	for p := range g.packages {
		if strings.HasPrefix(p, below) {
			named = append(named, p)
		}
	}
	return named
}

// pathNamed returns what is outside of a package's folder and named by a string in it, by its path from the root.
func (g *graph) pathNamed(p *pkg, s string) (string, bool) {
	if !strings.HasPrefix(s, "../") || strings.ContainsAny(s, "\x00\n*") {
		return "", false
	}
	at := path.Join(p.dir, s)
	if at == "." || strings.HasPrefix(at, "..") {
		return "", false
	}
	_, err := os.Stat(filepath.Join(g.root, at))
	return at, err == nil
}

// literals returns the strings of a Go file.
func literals(source []byte) []string {
	var found []string
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", set.Base(), len(source)), source, nil, 0)
	for {
		_, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return found
		case token.STRING:
			if value, err := strconv.Unquote(text); err == nil {
				found = append(found, value)
			}
		}
	}
}

// reachedBy returns the packages whose tests can tell a change of files, in order.
func (g *graph) reachedBy(files []string) []string {
	changed := map[string]bool{}
	for _, f := range files {
		if !g.touch(f, changed) && path.Ext(f) != ".md" && !strings.HasPrefix(path.Base(f), ".git") && f != "LICENSE" {
			for p := range g.packages {
				changed[p] = true
			}
		}
	}
	var reached []string
	for _, p := range slices.Sorted(maps.Keys(g.packages)) {
		if len(g.packages[p].testFiles) > 0 && g.tests(p, changed) {
			reached = append(reached, p)
		}
	}
	return reached
}

// testsOf is what stands in the set of changed packages for one whose tests alone have changed.
func testsOf(p string) string { return fmt.Sprintf("%s [tests]", p) }

// touch marks the packages that a file belongs to: whoever names it, or a folder that it lies in, and the package in the nearest folder. It reports whether
// there is any.
func (g *graph) touch(file string, changed map[string]bool) bool {
	touched := false
	nearest, depth := "", -1
	for _, p := range g.packages {
		if p.dir == path.Dir(file) || strings.HasPrefix(file, p.dir+"/") {
			if len(p.dir) > depth {
				nearest, depth = p.path, len(p.dir)
			}
		}
		for at := range p.reads {
			if within(file, at) {
				changed[p.path], touched = true, true
			}
		}
		for at := range p.testReads {
			if within(file, at) {
				changed[testsOf(p.path)], touched = true, true
			}
		}
	}
	if nearest == "" {
		return touched
	}
	if strings.HasSuffix(file, "_test.go") {
		nearest = testsOf(nearest)
	}
	changed[nearest] = true
	return true
}

func within(file, at string) bool { return file == at || strings.HasPrefix(file, at+"/") }

// tests reports whether the tests of a package reach any that changed.
func (g *graph) tests(p string, changed map[string]bool) bool {
	if changed[testsOf(p)] {
		return true
	}
	seen := map[string]bool{}
	var reaches func(string) bool
	reaches = func(path string) bool {
		if changed[path] {
			return true
		}
		if seen[path] || g.packages[path] == nil {
			return false
		}
		seen[path] = true
		for next := range g.packages[path].imports {
			if reaches(next) {
				return true
			}
		}
		return false
	}
	if reaches(p) {
		return true
	}
	for next := range g.packages[p].tests {
		if reaches(next) {
			return true
		}
	}
	return false
}
