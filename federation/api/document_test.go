package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("api.update", false, "write comments.json anew")

// TestComments: what the document says of types and fields are their comments as they are.
func TestComments(t *testing.T) {
	docs, err := readDocs("v1")
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.MarshalIndent(docs, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("comments.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(comments, want) {
		t.Error("comments.json is not up to date; run: go test ./federation/api -run TestComments -api.update")
	}
}

// readDocs reads the comments of the packages in some folders.
func readDocs(dirs ...string) (typeDocs, error) {
	docs := typeDocs{}
	for _, dir := range dirs {
		files, err := fs.Glob(os.DirFS(dir), "*.go")
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), dir+"/"+name, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			addDocs(docs, f)
		}
	}
	return docs, nil
}

func addDocs(d typeDocs, f *ast.File) {
	put := func(name, text string) {
		if text != "" {
			d[name] = text
		}
	}
	for _, decl := range f.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, spec := range g.Specs {
			t := spec.(*ast.TypeSpec)
			name := f.Name.Name + "." + t.Name.Name
			put(name, commentText(g.Doc, t.Doc))
			s, ok := t.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range s.Fields.List {
				for _, n := range field.Names {
					put(name+"."+n.Name, commentText(field.Doc, field.Comment))
				}
			}
		}
	}
}

// commentText is the first comment that there is, as one line.
func commentText(comments ...*ast.CommentGroup) string {
	for _, c := range comments {
		if t := strings.Join(strings.Fields(c.Text()), " "); t != "" {
			return t
		}
	}
	return ""
}
