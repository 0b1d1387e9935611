package config

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"fsub/sbatch"
)

var update = flag.Bool("update", false, "write docs/configuration.md from the types")

const referenceHead = `# Configuration

` + "The daemon reads one file, `/etc/fsub/fed.yaml` or the one that `--config` names; without any it serves this machine as its one site. Every key but" + `
` + "the sites has a default, and an unknown key is an error with its line and column. `fed config check` prints what was understood. Durations are" + `
` + "written `90s`, `5m`, `48h`; names of files are relative to the configuration's directory." + `

<!-- Made from the types of cmd/fed/internal/config: go test ./cmd/fed/internal/config -run TestConfigurationReference -update -->
`

// TestConfigurationReference holds that docs/configuration.md is what the types and their comments make of it.
func TestConfigurationReference(t *testing.T) {
	const file = "../../../../docs/configuration.md"
	var b strings.Builder
	b.WriteString(referenceHead)
	r := reference{out: &b, t: t, comments: map[string]map[string]*ast.TypeSpec{}, seen: map[reflect.Type]bool{}}
	r.section("Top level", reflect.TypeFor[Config](), reflect.ValueOf(Default()))
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(file); err != nil || string(is) != b.String() {
		t.Errorf("docs/configuration.md is stale (%v); run: go test ./cmd/fed/internal/config -run TestConfigurationReference -update", err)
	}
}

// reference writes a section for each type of the configuration.
type reference struct {
	t        *testing.T
	out      *strings.Builder
	comments map[string]map[string]*ast.TypeSpec // by the package's folder and the type's name
	seen     map[reflect.Type]bool
}

// section describes the keys of a struct, and then those of the structs that they lead to. value
// has the defaults; it is not valid where there are none.
func (r *reference) section(title string, typ reflect.Type, value reflect.Value) {
	r.seen[typ] = true
	fmt.Fprintf(r.out, "\n## %s\n\n", title)
	if typ != reflect.TypeFor[Config]() {
		fmt.Fprintf(r.out, "%s\n\n", r.typeComment(typ))
	}
	type below struct {
		title string
		typ   reflect.Type
		value reflect.Value
	}
	var further []below
	for _, f := range reflect.VisibleFields(typ) {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" || key == "-" {
			continue
		}
		of := typ // the struct that has the field: one inside it where that is inline
		for _, i := range f.Index[:len(f.Index)-1] {
			of = of.Field(i).Type
		}
		comment := r.fieldComment(of, f.Name)
		if comment == "" {
			r.t.Errorf("%s.%s: the key %s has no comment", typ, f.Name, key)
		}
		what, inner := kindOf(f.Type)
		if value.IsValid() && inner == nil {
			if text := defaultOf(value.FieldByIndex(f.Index)); text != "" {
				what += ", default " + text
			}
		}
		fmt.Fprintf(r.out, "- `%s` (%s): %s\n", key, what, comment)
		if inner == nil || r.seen[inner] {
			continue
		}
		b := below{title: title + ": " + key, typ: inner}
		if title == "Top level" {
			b.title = key
		}
		if f.Type.Kind() == reflect.Struct && value.IsValid() {
			b.value = value.FieldByIndex(f.Index)
		}
		further = append(further, b)
	}
	for _, b := range further {
		r.section(b.title, b.typ, b.value)
	}
}

// kindOf says in a word what a key takes, and which struct its own keys are of.
func kindOf(typ reflect.Type) (what string, inner reflect.Type) {
	switch typ {
	case reflect.TypeFor[time.Duration]():
		return "duration", nil
	case reflect.TypeFor[sbatch.MemMiB]():
		return "MiB", nil
	case reflect.TypeFor[Directories]():
		return "list of paths, or none", nil
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return kindOf(typ.Elem())
	case reflect.Struct:
		return "see below", typ
	case reflect.Slice:
		if _, inner = kindOf(typ.Elem()); inner != nil {
			return "list, see below", inner
		}
		if typ.Elem().Kind() == reflect.String {
			return "list", nil
		}
		return "list of numbers", nil
	case reflect.Map:
		if _, inner = kindOf(typ.Elem()); inner != nil {
			return "by name, see below", inner
		}
		what, _ = kindOf(typ.Elem())
		return what + " by name", nil
	case reflect.String:
		return "text", nil
	case reflect.Bool:
		return "true or false", nil
	default:
		return "number", nil
	}
}

// defaultOf returns a default as it is written, "" for the zero value.
func defaultOf(v reflect.Value) string {
	if v.IsZero() {
		return ""
	}
	if d, ok := v.Interface().(time.Duration); ok {
		text := d.String()
		for _, zero := range []string{"m0s", "h0m"} {
			if strings.HasSuffix(text, zero) {
				text = text[:len(text)-2]
			}
		}
		return text
	}
	return fmt.Sprint(v.Interface())
}

// typeComment returns the comment of a type in one line for each paragraph, without its name.
func (r *reference) typeComment(typ reflect.Type) string {
	spec := r.spec(typ)
	text := strings.TrimSpace(spec.Doc.Text())
	for _, verb := range []string{" is ", " holds ", " are "} {
		if _, rest, found := strings.Cut(text, typ.Name()+verb); found {
			text = strings.ToUpper(rest[:1]) + rest[1:]
			break
		}
	}
	var paragraphs []string
	for p := range strings.SplitSeq(text, "\n\n") {
		paragraphs = append(paragraphs, strings.Join(strings.Fields(p), " "))
	}
	return strings.Join(paragraphs, "\n\n")
}

func (r *reference) fieldComment(typ reflect.Type, field string) string {
	for _, f := range r.spec(typ).Type.(*ast.StructType).Fields.List {
		for _, name := range f.Names {
			if name.Name == field {
				return strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
			}
		}
	}
	return ""
}

// spec finds a type of this module in its source.
func (r *reference) spec(typ reflect.Type) *ast.TypeSpec {
	dir := filepath.Join("../../../..", strings.TrimPrefix(typ.PkgPath(), "fsub"))
	if r.comments[dir] == nil {
		r.comments[dir] = map[string]*ast.TypeSpec{}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			r.t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				r.t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.TYPE {
					for _, s := range d.Specs {
						s := s.(*ast.TypeSpec)
						if s.Doc == nil {
							s.Doc = d.Doc
						}
						r.comments[dir][s.Name.Name] = s
					}
				}
				return true
			})
		}
	}
	spec := r.comments[dir][typ.Name()]
	if spec == nil {
		r.t.Fatalf("no source of %s in %s", typ, dir)
	}
	return spec
}
