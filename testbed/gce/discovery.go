package gce

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// doc is a JSON object.
type doc = map[string]any

// api is one discovery document.
type api struct {
	methods []*method
	schemas map[string]*schema
}

type method struct {
	ID         string // with the service: "compute.instances.bulkInsert"
	HTTPMethod string
	FlatPath   string
	Parameters map[string]*schema
	Request    *schema
	Response   *schema

	path  *regexp.Regexp
	names []string // of the path's variables
}

// schema is a type, a field or a parameter.
type schema struct {
	Ref                  string `json:"$ref"`
	Type, Format         string
	Pattern              string
	Enum                 []string
	Items                *schema
	Properties           map[string]*schema
	AdditionalProperties *schema
	ReadOnly             bool
	Required             bool
	Location             string
	Annotations          struct{ Required []string }
}

type resource struct {
	Methods   map[string]*method
	Resources map[string]*resource
}

// moduleDir is where the SDK's module lies, which has the documents.
var moduleDir = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/api").Output()
	dir := strings.TrimSpace(string(out))
	if err == nil && dir == "" {
		err = fmt.Errorf("it is not downloaded: go mod download google.golang.org/api")
	}
	if err != nil {
		return "", fmt.Errorf("find the module google.golang.org/api, which has the discovery documents: %w", err)
	}
	return dir, nil
})

// services are those of Google's services that stand here, by the beginnings of their paths.
var services = []struct {
	path, name string
	api        func() *api
}{
	{"/compute/", "compute.", document("compute/v1/compute-api.json")},
	{"/v3/", "cloudresourcemanager.", document("cloudresourcemanager/v3/cloudresourcemanager-api.json")},
	{"/v1/projects/", "iam.", document("iam/v1/iam-api.json")},
	{"/", "tpu.", document("tpu/v2alpha1/tpu-api.json")},
}

func document(file string) func() *api { return sync.OnceValue(func() *api { return load(file) }) }

// serviceOf is the service that a path belongs to, and what the names of its methods begin with.
func serviceOf(path string) (api func() *api, name string) {
	for _, s := range services {
		if strings.HasPrefix(path, s.path) {
			return s.api, s.name
		}
	}
	return nil, "" // every path begins with /
}

// load reads a document. It panics where there is none: no test can go on.
func load(file string) *api {
	dir, err := moduleDir()
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		panic(err)
	}
	var d struct {
		ServicePath string
		Schemas     map[string]*schema
		Parameters  map[string]*schema
		resource
	}
	if err := json.Unmarshal(text, &d); err != nil {
		panic(fmt.Errorf("%s: %w", file, err))
	}
	a := &api{schemas: d.Schemas}
	a.add(&d.resource, "/"+d.ServicePath, d.Parameters)
	return a
}

var variable = regexp.MustCompile(`\{[^}]*\}`)

func (a *api) add(r *resource, prefix string, common map[string]*schema) {
	for _, m := range r.Methods {
		for _, v := range variable.FindAllString(m.FlatPath, -1) {
			m.names = append(m.names, v[1:len(v)-1])
		}
		parts := variable.Split(m.FlatPath, -1)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		m.path = regexp.MustCompile("^" + regexp.QuoteMeta(prefix) + strings.Join(parts, "([^/:]+)") + "$")
		for name, p := range common {
			if m.Parameters == nil {
				m.Parameters = map[string]*schema{}
			}
			if m.Parameters[name] == nil {
				m.Parameters[name] = p
			}
		}
		a.methods = append(a.methods, m)
	}
	for _, sub := range r.Resources {
		a.add(sub, prefix, common)
	}
}

// find returns the method that a request is for, and what its path says.
func (a *api) find(r *http.Request) (*method, map[string]string) {
	for _, m := range a.methods {
		if m.HTTPMethod != r.Method {
			continue
		}
		if found := m.path.FindStringSubmatch(r.URL.Path); found != nil {
			vars := map[string]string{}
			for i, name := range m.names {
				vars[name] = found[i+1]
			}
			return m, vars
		}
	}
	return nil, nil
}

