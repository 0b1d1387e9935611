package api_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
	"fsub/testbed/apitest"
)

// A list is where the body of a request may have any number of elements: the text of a body around it, and the shortest element.
type list struct{ before, element, after string }

// body has as many elements as fit in so many bytes.
func (l *list) body(size int) string {
	n := (size - len(l.before) - len(l.after)) / (len(l.element) + 1)
	if strings.Contains(l.element, "%d") {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, l.element+",", i)
		}
		return l.before + strings.TrimSuffix(b.String(), ",") + l.after
	}
	return l.before + strings.TrimSuffix(strings.Repeat(l.element+",", n), ",") + l.after
}

// listsOf are the lists in JSON of a type.
func listsOf(t reflect.Type, before, after string, within []reflect.Type) (all []list) {
	if slices.Contains(within, t) {
		return nil
	}
	within = append(slices.Clone(within), t)
	switch t.Kind() {
	case reflect.Pointer:
		return listsOf(t.Elem(), before, after, within)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		all = append(all, list{before + "[", shortest(t.Elem()), "]" + after})
		if t.Elem().Kind() == reflect.Struct {
			all = append(all, list{before + "[", "null", "]" + after})
		}
		return append(all, listsOf(t.Elem(), before+"[", "]"+after, within)...)
	case reflect.Map:
		return append(all, list{before + "{", `"%d":` + shortest(t.Elem()), "}" + after})
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && name == "":
				all = append(all, listsOf(f.Type, before, after, within)...)
			case f.IsExported() && name != "-":
				if name == "" {
					name = f.Name
				}
				all = append(all, listsOf(f.Type, before+`{"`+name+`":`, "}"+after, within)...)
			}
		}
	}
	if t == reflect.TypeFor[federation.TaskSet]() {
		all = append(all, list{before + "[", "0", "]" + after}, list{before + `"`, "0", `"` + after})
	}
	return all
}

// shortest is the shortest text of a value.
func shortest(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "{}"
	case reflect.Slice:
		return "[]"
	case reflect.String:
		return `""`
	case reflect.Pointer:
		return shortest(t.Elem())
	}
	return "0"
}

// slurmBodies are those of slurmrestd's paths that have a type.
var slurmBodies = map[string]reflect.Type{
	"POST /job/submit": reflect.TypeFor[wire.JobSubmitRequest](),
	"POST /job/{id}":   reflect.TypeFor[wire.JobDesc](),
	"DELETE /jobs/":    reflect.TypeFor[wire.KillJobs](),
}

// slurmRoutes are those of one version of slurmrestd's paths that take a body, by its document.
func slurmRoutes(t *testing.T, document []byte) map[string]reflect.Type {
	var d struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	routes := map[string]reflect.Type{}
	for path, methods := range d.Paths {
		rest, ok := strings.CutPrefix(path, "/slurm/v0.0.42")
		for method := range methods {
			if method = strings.ToUpper(method); ok && method != "GET" {
				routes[method+" "+path] = slurmBodies[method+" "+strings.ReplaceAll(rest, "{job_id}", "{id}")]
			}
		}
	}
	return routes
}

// TestSwollenBodies sends every route bodies of many short elements, wherever its type has a list, as one who may call all of them: none has more
// than 48 times its size allocated in all, of which about a third is there at a time, or takes long. Routes are those of the table: a new one is tried without a word here.
func TestSwollenBodies(t *testing.T) {
	info, _ := debug.ReadBuildInfo()
	detecting := slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
	if detecting {
		t.Log("NOT CHECKED: memory and time, of which the race detector takes the most")
	}
	tokens := identity.NewTokens([]byte("key"))
	d := apitest.Start(t, api.Config{Tokens: tokens, Users: users{alice: "alice"}, Operators: []string{"alice"}})
	id := d.Put(t, job(0, alice, federation.Pending))[0]
	token := tokens.Make("alice", time.Now().Add(24*time.Hour))
	routes := d.Server.Bodies()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/openapi.json", nil)
	r.TLS = &tls.ConnectionState{}
	r.Header.Set("X-SLURM-USER-TOKEN", token)
	d.Server.ServeHTTP(w, r)
	slurm, typed := slurmRoutes(t, w.Body.Bytes()), 0
	maps.Copy(routes, slurm)
	for _, of := range slurm {
		if of != nil {
			typed++
		}
	}
	if typed != len(slurmBodies) {
		t.Errorf("%d of slurmrestd's routes have a type, want %d: %v", typed, len(slurmBodies), slices.Sorted(maps.Keys(slurm)))
	}
	tried := 0
	for _, route := range slices.Sorted(maps.Keys(routes)) {
		lists := []list{{"[", "{}", "]"}, {`{"x":[`, "{}", "]}"}, {"", `{"x":`, ""}}
		if of := routes[route]; of != nil {
			lists = append(lists, listsOf(of, "", "", nil)...)
		}
		method, path, _ := strings.Cut(route, " ")
		path = strings.NewReplacer("{id}", id.String(), "{job_id}", id.String(), "{node_name}", "x", "{name}", "x", "{number}", "1").Replace(path)
		for _, l := range lists {
			tried++
			for _, size := range []int{1 << 20, 16 << 20} {
				if detecting && size > 1<<20 {
					continue
				}
				if size > 1<<20 && l.element != "{}" && os.Getenv("FSUB_FULL") == "" {
					continue // of what is smaller than a struct the size does not matter
				}
				text := l.body(size)
				r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(text))
				r.TLS = &tls.ConnectionState{}
				r.Header.Set("X-SLURM-USER-TOKEN", token)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := cpu()
				w := httptest.NewRecorder()
				d.Server.ServeHTTP(w, r)
				took := cpu() - began
				runtime.ReadMemStats(&after)
				most := time.Second + time.Duration(size>>20)*100*time.Millisecond // of processors, in a race with other tests of the machine for their caches
				if grown := after.TotalAlloc - before.TotalAlloc; !detecting && (grown > uint64(48*size) || took > most) {
					t.Errorf("%s: %d MiB of %s%s...%s: %d MiB, %v, status %d", route, size>>20, l.before, l.element, l.after, grown>>20, took, w.Code)
				}
			}
		}
	}
	if tried < 150 {
		t.Errorf("only %d shapes were tried", tried)
	}
}

// cpu is how much of the processors this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// unread fails the test when it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read before it is asked who calls")
	return 0, io.EOF
}

// TestBodiesOfThoseWhoMayNot: what only coordinators, operators or administrators may send is refused to others before it is read.
func TestBodiesOfThoseWhoMayNot(t *testing.T) {
	tokens := identity.NewTokens([]byte("key"))
	d := apitest.Start(t, api.Config{Tokens: tokens, Users: users{alice: "alice"}})
	ask := func(method, path string, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, body)
		r.TLS = &tls.ConnectionState{}
		r.Header.Set("X-SLURM-USER-TOKEN", tokens.Make("alice", time.Now().Add(24*time.Hour)))
		w := httptest.NewRecorder()
		d.Server.ServeHTTP(w, r)
		return w
	}
	n := 0
	for route, who := range d.Server.MayCall() {
		if who == "anybody" || who == "the job's owner, operators" || who == string(v1.ForStrangers) {
			continue
		}
		n++
		method, path, _ := strings.Cut(route, " ")
		path = strings.NewReplacer("{id}", "1", "{name}", "x", "{number}", "1").Replace(path)
		if w := ask(method, path, unread{t}); w.Code != 403 {
			t.Errorf("%s, which is for %s: status %d", route, who, w.Code)
		}
	}
	if n < 15 {
		t.Errorf("only %d routes are for some", n)
	}
}
