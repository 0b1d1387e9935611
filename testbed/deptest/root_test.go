package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// mostNames is how many names package federation exports. It only goes down: a word that one package uses, or that is not of the domain, lives elsewhere.
const mostNames = 191

// TestRootIsTheDomain: package federation has few names, and how something is stored or sent is not its business.
func TestRootIsTheDomain(t *testing.T) {
	files, err := filepath.Glob("../../federation/*.go")
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	count := func(all ...*ast.Ident) {
		for _, n := range all {
			if n.IsExported() {
				names++
			}
		}
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					count(d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						count(s.Name)
					case *ast.ValueSpec:
						count(s.Names...)
					}
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok && f.Tag != nil {
				t.Errorf("%s: a field with the tag %s: see package stored", name, f.Tag.Value)
			}
			return true
		})
	}
	if names > mostNames {
		t.Errorf("%d exported names, at most %d", names, mostNames)
	} else if names < mostNames-5 {
		t.Errorf("%d exported names by now: enter that instead of %d", names, mostNames)
	}
}
