package api

import (
	"fmt"
	"os"
	"strings"
	"testing"

	v1 "fsub/federation/api/v1"
)

// boundsOf says by what a request is bounded: the name of a class of docs/limits.md.
func boundsOf(r route) string {
	switch {
	case r.Path == "/fed/v1/job/{id}/tunnel":
		return "tunnel"
	case r.Path == "/fed/v1/job/{id}/wait" || r.Path == "/fed/v1/events":
		return "long poll"
	case r.Who == string(v1.ForOperators) || r.Who == string(v1.ForAdmins):
		return "operators"
	case r.Who == string(v1.ForStrangers):
		return "stranger"
	case r.Method == "GET":
		return "read"
	case strings.HasPrefix(r.Path, "/fed/v1/web/"):
		return "sign-in"
	case r.Path == "/fed/v1/job":
		return "submission"
	case r.Path == "/fed/v1/jobs/submit":
		return "batch"
	case r.Path == "/fed/v1/jobs/states":
		return "read"
	case strings.HasPrefix(r.Path, "/fed/v1/jobs/"), r.Path == "/fed/v1/steps/signal":
		return "change"
	case strings.HasPrefix(r.Path, "/fed/v1/operation"):
		return "operation"
	case strings.HasPrefix(r.Path, "/fed/v1/report"):
		return "report"
	case strings.HasPrefix(r.Path, "/fed/v1/webhook"):
		return "webhook"
	case strings.HasPrefix(r.Path, "/fed/v1/token"):
		return "token"
	case r.Path == "/fed/v1/what-if":
		return "what-if"
	case r.Path == "/fed/v1/accounts":
		return "coordinators"
	}
	return ""
}

// TestEveryRouteHasItsBounds: docs/limits.md has each route of /fed/v1 in its class; a new route without one fails.
func TestEveryRouteHasItsBounds(t *testing.T) {
	const file, begin, end = "../../docs/limits.md", "<!-- routes -->\n", "<!-- end of routes -->\n"
	var table strings.Builder
	table.WriteString("| request | class |\n|---|---|\n")
	for _, r := range (&Server{}).fedRoutes() {
		class := boundsOf(r)
		if class == "" {
			t.Errorf("%s %s: by what is it bounded?", r.Method, r.Path)
		}
		fmt.Fprintf(&table, "| %s %s | %s |\n", r.Method, r.Path, class)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", file)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+table.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != table.String() {
		t.Errorf("%s is not up to date; run: go test ./federation/api -run TestEveryRouteHasItsBounds -api.update", file)
	}
	for _, class := range []string{"long poll", "operators", "read", "submission", "batch", "change", "operation", "coordinators", "report", "sign-in", "stranger", "token", "what-if"} {
		if !strings.Contains(before, "| **"+class+"** |") {
			t.Errorf("%s does not say what bounds %q", file, class)
		}
	}
}
