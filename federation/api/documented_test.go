package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/accounting/report"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/action"
	"fsub/federation/api"
	"fsub/federation/api/identity"
	"fsub/federation/api/identity/oidc"
	"fsub/federation/api/signin"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/decision"
	"fsub/federation/driver"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/reports"
	"fsub/federation/stored"
	"fsub/federation/webhooks"
	"fsub/sbatch"
	"fsub/testbed/openid"
)

// schema is what the tests know of JSON schema: all that package openapi writes.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"` // a string or several
	Format     string             `json:"format"`
	Items      *schema            `json:"items"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Additional any                `json:"additionalProperties"`
	Nullable   bool               `json:"nullable"`
}

type described struct {
	OpenAPI string `json:"openapi"`
	Paths   map[string]map[string]struct {
		Summary    string `json:"summary"`
		Parameters []struct {
			Name, In string
			Schema   struct {
				Type             string
				Minimum, Maximum int64
				Enum             []string
			}
		}
		RequestBody *struct {
			Content map[string]struct{ Schema schema }
		} `json:"requestBody"`
		Responses map[string]struct {
			Content map[string]struct{ Schema schema }
			Headers map[string]any
		} `json:"responses"`
	} `json:"paths"`
	Components struct{ Schemas map[string]*schema } `json:"components"`
}

// check reports how a value differs from its schema: fields that are not described or missing, values of another type.
func (d *described) check(path string, s *schema, v any) (faults []string) {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		if s = d.Components.Schemas[name]; s == nil {
			return []string{path + ": no schema " + name}
		}
	}
	is := func(t string) bool {
		if all, ok := s.Type.([]any); ok {
			for _, one := range all {
				if one == t {
					return true
				}
			}
		}
		return s.Type == t
	}
	wrong := func() []string { return []string{fmt.Sprintf("%s: %v is no %v", path, v, s.Type)} }
	switch v := v.(type) {
	case nil:
		if !is("null") && !s.Nullable {
			return wrong()
		}
	case string:
		if _, err := time.Parse(time.RFC3339, v); !is("string") || s.Format == "date-time" && err != nil {
			return wrong()
		}
	case bool:
		if !is("boolean") {
			return wrong()
		}
	case float64:
		if !is("number") && !(is("integer") && v == float64(int64(v))) {
			return wrong()
		}
	case []any:
		if !is("array") {
			return wrong()
		}
		for i := range v {
			faults = append(faults, d.check(fmt.Sprint(path, "[", i, "]"), s.Items, v[i])...)
		}
	case map[string]any:
		if !is("object") {
			return wrong()
		}
		for name, field := range v {
			if known := s.Properties[name]; known != nil {
				faults = append(faults, d.check(path+"."+name, known, field)...)
			} else if s.Additional == false {
				faults = append(faults, path+"."+name+" is not described")
			}
		}
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				faults = append(faults, path+"."+name+" is missing")
			}
		}
	}
	return faults
}

// TestAnswersAreAsDescribed asks every route that the document has, and holds each answer against its schema. A route that is added
// there has to be asked here.
func TestAnswersAreAsDescribed(t *testing.T) {
	pools := &books{
		pools:    []driver.PoolStatus{{Site: "sky", Name: "p", Daily: 5, Cooling: []driver.Cooling{{What: "cloud", Reason: "FedQuota", Until: time.Now()}}}},
		machines: []driver.Machine{{Site: "sky", Pool: "p", ID: "m1", Created: time.Now(), Job: 5}},
	}
	steps := &running{}
	known := health.Report{Rules: health.Rules(), Nodes: []health.NodeState{{Node: federation.NodeID{Site: "alpha", Name: "n1"}, Fails: []health.Fail{{At: time.Now()}}, Until: time.Now().Add(time.Hour)}},
		Breakers: []health.Breaker{{Name: "lemon", Open: time.Now(), Why: "w"}}}
	tree, _ := treeOfTwo(t)
	saved := savedReports(t)
	idp := openid.Start(t)
	idp.Devices.Auto = "alice"
	provider, err := oidc.New(oidc.Config{Issuer: idp.Issuer, ClientID: "fsub"})
	if err != nil {
		t.Fatal(err)
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	var hooks *webhooks.Hub
	d := startWith(t, api.Config{Webhooks: func() *webhooks.Hub { return hooks }, Provider: provider, WebAddress: "https://fed.example", Daemons: twoDaemons{}, Tokens: identity.NewTokens([]byte("key")), RemoteAddress: func() string { return "tls://a:1#b" }, Reports: saved, Accounts: tree, Prices: asked{}, Books: sumsOf{}, CheckBooks: unequal{}, Bills: unequal{}, Budgets: standings, Health: func() *health.Report { return &known }, Pools: pools, Steps: steps, Logs: fakeLogs{}, StepSignals: map[federation.SiteName]driver.StepSignaller{"sky": &stepSite{}},
		CheckSite: func(context.Context, federation.SiteName) ([]driver.SiteCheck, error) {
			return []driver.SiteCheck{{Name: "clock", Result: driver.CheckFailed, Detail: "1 h", Advice: "set it"}}, nil
		},
		UpdateSite: func(context.Context, federation.SiteName, v1.UpdateSite, audit.Entry) error { return nil },
		AddSite: func(context.Context, v1.AddSite, audit.Entry) (federation.SiteName, error) {
			return "new", nil
		}})
	saved.Make = d.Server.Report
	hooks = newHooks(t, d)
	now := time.Now()
	signIns := signin.New(d.Store, time.Now)
	newTicket := func() (hash string, seal signin.Seal) {
		text, _, err := signIns.Ticket(t.Context(), "root", uint32(os.Getuid()), false, audit.Entry{})
		if err != nil {
			t.Fatal(err)
		}
		_, secret, seal, _ := signin.ReadTicket(text)
		return signin.Hash(secret), seal
	}
	ticket, seal := newTicket()
	d.Store.AddMaintenance(t.Context(), &federation.Maintenance{Site: "sky", Nodes: "n1", From: now, To: now.Add(time.Hour), Reason: "x", By: "ann"})
	d.Store.SetSiteState(t.Context(), federation.SiteRecord{Name: "sky", State: federation.FedDrain, Lost: now, By: "ann", At: now})
	d.Controller.SetSites(append(testSites(), &federation.Site{Name: "sky", Lost: now, NextTry: now, Conditions: []federation.Condition{{Name: federation.CondLost, Since: now}}})...)
	d.Controller.SetSites(append(testSites(), &federation.Site{Name: "sky"})...)
	d.Controller.SetDecision(decision.Decision{Offers: []*decision.Offer{{Site: "alpha", Terms: []decision.Term{{Name: "run", Amount: 2}}}},
		Rejections: []decision.Rejection{{Site: "beta", Reason: "Resources"}}})
	ran, waits, ended := job(0, alice, federation.Running), job(0, alice, federation.Pending), job(0, alice, federation.Completed)
	ran.Site, ran.Nodes, ran.Start, ran.Attempt, ran.Submit = "sky", "n1", time.Now().Add(-time.Minute), 1, time.Now()
	waits.Spec.Array, waits.Whole = "0-9%2", &federation.ArrayWhole{Count: 10, Max: 9, Step: 1, Limit: 2}
	ended.End, ended.Start, ended.Cancel = time.Now(), time.Now().Add(-time.Hour), true
	ids := d.Put(t, ran, waits, ended)
	ran.ID = ids[0]
	steps.id.Store(int64(ids[0]))
	d.Store.Commit(t.Context(), &journal.Batch{
		Attempts: []*federation.Attempt{{Job: ids[0], Number: 1, Key: "k", Site: "sky", State: federation.AttemptStarted, Created: time.Now(),
			Decision: decision.Decision{Offers: []*decision.Offer{{Site: "sky"}}}, Runs: []federation.AttemptRun{{State: federation.Requeued}}}},
		Tasks:  []*federation.Task{{Job: ids[1], Index: 1, State: federation.Running}},
		Events: []federation.Event{{Job: ids[0], At: time.Now(), Text: "happened"}},
		Moves:  []journal.Move{{Job: ids[0], Task: -1, What: journal.MoveEnd, State: federation.Completed}},
	})
	hello := v1.SubmitRequest{Spec: sbatch.Spec{Name: "x", WorkDir: "/tmp"}, Payload: sbatch.Payload{Script: "#!/bin/sh\n"}}
	act := v1.ActRequest{Jobs: []v1.JobRef{{ID: ids[1]}, {ID: 99}}}
	signal, change := act, act
	signal.Signal, change.Change = stored.Signal{Name: "USR1"}, []sbatch.Change{{Key: "Comment", Option: "comment", Value: "y"}}
	operation := action.Operation{At: time.Now(), Verb: action.Cancel}
	d.Store.AddOperation(t.Context(), &operation, []action.OperationItem{{N: 1, Job: ids[0], Settled: 1, Note: "x"}})
	d.Store.AddAudit(t.Context(), audit.Entry{Verb: "drain", Kind: audit.Node, Object: "alpha/n1"})
	bodies := map[string]any{ // of POST, by path
		"/fed/v1/job": hello, "/fed/v1/jobs/signal": signal, "/fed/v1/jobs/update": change,
		"/fed/v1/steps/signal":      v1.StepSignal{Job: ids[0], Step: "0"},
		"/fed/v1/site/{name}/state": v1.SetSiteState{State: federation.FedActive},
		"/fed/v1/site/{name}/retry": nil,
		"/fed/v1/offers/refresh":    nil,
		"/fed/v1/daemons/step-down": nil,
		"/fed/v1/what-if":           v1.WhatIf{Drain: []string{"alpha"}, Jobs: 10},
		"/fed/v1/accounts": v1.EditAccounts{Edits: []v1.AccountEdit{{Op: accounts.Modify, Kind: accounts.User, Account: "physics", Name: "alice",
			Set: map[string]string{"Fairshare": "5"}}}, Why: "x"},
		"/fed/v1/accounts/import":         v1.ImportAccounts{Site: "alpha", Replace: true},
		"/fed/v1/accounts/sync":           v1.SyncAccounts{Site: "alpha", DryRun: true},
		"/fed/v1/nodes/reboot":            v1.RebootNodes{Nodes: []string{"alpha/*"}, ASAP: true},
		"/fed/v1/site/{name}/test":        nil,
		"/fed/v1/site/{name}/update":      v1.UpdateSite{Set: []string{"timeout=20s"}},
		"/fed/v1/books/check":             nil,
		"/fed/v1/books/bills":             v1.ImportBill{Site: "sky", From: "2026-11-01", Until: "2026-12-01", Format: "FOCUS", Lines: []v1.BillLine{{Day: "2026-11-02", Amount: 5}}},
		"/fed/v1/reports":                 v1.SavedReport{Name: "new", Report: "cost", Format: "csv", Mail: nil},
		"/fed/v1/report/{name}/run":       nil,
		"/fed/v1/webhooks":                v1.Webhook{Name: "new", URL: receiver.URL},
		"/fed/v1/webhook/{name}/test":     nil,
		"/fed/v1/webhook/{name}/replay":   nil,
		"/fed/v1/webhook/{name}/rotate":   nil,
		"/fed/v1/tokens":                  v1.Token{Name: "ci", Scope: "submit", Lifetime: "30d"},
		"/fed/v1/login":                   nil,
		"/fed/v1/login/token":             v1.LoginPoll{Name: "x"},
		"/fed/v1/sites":                   v1.AddSite{Config: "name: new"},
		"/fed/v1/maintenance":             v1.Maintenance{Site: "sky", From: now, To: now.Add(time.Hour), Reason: "x"},
		"/fed/v1/nodes/state":             v1.SetNodes{Nodes: []string{"alpha/*"}, State: federation.WishDrain, Reason: "x", Until: time.Now().Add(time.Hour)},
		"/fed/v1/jobs/submit":             v1.BatchEntry{Name: "one", Spec: sbatch.Spec{Name: "one", WorkDir: "/"}, Payload: sbatch.Payload{Script: "#!/bin/sh\n"}},
		"/fed/v1/jobs/states":             v1.StatesRequest{Jobs: ids[:1]},
		"/fed/v1/operations":              v1.NewOperation{Verb: action.Cancel, Where: []string{"user=alice"}},
		"/fed/v1/operation/{id}/told":     nil,
		"/fed/v1/web/tickets":             v1.NewTicket{},
		"/fed/v1/web/sessions":            v1.NewSession{Ticket: ticket, Until: seal.Until, Seal: seal.MAC, Session: signin.Hash("new")},
		"/fed/v1/web/session/{hash}/used": nil,
		"/fed/v1/health/reset":            v1.ResetHealth{},
		"/fed/v1/health/check":            v1.HealthCheck{Node: "alpha/n1", Findings: []v1.HealthProblem{{Code: "check-disk", Text: "/tmp is full"}}},
	}
	for _, kind := range []string{"cancel", "hold", "release", "requeue", "requeuehold", "requeuespecial", "top", "suspend", "resume"} {
		bodies["/fed/v1/jobs/"+kind] = act
	}
	queries := map[string]string{"/fed/v1/events": "?since=0", "/fed/v1/accounting": "?start_time=1000", "/fed/v1/machines": "?since=0", "/fed/v1/books/sums": "?by=account,user&every=day"}

	client := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", d.Socket) }}}
	defer client.CloseIdleConnections()
	ask := func(method, path string, in any) (*http.Response, []byte) {
		t.Helper()
		var body io.Reader
		if in != nil {
			text, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			body = bytes.NewReader(text)
		}
		r, err := http.NewRequest(method, "http://fsub"+path, body)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(path, "/fed/v1/web/session") { // the page asks within the process
			if r.Body == nil {
				r.Body = http.NoBody
			}
			w := httptest.NewRecorder()
			d.Server.ServeHTTP(w, r.WithContext(identity.ByBrowser(t.Context(), uint32(os.Getuid()), false)))
			return w.Result(), w.Body.Bytes()
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, text
	}
	_, text := ask("GET", "/fed/v1/openapi.json", nil)
	var doc described
	if err := json.Unmarshal(text, &doc); err != nil || doc.OpenAPI != "3.1.0" || len(doc.Paths) < 30 {
		t.Fatalf("%d paths, %v: %.200s", len(doc.Paths), err, text)
	}
	lists := 0
	for path, methods := range doc.Paths {
		if _, pages := methods["get"].Responses["304"]; pages {
			lists++
			pagesAreAsDescribed(t, &doc, path, func(query string, have string) (int, http.Header, []byte) {
				r := httptest.NewRequest("GET", "http://fsub"+path+"?"+query, nil)
				r.Header.Set("If-None-Match", have)
				w := httptest.NewRecorder()
				d.Server.ServeHTTP(w, r.WithContext(identity.ByBrowser(t.Context(), uint32(os.Getuid()), true)))
				return w.Code, w.Result().Header, w.Body.Bytes()
			})
		}
	}
	if lists < 19 {
		t.Errorf("only %d lists are there page by page", lists)
	}
	checked := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if strings.HasSuffix(path, "/tunnel") { // its answer is no answer: TestTunnel
				continue
			}
			body, known := bodies[path]
			if method != "post" {
				body = nil
			}
			if method == "post" && !known {
				t.Errorf("POST %s: what is it asked with?", path)
				continue
			}
			if body != nil {
				var generic any
				text, _ := json.Marshal(body)
				json.Unmarshal(text, &generic)
				content, is := op.RequestBody.Content["application/json"]
				if !is {
					content = op.RequestBody.Content["application/x-ndjson"]
				}
				for _, fault := range doc.check("POST "+path, &content.Schema, generic) {
					t.Error(fault)
				}
			}
			id := ids[0]
			if strings.HasSuffix(path, "/wait") {
				id = ids[2]
			}
			of := id.String()
			switch {
			case strings.HasPrefix(path, "/fed/v1/operation/"):
				of = "1"
			case strings.HasPrefix(path, "/fed/v1/web/"):
				of = "all"
			}
			name := strings.NewReplacer("{site}/{name}", "alpha/n1", "{hash}", signin.Hash("session"), "{id}", of, "{number}", "1", "{name}", "sky").Replace(path)
			if strings.HasPrefix(path, "/fed/v1/web/session/") { // which one of them ends
				another, seal := newTicket()
				if _, err := signIns.Open(t.Context(), "root", uint32(os.Getuid()), another, seal, signin.Hash("session"), "", audit.Entry{}); err != nil {
					t.Fatal(err)
				}
			}
			if strings.HasPrefix(path, "/fed/v1/report/") { // which one of them removes
				reports.In(d.Store).Put(t.Context(), &reports.Saved{Definition: reports.Definition{Owner: "root", Name: "sky", Spec: report.Spec{Kind: "budget"}, Format: "csv"}})
			}
			if strings.HasPrefix(path, "/fed/v1/webhook/") {
				ask("POST", "/fed/v1/webhooks", v1.Webhook{Name: "sky", URL: receiver.URL})
			}
			if path == "/fed/v1/login/token" {
				begun, err := provider.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				body = v1.LoginPoll{Secret: begun.Secret, Name: "x"}
			}
			if strings.HasPrefix(path, "/fed/v1/token/") {
				ask("POST", "/fed/v1/tokens", v1.Token{Name: "sky", Scope: "read", Lifetime: "1h"})
			}
			resp, answer := ask(strings.ToUpper(method), name+queries[path], body)
			want, ok := op.Responses[fmt.Sprint(resp.StatusCode)]
			if !ok {
				t.Errorf("%s %s: status %d is not described: %.300s", method, name, resp.StatusCode, answer)
				continue
			}
			mime := resp.Header.Get("Content-Type")
			content, ok := want.Content[mime]
			if !ok && (len(want.Content) > 0 || len(answer) > 0) {
				t.Errorf("%s %s: the answer is %q", method, name, mime)
			}
			if content.Schema.Type == nil && content.Schema.Ref == "" { // in a form of its own
				continue
			}
			for i, line := range bytes.Split(bytes.TrimSpace(answer), []byte("\n")) {
				var v any
				if err := json.Unmarshal(line, &v); err != nil {
					t.Fatalf("%s %s: %v", method, name, err)
				}
				if m, ok := v.(map[string]any); ok && m["mark"] != nil && len(m) == 1 { // between the events
					continue
				}
				checked++
				for _, fault := range doc.check(fmt.Sprint(method, " ", path, " line ", i), &content.Schema, v) {
					t.Error(fault)
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d answers were held against a schema", checked)
	}
	var record any
	text, _ = json.Marshal(v1.JobRecord{})
	json.Unmarshal(bytes.Replace(text, []byte(`"user":`), []byte(`"usr":`), 1), &record)
	if faults := doc.check("job", &schema{Ref: "#/components/schemas/JobRecord"}, record); len(faults) != 2 {
		t.Errorf("a field of another name: %q", faults)
	}
	for _, c := range []struct{ method, path string }{{"GET", "/fed/v1/job/99"}, {"POST", "/fed/v1/job"}} {
		resp, answer := ask(c.method, c.path, map[string]any{"spec": 5})
		var v any
		if err := json.Unmarshal(answer, &v); err != nil || resp.StatusCode < 400 {
			t.Fatalf("%s %s: %d, %v", c.method, c.path, resp.StatusCode, err)
		}
		for _, fault := range doc.check("refusal", &schema{Ref: "#/components/schemas/ErrorResponse"}, v) {
			t.Error(fault)
		}
	}
}

// asked knows one price, and a list that has said a wrong one.
type asked struct{}

func (asked) Offers(v1.OfferQuery) ([]v1.Offer, error) {
	return []v1.Offer{{Cloud: "aws", Type: "p5.48xlarge", Region: "us-east-1", Zone: "use1-az4", Market: "spot", Accelerator: "h100", Count: 8, CPUs: 192, MemGiB: 2048, Machines: 1, USD: 18, Total: 18,
		PricedAt: time.Unix(1e9, 0).UTC(), From: "spot price history", Stale: true, Age: "3 d"}}, nil
}

func (asked) Refresh(context.Context) []v1.PriceList {
	at := time.Unix(1e9, 0).UTC()
	return []v1.PriceList{{Name: "Azure retail prices", At: &at, Prices: 3, Error: "gone", Refused: []v1.RefusedPrice{{Cloud: "azure", Type: "Standard_NC96ads_A100_v4", Region: "eastus", Zone: "1", Market: "on-demand", USD: 700, Why: "unknown"}}}}
}

// twoDaemons share a store.
type twoDaemons struct{}

func (twoDaemons) Daemons(context.Context) ([]v1.Daemon, error) {
	return []v1.Daemon{{Name: "a", Address: "a:6825", Leads: true, Version: "v0.4.0", Since: time.Unix(1.7e9, 0)}, {Name: "b", Address: "b:6825", Version: "v0.4.0", Since: time.Unix(1.7e9, 0), Silent: 0.5}}, nil
}

func (twoDaemons) StepDown() {}

// pagesAreAsDescribed reads a list page by page: it is what the whole list is. Words are refused whose values the document does not allow.
func pagesAreAsDescribed(t *testing.T, doc *described, path string, get func(query, have string) (int, http.Header, []byte)) {
	t.Helper()
	op := doc.Paths[path]["get"]
	code, _, text := get("", "")
	var whole, paged []json.RawMessage
	if err := json.Unmarshal(text, &whole); code != http.StatusOK || err != nil {
		t.Errorf("%s: status %d, %v: %.200s", path, code, err, text)
		return
	}
	word := "after"
	for query := "limit=1"; ; {
		code, head, text := get(query, "")
		var p v1.Page[json.RawMessage]
		if err := json.Unmarshal(text, &p.Items); code != http.StatusOK || err != nil || len(p.Items) > 1 {
			t.Errorf("%s?%s: status %d, %v: %.200s", path, query, code, err, text)
			return
		}
		p.ReadHeaders(head)
		paged = append(paged, p.Items...)
		for name := range head {
			known := slices.ContainsFunc(slices.Collect(maps.Keys(op.Responses["200"].Headers)), func(one string) bool { return strings.EqualFold(one, name) })
			if !known && name != "Content-Type" && name != "Cache-Control" {
				t.Errorf("%s: the header %s is not described", path, name)
			}
		}
		if code, _, text := get(query, p.ETag); p.ETag == "" || code != http.StatusNotModified || len(text) > 0 {
			t.Errorf("%s?%s: the ETag %q once more is status %d: %.200s", path, query, p.ETag, code, text)
		}
		if query == "limit=1" && p.Prev != "" { // the first page is the last of the list
			word = "before"
		}
		cursor := map[string]string{"after": p.Next, "before": p.Prev}[word]
		if cursor == "" {
			break
		}
		query = "limit=1&" + word + "=" + cursor
	}
	sorted := func(all []json.RawMessage) []string {
		var texts []string
		for _, x := range all {
			texts = append(texts, string(x))
		}
		slices.Sort(texts)
		return texts
	}
	if path != "/fed/v1/jobs" && !slices.Equal(sorted(whole), sorted(paged)) { // in which costs go on
		t.Errorf("%s: page by page it is\n%s\nand as a whole\n%s", path, paged, whole)
	}
	if len(paged) != len(whole) {
		t.Errorf("%s: %d things page by page, %d in the whole list", path, len(paged), len(whole))
	}
	refused := map[string][]string{"after": {"x"}, "before": {"x"}, "fields": {"nonsense"}}
	for _, p := range op.Parameters {
		bad := refused[p.Name]
		switch {
		case p.In != "query":
			continue
		case p.Schema.Type == "integer":
			bad = []string{"x", "-1", fmt.Sprint(p.Schema.Minimum - 1)}
			if p.Schema.Maximum > 0 {
				bad = append(bad, fmt.Sprint(p.Schema.Maximum+1))
			}
		case p.Schema.Enum != nil:
			bad = []string{"nonsense"}
			for _, v := range p.Schema.Enum {
				if code, _, text := get(p.Name+"="+v, ""); code != http.StatusOK {
					t.Errorf("%s?%s=%s: status %d: %.200s", path, p.Name, v, code, text)
				}
			}
		}
		for _, v := range bad {
			if code, _, text := get(p.Name+"="+v, ""); code != http.StatusBadRequest {
				t.Errorf("%s?%s=%s: status %d, want 400: %.200s", path, p.Name, v, code, text)
			}
		}
	}
}
