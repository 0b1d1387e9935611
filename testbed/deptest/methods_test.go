package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// mostMethods is how many methods a type may have. One with more keeps state that belongs to several types: fields that are touched together are
// a type of their own, with a constructor, its own methods and its own test.
const mostMethods = 40

// methodsOf counts the methods of each type of the program: "folder.Type". Tests and the test bed do not count.
func methodsOf(t *testing.T, root string) map[string]int {
	count := map[string]int{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && (rel == "testbed" || strings.HasPrefix(d.Name(), ".") && rel != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
				count[filepath.Dir(rel)+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// TestTypesStaySmall: no type has more methods than mostMethods.
func TestTypesStaySmall(t *testing.T) {
	count := methodsOf(t, "../..")
	if count["cloud.Driver"] == 0 {
		t.Fatalf("%d types were found, and cloud.Driver is not among them", len(count))
	}
	for name, n := range count {
		if n > mostMethods {
			t.Errorf("%s has %d methods, and may have %d: give state to a type that it belongs to", name, n, mostMethods)
		}
	}
}
