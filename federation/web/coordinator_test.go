package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api"
)

// treeStore is a store of an account tree that keeps nothing.
type treeStore struct{}

func (treeStore) AccountRecords(context.Context) ([]accounts.Record, error) { return nil, nil }
func (treeStore) WriteAccounts(context.Context, []accounts.Change, accounts.Editor, time.Time, string) error {
	return nil
}
func (treeStore) SetMadeAt(context.Context, string, accounts.Key, bool) error   { return nil }
func (treeStore) MadeAt(context.Context, string) (map[accounts.Key]bool, error) { return nil, nil }

// A coordinator is offered what can be done to jobs of the account, and of those below it, and to no others; it is done. The jobs' output is their users' own.
func TestCoordinator(t *testing.T) {
	books, err := accounts.Open(t.Context(), treeStore{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = books.Edit(t.Context(), accounts.Editor{Name: "root", Operator: true}, []accounts.Edit{
		{Op: accounts.Add, Key: accounts.AccountKey("physics"), AddCoordinators: []string{"carol"}},
		{Op: accounts.Add, Key: accounts.AccountKey("optics"), Parent: "physics"},
		{Op: accounts.Add, Key: accounts.AccountKey("vision")},
		{Op: accounts.Add, Key: accounts.UserKey("optics", "bob")},
		{Op: accounts.Add, Key: accounts.UserKey("vision", "bob")},
	}, "", false)
	if err != nil {
		t.Fatal(err)
	}
	p := &house{t: t, clock: new(clock), people: new(people)}
	p.serve(api.Config{Books: spentBooks{}, Coordinators: books, Accounts: api.Accounts{Books: books}})
	p.Controller.SetSites(furnishedSites(time.Now())...)
	for id, account := range map[federation.JobID]string{11: "physics", 12: "optics", 13: "vision"} {
		j := jobOf(id, bob, "of-"+account, federation.Pending)
		j.TreeAccount = account
		p.Put(t, j)
	}
	b := p.signedIn(carol, false)
	_, list := b.get("/jobs?user=bob")
	for id, may := range map[int]bool{11: true, 12: true, 13: false, 3: false} {
		if got := strings.Contains(list, fmt.Sprintf(`aria-label="Choose job %d"`, id)); got != may {
			t.Errorf("job %d can be chosen: %v, want %v", id, got, may)
		}
		path := fmt.Sprintf("/job/%d", id)
		_, page := b.get(path)
		if got := strings.Contains(page, `value="cancel"`); got != may || strings.Contains(page, ">Output<") {
			t.Errorf("%s has buttons: %v, want %v: %s", path, got, may, textOf(page))
		}
		p.offers(b, path, page)
		form := url.Values{"verb": {"cancel"}, "job": {fmt.Sprint(id)}}
		if _, said := b.post("/act", form); strings.Contains(said, `name="confirmed"`) != may {
			t.Errorf("cancelling job %d, want %v: %s", id, may, textOf(said))
		}
	}
	if _, page := p.signedIn(alice, false).get("/job/11"); strings.Contains(page, `value="cancel"`) {
		t.Error("alice is offered to cancel bob's job")
	}
	if status, said := b.post("/act", url.Values{"verb": {"hold"}, "job": {"12"}, "confirmed": {"yes"}}); status != http.StatusSeeOther {
		t.Errorf("hold: %d %s", status, textOf(said))
	}
	ops, err := p.Store.Operations(t.Context(), false, 10)
	if err != nil || len(ops) != 1 || ops[0].By.User != "carol" || ops[0].By.From != "web" {
		t.Errorf("%v: %+v", err, ops)
	}
}