// checkQuery holds the parameters of a request to the document.
func (m *method) checkQuery(q url.Values) error {
	for name, values := range q {
		p := m.Parameters[name]
		if p == nil || p.Location != "query" {
			return fmt.Errorf("unknown parameter %q of %s", name, m.ID)
		}
		for _, v := range values {
			var value any = v
			if p.Type == "integer" {
				if n, err := strconv.ParseFloat(v, 64); err == nil {
					value = n
				}
			}
			if p.Type == "boolean" {
				value = v == "true"
			}
			if err := (&checker{method: m.ID}).check(p, value, name); err != nil {
				return err
			}
		}
	}
	for name, p := range m.Parameters {
		if p.Required && p.Location == "query" && !q.Has(name) {
			return fmt.Errorf("parameter %q of %s is missing", name, m.ID)
		}
	}
	return nil
}

// checker holds a value to its schema.
type checker struct {
	schemas  map[string]*schema
	method   string
	incoming bool // a request: output-only fields are refused, required ones asked for
}

func (c *checker) check(s *schema, v any, at string) error {
	if s == nil {
		return fmt.Errorf("%s: nothing was expected", at)
	}
	if s.Ref != "" {
		return c.check(c.schemas[s.Ref], v, at)
	}
	switch v := v.(type) {
	case map[string]any:
		return c.object(s, v, at)
	case []any:
		if s.Type != "array" {
			return fmt.Errorf("%s: want %s, not a list", at, s.Type)
		}
		for i, one := range v {
			if err := c.check(s.Items, one, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case string:
		if s.Type != "string" && s.Type != "any" {
			return fmt.Errorf("%s: want %s, not %q", at, s.Type, v)
		}
		return s.text(v, at)
	case float64:
		if s.Type != "integer" && s.Type != "number" && s.Type != "any" || s.Type == "integer" && v != float64(int64(v)) {
			return fmt.Errorf("%s: want %s %s, not the number %v", at, s.Type, s.Format, v)
		}
	case bool:
		if s.Type != "boolean" && s.Type != "any" {
			return fmt.Errorf("%s: want %s, not %v", at, s.Type, v)
		}
	}
	return nil
}

func (c *checker) object(s *schema, v map[string]any, at string) error {
	if s.Type != "object" && s.Type != "any" {
		return fmt.Errorf("%s: want %s, not an object", at, s.Type)
	}
	for name, value := range v {
		field := s.Properties[name]
		if field == nil {
			field = s.AdditionalProperties
		}
		switch {
		case s.Type == "any":
		case field == nil:
			return fmt.Errorf("unknown name %q at %s", name, at)
		case c.incoming && field.ReadOnly:
			return fmt.Errorf("%s.%s is for output only", at, name)
		default:
			if err := c.check(field, value, at+"."+name); err != nil {
				return err
			}
		}
	}
	for name, field := range s.Properties {
		if _, there := v[name]; c.incoming && !there && slices.Contains(field.Annotations.Required, c.method) {
			return fmt.Errorf("%s.%s is missing", at, name)
		}
	}
	return nil
}

var (
	durationForm = regexp.MustCompile(`^\d+(\.\d{1,9})?s$`)
	numberForm   = regexp.MustCompile(`^-?\d+$`)
)

// text checks a string's format, pattern and values.
func (s *schema) text(v, at string) error {
	bad := false
	switch s.Format {
	case "int64", "uint64", "int32", "uint32":
		bad = !numberForm.MatchString(v)
	case "google-duration":
		bad = !durationForm.MatchString(v)
	case "google-datetime", "date-time":
		_, err := time.Parse(time.RFC3339Nano, v)
		bad = err != nil
	}
	if bad {
		return fmt.Errorf("%s: %q is no %s", at, v, s.Format)
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		return fmt.Errorf("invalid value at %s: %q is none of %s", at, v, strings.Join(s.Enum, ", "))
	}
	if s.Pattern != "" && s.Location != "path" {
		if p, err := regexp.Compile("^(?:" + s.Pattern + ")$"); err == nil && !p.MatchString(v) {
			return fmt.Errorf("invalid value for field %s: %q must match %s", at, v, s.Pattern)
		}
	}
	return nil
}
