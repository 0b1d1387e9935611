package hosted

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fsub/cloud/provider"
	"fsub/federation"
)

// counted answers each call with the next of its errors, and counts them.
type counted struct {
	calls []string
	err   error
}

func (c *counted) note(call string) error {
	c.calls = append(c.calls, call)
	return c.err
}

func (c *counted) Offerings(context.Context) ([]provider.Offering, error) {
	return nil, c.note("offerings")
}
func (c *counted) Create(_ context.Context, r provider.Request) ([]provider.Instance, error) {
	return []provider.Instance{{ID: "i", Token: r.Token}}, c.note("create " + r.Token)
}
func (c *counted) Withdraw(_ context.Context, token string) error { return c.note("withdraw " + token) }
func (c *counted) List(context.Context) ([]provider.Instance, error) {
	return nil, c.note("list")
}
func (c *counted) Delete(_ context.Context, ids []provider.InstanceID) error {
	return c.note("delete " + string(ids[0]))
}

// served is a client of a provider on another daemon, under whose database epoch 8 leads.
func served(t *testing.T, p *counted) (*Client, *error) {
	t.Helper()
	var database error
	srv := httptest.NewTLSServer(&Handler{
		Provider: func(site federation.SiteName) provider.Provider {
			if site == "here" {
				return p
			}
			return nil
		},
		InForce: func(_ context.Context, epoch int64) (bool, error) { return epoch == 8, database },
	})
	t.Cleanup(srv.Close)
	return &Client{Site: "here", Daemon: "d2", Address: srv.Listener.Addr().String, Epoch: 8, HTTP: srv.Client()}, &database
}

// Nothing is done for a daemon that leads no longer, or while that is not known.
func TestFenced(t *testing.T) {
	p := new(counted)
	c, database := served(t, p)
	all := func() (errs []error) {
		_, offerings := c.Offerings(t.Context())
		_, create := c.Create(t.Context(), provider.Request{Token: "g1"})
		_, list := c.List(t.Context())
		return []error{offerings, create, c.Withdraw(t.Context(), "g2"), list, c.Delete(t.Context(), []provider.InstanceID{"i-1"})}
	}
	if err := errors.Join(all()...); err != nil {
		t.Fatal(err)
	}
	if want := []string{"offerings", "create g1", "list", "withdraw g2", "delete i-1"}; !slices.Equal(p.calls, want) {
		t.Fatalf("%q, want %q", p.calls, want)
	}
	p.calls = nil
	for _, fault := range []struct {
		epoch    int64
		database error
		words    string
	}{{7, nil, "another daemon leads by now"}, {9, nil, "another daemon leads by now"}, {8, errors.New("it is gone"), "cannot ask the database who leads: it is gone"}} {
		c.Epoch, *database = fault.epoch, fault.database
		for i, err := range all() {
			if !errors.Is(err, provider.ErrAway) || !errors.Is(err, federation.ErrUnavailable) || !strings.Contains(err.Error(), fault.words) {
				t.Errorf("epoch %d, call %d: %v; want %q", fault.epoch, i, err, fault.words)
			}
		}
	}
	if len(p.calls) > 0 {
		t.Errorf("%q was done all the same", p.calls)
	}
}

// What the provider refuses arrives as it is; a daemon that does not answer, does not have the site or is not known is away, in words that name it.
func TestErrors(t *testing.T) {
	p := &counted{err: &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Text: "there is no room"}}
	c, _ := served(t, p)
	_, err := c.Create(t.Context(), provider.Request{Token: "g1"})
	if e := provider.AsError(err); e.Kind != provider.KindStockOut || e.Scope != provider.ScopeOffering || e.Text != "there is no room" || errors.Is(err, provider.ErrAway) {
		t.Errorf("%#v", err)
	}
	other := *c
	other.Site = "new"
	unknown := *c
	unknown.Address = func() string { return "" }
	dead := *c
	dead.Address = func() string { return "127.0.0.1:1" }
	for words, c := range map[string]*Client{"no nodes of site new": &other, "no daemon of that name": &unknown, "connection refused": &dead} {
		_, err := c.List(t.Context())
		if !errors.Is(err, provider.ErrAway) || !strings.Contains(err.Error(), "daemon d2") || !strings.Contains(err.Error(), words) {
			t.Errorf("%v; want %q", err, words)
		}
	}
}
