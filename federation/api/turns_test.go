package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/accounting/report"
	"fsub/accounting/report/format"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/driver"
	"fsub/federation/reports"
	"fsub/federation/store"
	"fsub/federation/usage"
	"fsub/federation/webhooks"
)

// slowPlace is all that operators have asked and that takes long: it waits until the test lets it go.
type slowPlace struct {
	asked chan struct{}
	leave chan struct{}
}

func (p slowPlace) wait() {
	p.asked <- struct{}{}
	<-p.leave
}

func (p slowPlace) Offers(v1.OfferQuery) ([]v1.Offer, error)     { return nil, nil }
func (p slowPlace) Refresh(context.Context) []v1.PriceList       { p.wait(); return nil }
func (p slowPlace) Sacctmgr(context.Context, []string) error     { p.wait(); return nil }
func (p slowPlace) Send(context.Context, *reports.Message) error { p.wait(); return nil }
func (p slowPlace) ReadAccounts(context.Context) (*accounts.Import, error) {
	p.wait()
	return &accounts.Import{}, nil
}

func (p slowPlace) Check(context.Context, federation.SiteName, int64, int64) (*v1.BooksCheck, error) {
	p.wait()
	return &v1.BooksCheck{}, nil
}

// busyUsage takes a processor for as long as who has worked much lately.
type busyUsage struct{ usage.Store }

func (busyUsage) UsageOf(context.Context, []federation.JobID) (map[federation.JobID][]usage.Usage, error) {
	time.Sleep(400 * time.Millisecond)
	return nil, nil
}

// TestSlowPlacesHoldNobodyUp: while requests wait for a site, for a price list, for a mail server, others are answered: also a user who has had much answered
// lately, for whom no turn is spare.
func TestSlowPlacesHoldNobodyUp(t *testing.T) {
	p := slowPlace{asked: make(chan struct{}), leave: make(chan struct{})}
	books, err := accounts.Open(t.Context(), &treeStore{made: map[accounts.Key]bool{}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), store.Config{Path: t.TempDir() + "/fed.db", Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var hooks atomic.Pointer[webhooks.Hub] // requests are answered before there is one
	d := startWith(t, api.Config{
		Webhooks: hooks.Load,
		Usage:    busyUsage{}, Prices: p, CheckBooks: p,
		Reports: reports.New(reports.Config{Saved: reports.In(st), Mail: p, Domains: []string{"example.org"}, Write: format.Write, Ending: format.Ending,
			Make: func(_ context.Context, _ *reports.Definition, spec report.Spec, at time.Time) (*report.Table, error) {
				q, _, err := spec.Ask(at)
				if err != nil {
					return nil, err
				}
				return report.Make(q, nil)
			}}),
		Accounts: api.Accounts{Books: books, Sites: func() map[federation.SiteName]driver.AccountKeeper {
			return map[federation.SiteName]driver.AccountKeeper{"alpha": p}
		}},
		CheckSite: func(context.Context, federation.SiteName) ([]driver.SiteCheck, error) {
			p.wait()
			return nil, nil
		},
		AddSite: func(context.Context, v1.AddSite, audit.Entry) (federation.SiteName, error) {
			p.wait()
			return "beta", nil
		},
	})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { p.wait() }))
	t.Cleanup(receiver.Close)
	hooks.Store(newHooks(t, d))
	if code := as(t, olga, d.Socket, "POST", "/fed/v1/webhooks", v1.Webhook{Name: "w", URL: receiver.URL}, nil); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	d.Controller.SetSites(&federation.Site{Name: "alpha"})
	d.Put(t, job(1, alice, federation.Running))
	saved := v1.SavedReport{Name: "r", Report: "usage", By: []string{"user"}, Every: "day", Last: "30d", Format: "html", Mail: []string{"olga@example.org"}}
	if code := as(t, olga, d.Socket, "POST", "/fed/v1/reports", saved, nil); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	turns := max(min(runtime.NumCPU(), runtime.GOMAXPROCS(0))/2, 1)
	for _, r := range []struct {
		method, path string
		in           any
	}{
		{"POST", "/fed/v1/site/alpha/test", nil},
		{"POST", "/fed/v1/sites", v1.AddSite{}},
		{"POST", "/fed/v1/offers/refresh", nil},
		{"POST", "/fed/v1/books/check?site=alpha", nil},
		{"GET", "/fed/v1/accounts/drift", nil},
		{"POST", "/fed/v1/accounts/import", v1.ImportAccounts{Site: "alpha"}},
		{"POST", "/fed/v1/accounts/sync", v1.SyncAccounts{Site: "alpha"}},
		{"POST", "/fed/v1/report/r/run", nil},
		{"POST", "/fed/v1/webhook/w/test", nil},
	} {
		one := strings.HasSuffix(r.path, "/run")                                                          // at a time
		if code := as(t, alice, d.Socket, "GET", "/fed/v1/accounting", nil, nil); code != http.StatusOK { // now she has worked much
			t.Fatalf("status %d", code)
		}
		var wg sync.WaitGroup
		for i := range turns {
			wg.Go(func() {
				if !strings.HasPrefix(r.path, "/fed/v1/webhook/") {
					as(t, olga, d.Socket, r.method, r.path, r.in, nil)
					return
				}
				var try v1.WebhookTry // else she has given up, and only then was another answered
				if as(t, olga, d.Socket, r.method, r.path, r.in, &try); !try.Good {
					t.Errorf("%s: %s", r.path, try.Result)
				}
			})
			if i == 0 || !one {
				<-p.asked
			}
		}
		if code := as(t, alice, d.Socket, "GET", "/fed/v1/sites", nil, nil); code != http.StatusOK {
			t.Errorf("while %s %s waits another gets status %d", r.method, r.path, code)
		}
		for i := range turns {
			p.leave <- struct{}{}
			if one && i < turns-1 {
				<-p.asked
			}
		}
		wg.Wait()
	}
}
