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

// TestServersBoundHeaders: every HTTP server in the tree bounds the header of a request in bytes and in time. net/http's own bound is a mebibyte, of which
// each connection takes more than twice as much before anybody is asked who calls.
func TestServersBoundHeaders(t *testing.T) {
	servers := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if !isHTTP(n.Type, "Server") {
					break
				}
				servers++
				for _, want := range []string{"ReadHeaderTimeout", "MaxHeaderBytes"} {
					if !sets(n, want) {
						t.Errorf("%s: a server without %s", files.Position(n.Pos()), want)
					}
				}
			case *ast.CallExpr:
				for _, f := range []string{"Serve", "ServeTLS", "ListenAndServe", "ListenAndServeTLS"} {
					if isHTTP(n.Fun, f) {
						t.Errorf("%s: http.%s serves without bounds: make an http.Server", files.Position(n.Pos()), f)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if servers < 5 {
		t.Errorf("only %d servers were found", servers)
	}
}

// isHTTP reports whether e is http.NAME.
func isHTTP(e ast.Expr, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "http"
}

func sets(lit *ast.CompositeLit, field string) bool {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == field {
				return true
			}
		}
	}
	return false
}
