package controller

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostFields is how many fields a struct may have. One that outgrows it has more than one subject. (testbed/deptest counts methods.)
const mostFields = 22

// bags are the structs that may have more fields than mostFields, each with the reason.
var bags = map[string]string{
	"parts": "it lists what a controller consists of", "Config": "what the daemon is configured with",
	"site": "a record: what is known of one site", "tried": "a record: what is known of a job's attempts",
}

// embedders are the structs that may embed a pointer to another one of this package, each with the reason.
var embedders = map[string]string{
	"Controller": "the methods of its View are its own", "View": "and so are those of judging", "job": "a million jobs share what most of them have",
	"foretelling": "one answer of the forecasts", "poisoned": "a unit, with the reason", "waitsThere": "a job, with what its site says of it",
}

// TestWalls: a part of the controller has a state of its own and names what it needs of others. None embeds what others share, and none outgrows one subject.
func TestWalls(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	receivers := map[string][]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && len(n.Recv.List[0].Names) == 1 {
					of := typeName(n.Recv.List[0].Type)
					if is := n.Recv.List[0].Names[0].Name; !slices.Contains(receivers[of], is) {
						receivers[of] = append(receivers[of], is)
					}
				}
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					checkFields(t, n.Name.Name, s)
				}
			case *ast.SelectorExpr:
				if n.Sel.Name == "rows" && name != "batch.go" {
					t.Errorf("%s reaches into a batch: it is written by the methods of pendingBatch alone", name)
				}
			}
			return true
		})
	}
	for of, names := range receivers {
		if len(names) > 1 {
			t.Errorf("the receiver of %s is called %v, want one name", of, names)
		}
		if of != "Controller" && slices.Contains(names, "c") {
			t.Errorf("the receiver of %s is called c, as if it were the Controller", of)
		}
	}
}

// checkFields holds what a struct may embed, and how many fields it may have.
func checkFields(t *testing.T, name string, s *ast.StructType) {
	n := 0
	for _, f := range s.Fields.List {
		n += max(len(f.Names), 1)
		star, pointer := f.Type.(*ast.StarExpr)
		if len(f.Names) > 0 || !pointer {
			continue
		}
		if of, ours := star.X.(*ast.Ident); ours && embedders[name] == "" {
			t.Errorf("%s embeds *%s: give it what it needs of that, by name", name, of.Name)
		}
	}
	if n > mostFields && bags[name] == "" {
		t.Errorf("%s has %d fields, want at most %d", name, n, mostFields)
	}
}

// typeName is the name of a type, or of a pointer to it.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
