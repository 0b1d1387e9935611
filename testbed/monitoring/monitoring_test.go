// Package monitoring holds the rules, runbooks and dashboards of deploy/ against promtool, a real Prometheus and a daemon.
package monitoring

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const rulesFile = "../../deploy/prometheus/fsub.rules.yml"

// tool is a program of Debian's package prometheus.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("no %s: install Debian's package prometheus", name)
	}
	t.Skipf("NOT RUN: no %s: install Debian's package prometheus", name)
	return ""
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(tool(t, "promtool"), args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

type group struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

type rules struct {
	Groups []group `yaml:"groups"`
}

func readYAML(t *testing.T, path string, to any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func allRules(t *testing.T) (all []rule) {
	var r rules
	readYAML(t, rulesFile, &r)
	for _, g := range r.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 20 {
		t.Fatalf("%d rules in %s", len(all), rulesFile)
	}
	return all
}

func TestPromtool(t *testing.T) {
	promtool(t, "check", "config", "../../deploy/prometheus/prometheus.yml") // and the rules that it names
	promtool(t, "test", "rules", "../../deploy/prometheus/tests.yml")
}

// TestEachRuleFiresAndClears: tests.yml has a moment at which each alert fires, and one at which it does not.
func TestEachRuleFiresAndClears(t *testing.T) {
	var tests struct {
		Tests []struct {
			Alerts []struct {
				Name string `yaml:"alertname"`
				Want []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		} `yaml:"tests"`
	}
	readYAML(t, "../../deploy/prometheus/tests.yml", &tests)
	fires, clears := map[string]bool{}, map[string]bool{}
	for _, one := range tests.Tests {
		fired := map[string]bool{}
		for _, a := range one.Alerts {
			if len(a.Want) > 0 {
				fires[a.Name], fired[a.Name] = true, true
			} else if fired[a.Name] {
				clears[a.Name] = true
			}
		}
	}
	for _, r := range allRules(t) {
		if !fires[r.Alert] || !clears[r.Alert] {
			t.Errorf("%s: fires %v, clears after that %v", r.Alert, fires[r.Alert], clears[r.Alert])
		}
	}
}

// TestRunbooks: each alert has a section in docs/runbooks.md, with what it means, what it costs whom, where to look and what to do.
func TestRunbooks(t *testing.T) {
	text, err := os.ReadFile("../../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(text), "\n## ")[1:] {
		name, body, _ := strings.Cut(s, "\n")
		sections[name] = body
	}
	for _, r := range allRules(t) {
		body, found := sections[r.Alert]
		if !found {
			t.Errorf("docs/runbooks.md has no section %s", r.Alert)
		}
		delete(sections, r.Alert)
		for _, part := range []string{"Meaning", "Impact", "Look at", "Do"} {
			if !strings.Contains(body, "\n- "+part+": ") {
				t.Errorf("docs/runbooks.md: %s does not say: %s", r.Alert, part)
			}
		}
		if want := "docs/runbooks.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
		}
		if r.Annotations["summary"] == "" || !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: summary %q, severity %q", r.Alert, r.Annotations["summary"], r.Labels["severity"])
		}
	}
	for name := range sections {
		t.Errorf("docs/runbooks.md has a section %s, and there is no such alert", name)
	}
}

// expressions are those of a dashboard's panels and variables, by where they stand.
func expressions(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title      string                                 `json:"title"`
			Type       string                                 `json:"type"`
			Datasource struct{ UID string }                   `json:"datasource"`
			GridPos    struct{ X, Y, W, H int }               `json:"gridPos"`
			Targets    []struct{ RefID, Expr, Format string } `json:"targets"`
		} `json:"panels"`
		Templating struct {
			List []struct{ Name, Type string } `json:"list"`
		} `json:"templating"`
		UID, Title    string
		SchemaVersion int `json:"schemaVersion"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 {
		t.Errorf("%s: uid %q, title %q, version of the schema %d", path, d.UID, d.Title, d.SchemaVersion)
	}
	var names []string
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
	}
	if !slices.Contains(names, "datasource") || !slices.Contains(names, "site") {
		t.Errorf("%s: variables %v, want datasource and site", path, names)
	}
	all := map[string]string{}
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		if p.Datasource.UID != "${datasource}" || p.GridPos.W < 1 || p.GridPos.X+p.GridPos.W > 24 || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("%s: panel %q: source %q, at %+v, %d targets", path, p.Title, p.Datasource.UID, p.GridPos, len(p.Targets))
		}
		for _, target := range p.Targets {
			all[filepath.Base(path)+": "+p.Title+" "+target.RefID] = target.Expr
		}
	}
	return all
}

var dashboards = func() []string {
	all, _ := filepath.Glob("../../deploy/grafana/*.json")
	return all
}()

// TestDashboards: promtool reads each expression.
func TestDashboards(t *testing.T) {
	if len(dashboards) != 3 {
		t.Fatalf("%d dashboards", len(dashboards))
	}
	g := group{Name: "dashboards"}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1d", "$site", ".*")
	for _, path := range dashboards {
		for where, expr := range expressions(t, path) {
			name := "x" + regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(where, "_")
			g.Rules = append(g.Rules, rule{Alert: name, Expr: variables.Replace(expr)})
		}
	}
	text, err := yaml.Marshal(rules{Groups: []group{g}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dashboards.yml")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", path)
}

var (
	metricName  = regexp.MustCompile(`\bfsub_[a-z_]+`)
	ofHistogram = regexp.MustCompile(`_(bucket|sum|count)$`)
	documented  = regexp.MustCompile("(?m)^\\| `(fsub_[a-z_]+)")
	requestsOf  = regexp.MustCompile(`s_total$|_seconds$`)
)

// documentedMetrics are those of the table in docs/monitoring.md.
func documentedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, m := range documented.FindAllStringSubmatch(string(text), -1) {
		all[m[1]] = true
	}
	return all
}

// TestMetricsOfRulesExist: each metric of rules and dashboards is in the table of docs/monitoring.md, and each of that table is in the program.
func TestMetricsOfRulesExist(t *testing.T) {
	known := documentedMetrics(t)
	use := func(where, expr string) {
		for _, name := range metricName.FindAllString(expr, -1) {
			if !known[name] && !known[ofHistogram.ReplaceAllString(name, "")] {
				t.Errorf("%s: docs/monitoring.md has no metric %s", where, name)
			}
		}
	}
	for _, r := range allRules(t) {
		use(r.Alert, r.Expr)
	}
	for _, path := range dashboards {
		for where, expr := range expressions(t, path) {
			use(where, expr)
		}
	}
	source := source(t)
	for name := range known {
		if !strings.Contains(source, `"`+name+`"`) && !strings.Contains(source, `"`+requestsOf.ReplaceAllString(name, "")+`"`) {
			t.Errorf("docs/monitoring.md has %s, and no package names it", name)
		}
	}
}

// source is the text of the program, without tests.
func source(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"cloud", "cmd", "federation", "httpmetrics", "slurm"} {
		err := fs.WalkDir(os.DirFS("../.."), dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(filepath.Join("../..", path))
			fmt.Fprintf(&all, "%s\n", text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
