package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/closing"
	"fsub/federation/driver"
	"fsub/federation/fairshare"
	"fsub/testbed/apitest"
)

// treeStore keeps an account tree in memory.
type treeStore struct{ made map[accounts.Key]bool }

func (s *treeStore) AccountRecords(context.Context) ([]accounts.Record, error) { return nil, nil }
func (s *treeStore) WriteAccounts(context.Context, []accounts.Change, accounts.Editor, time.Time, string) error {
	return nil
}
func (s *treeStore) MadeAt(context.Context, string) (map[accounts.Key]bool, error) {
	return s.made, nil
}
func (s *treeStore) SetMadeAt(_ context.Context, _ string, k accounts.Key, made bool) error {
	s.made[k] = made
	return nil
}

// keeper is a site's accounting that answers well, and does what it is told only if obeys is set.
type keeper struct {
	mu    sync.Mutex
	obeys bool
	told  []string
	at    accounts.Import
	tree  func() *accounts.Tree
}

func (k *keeper) ReadAccounts(context.Context) (*accounts.Import, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := k.at
	if k.obeys && len(k.told) > 0 {
		for _, r := range k.tree().Records() {
			at.Records = append(at.Records, *r)
		}
	}
	return &at, nil
}

// heard is what it was told so far.
func (k *keeper) heard() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.told)
}

func (k *keeper) Sacctmgr(_ context.Context, words []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = append(k.told, strings.Join(words, " "))
	return nil
}

// treeOfTwo has two accounts with a user each; bob coordinates one. alpha keeps an accounting of its own.
func treeOfTwo(t *testing.T) (api.Accounts, *keeper) {
	t.Helper()
	books, err := accounts.Open(t.Context(), &treeStore{made: map[accounts.Key]bool{}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = books.Edit(t.Context(), accounts.Editor{Name: "root", Operator: true}, []accounts.Edit{
		{Op: accounts.Add, Key: accounts.AccountKey("physics"), AddCoordinators: []string{"bob"}},
		{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")},
		{Op: accounts.Add, Key: accounts.AccountKey("vision")},
		{Op: accounts.Add, Key: accounts.UserKey("vision", "olga")},
	}, "", false)
	if err != nil {
		t.Fatal(err)
	}
	site := &keeper{tree: books.Tree, at: accounts.Import{Cluster: "alpha", Limits: true}}
	return api.Accounts{Books: books, Sites: func() map[federation.SiteName]driver.AccountKeeper {
		return map[federation.SiteName]driver.AccountKeeper{"alpha": site}
	}}, site
}

func startWithTree(t *testing.T) (*apitest.Daemon, *accounts.Books, *keeper) {
	a, site := treeOfTwo(t)
	return apitest.Start(t, api.Config{Users: testUsers, Operators: []string{"olga"}, Coordinators: a.Books, Accounts: a}), a.Books, site
}

// A coordinator sees and changes what stands below him, and nothing else.
func TestCoordinatorsAndTheTree(t *testing.T) {
	d, books, _ := startWithTree(t)
	for uid, want := range map[uint32]string{alice: "alice", bob: "alice", olga: "alice olga", 0: "alice olga"} {
		var all []v1.Account
		if code := as(t, uid, d.Socket, "GET", "/fed/v1/accounts", nil, &all); code != 200 {
			t.Fatalf("status %d", code)
		}
		var users []string
		for _, a := range all {
			if a.Kind == accounts.User {
				users = append(users, a.Name)
			}
		}
		if got := strings.Join(users, " "); got != want {
			t.Errorf("%s sees %q, want %q", testUsers[uid], got, want)
		}
	}
	edit := func(account, user, option string) v1.EditAccounts {
		return v1.EditAccounts{Edits: []v1.AccountEdit{{Op: accounts.Modify, Kind: accounts.User, Account: account, Name: user, Set: map[string]string{option: "5"}}}}
	}
	for _, c := range []struct {
		uid  uint32
		q    v1.EditAccounts
		want int
	}{
		{bob, edit("physics", "alice", "Fairshare"), 200}, {bob, edit("vision", "olga", "Fairshare"), 403}, {bob, edit("physics", "alice", "MaxJobs"), 403},
		{alice, edit("physics", "alice", "Fairshare"), 403}, {olga, edit("physics", "alice", "MaxJobs"), 200},
	} {
		if code := as(t, c.uid, d.Socket, "POST", "/fed/v1/accounts", c.q, nil); code != c.want {
			t.Errorf("%s: %+v: status %d, want %d", testUsers[c.uid], c.q.Edits, code, c.want)
		}
	}
	if got := books.Tree().Get(accounts.UserKey("physics", "alice")).Text(); got != "DefaultAccount=physics Fairshare=5 MaxJobs=5" {
		t.Error(got)
	}
	for _, path := range []string{"/fed/v1/accounts/sync", "/fed/v1/accounts/import"} {
		if code := as(t, bob, d.Socket, "POST", path, v1.SyncAccounts{Site: "alpha"}, nil); code != 403 {
			t.Errorf("bob at %s: status %d", path, code)
		}
	}
}

// What is closed by a used budget is no difference, and is told. Sites that nobody knows are refused.
func TestClosedAccounts(t *testing.T) {
	a, site := treeOfTwo(t)
	site.at.Records = []accounts.Record{{Key: accounts.AccountKey("physics"), Parent: accounts.Root, Coordinators: []string{"bob"}, Set: accounts.Settings{closing.Option: closing.Shut}}}
	closed := []closing.Closed{{Site: "alpha", Key: accounts.AccountKey("physics"), State: closing.Held, Before: "50", Why: "it has spent $5.00 of $5.00 this day"}}
	a.Closed = func(context.Context) ([]closing.Closed, error) { return closed, nil }
	d := apitest.Start(t, api.Config{Users: testUsers, Coordinators: a.Books, Accounts: a})
	var out v1.AccountDrift
	as(t, 0, d.Socket, "GET", "/fed/v1/accounts/drift", nil, &out)
	for _, diff := range out.Differences {
		if diff.Option == closing.Option {
			t.Errorf("a difference: %+v", diff)
		}
	}
	if len(out.Notices) != 1 || !strings.Contains(out.Notices[0], "account physics is closed at alpha") {
		t.Errorf("notices: %q", out.Notices)
	}
	for value, want := range map[string]int{"alpha": 200, "all": 200, "-1": 200, "-alpha": 200, "alfa": 400} {
		q := v1.EditAccounts{Edits: []v1.AccountEdit{{Op: accounts.Modify, Kind: accounts.Account, Name: "physics", Set: map[string]string{"BudgetClose": value}}}}
		if code := as(t, 0, d.Socket, "POST", "/fed/v1/accounts", q, nil); code != want {
			t.Errorf("BudgetClose=%s: status %d, want %d", value, code, want)
		}
	}
}

// A site that answers well and does nothing is found out; a dry run tells it nothing.
func TestSyncReadsBack(t *testing.T) {
	d, _, site := startWithTree(t)
	var out v1.AccountDrift
	if code := as(t, 0, d.Socket, "POST", "/fed/v1/accounts/sync", v1.SyncAccounts{Site: "alpha", DryRun: true}, &out); code != 200 || len(out.Differences) != 5 || len(site.heard()) != 0 {
		t.Fatalf("dry run: status %d, %+v, told %q", code, out, site.heard())
	}
	as(t, 0, d.Socket, "POST", "/fed/v1/accounts/sync", v1.SyncAccounts{Site: "alpha"}, &out)
	if len(site.heard()) != 7 || out.Differences[0].Error == "" {
		t.Errorf("a site that does nothing: %q, %+v", site.heard(), out.Differences)
	}
	site.mu.Lock()
	site.obeys, out = true, v1.AccountDrift{}
	site.mu.Unlock()
	as(t, 0, d.Socket, "GET", "/fed/v1/accounts/drift", nil, &out)
	if len(out.Differences) != 0 {
		t.Errorf("drift of an equal site: %+v", out.Differences)
	}
}

// What a lead may see and change, by each of the ways there are: of another account's people nothing, and each change is in the audit log.
func TestTreeByEveryWay(t *testing.T) {
	a, _ := treeOfTwo(t)
	shares := fairshare.New(fairshare.Default(), a.Books)
	now := time.Now()
	shares.Add("alice", federation.Held{Account: "physics", TRES: "cpu=4"}, time.Hour, 0, now)
	shares.Pass(now, nil)
	d := apitest.Start(t, api.Config{Users: testUsers, Operators: []string{"olga"}, Coordinators: a.Books, Accounts: a, FairShare: shares, Federation: "fed"})
	sites := testSites()
	sites[0].Seen.Accounts = []federation.Account{{Name: "root"}, {Name: "physics", Parent: "root"}, {Name: "vision", Parent: "root"}}
	sites[0].Seen.Associations = federation.Associations{"alice": {{Account: "physics"}}, "olga": {{Account: "vision"}}, "bob": {{Account: "vision"}}}
	d.Controller.SetSites(sites...)
	people := func(uid uint32, path string) string {
		t.Helper()
		var out map[string]any
		if code := as(t, uid, d.Socket, "GET", path, nil, &out); code != 200 {
			t.Fatalf("%s at %s: status %d", testUsers[uid], path, code)
		}
		delete(out, "meta") // names the caller
		delete(out, "warnings")
		var found []string
		for _, name := range []string{"alice", "bob", "olga"} {
			if text, _ := json.Marshal(out); strings.Contains(string(text), `"`+name+`"`) {
				found = append(found, name)
			}
		}
		return strings.Join(found, " ")
	}
	for _, path := range []string{"/fed/v1/associations", "/slurm/v0.0.42/shares", "/slurmdb/v0.0.42/associations", "/slurmdb/v0.0.42/users", "/slurmdb/v0.0.42/user/olga"} {
		for uid, want := range map[uint32]string{alice: "alice", bob: "alice", olga: "alice olga"} {
			if strings.HasSuffix(path, "olga") {
				want = strings.TrimPrefix(strings.TrimPrefix(want, "alice"), " ")
			}
			if got := people(uid, path); got != want {
				t.Errorf("%s sees %q at %s, want %q", testUsers[uid], got, path, want)
			}
		}
	}
	for _, path := range []string{"/fed/v1/associations?cluster=alpha", "/slurm/v0.0.42/shares?cluster=alpha", "/slurmdb/v0.0.42/users?cluster=alpha"} {
		for uid, want := range map[uint32]string{alice: "alice", bob: "alice bob", olga: "alice bob olga"} {
			if got := people(uid, path); got != want {
				t.Errorf("%s sees %q at %s, want %q", testUsers[uid], got, path, want)
			}
		}
	}

	var got struct {
		Shares struct {
			Shares []struct {
				Name      string
				Usage     int64
				FairShare struct {
					Factor struct{ Number float64 }
					Level  struct{ Infinite bool }
				}
			}
		}
	}
	as(t, 0, d.Socket, "GET", "/slurm/v0.0.42/shares", nil, &got)
	seen := map[string]string{}
	for _, s := range got.Shares.Shares {
		seen[s.Name] = fmt.Sprint(s.Usage, s.FairShare.Factor.Number, s.FairShare.Level.Infinite)
	}
	if seen["alice"] != "14370 0.5 false" || seen["olga"] != "0 1 true" {
		t.Errorf("shares: %v", seen)
	}
}

// A coordinator who makes his account the default one of others has no rights over their jobs by it, and may not do so.
func TestDefaultAccountGivesNoJobs(t *testing.T) {
	books, err := accounts.Open(t.Context(), &treeStore{made: map[accounts.Key]bool{}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	root := accounts.Editor{Name: "root", Operator: true}
	if _, err := books.Edit(t.Context(), root, []accounts.Edit{
		{Op: accounts.Add, Key: accounts.AccountKey("physics")}, {Op: accounts.Add, Key: accounts.UserKey("physics", "alice")},
		{Op: accounts.Add, Key: accounts.AccountKey("vision"), AddCoordinators: []string{"bob"}},
	}, "", false); err != nil {
		t.Fatal(err)
	}
	d := startWith(t, api.Config{Operators: []string{"olga"}, Coordinators: books, Accounts: api.Accounts{Books: books}})
	submit := func(uid uint32) federation.JobID {
		var out v1.SubmitResponse
		if code := as(t, uid, d.Socket, "POST", "/fed/v1/job", hello("x"), &out); code != 200 {
			t.Fatalf("submit: status %d", code)
		}
		return out.JobID
	}
	add := func(uid uint32, user string, isDefault bool) int {
		return as(t, uid, d.Socket, "POST", "/fed/v1/accounts", v1.EditAccounts{Edits: []v1.AccountEdit{
			{Op: accounts.Add, Kind: accounts.User, Account: "vision", Name: user, Default: isDefault}}}, nil)
	}
	cancels := func(id federation.JobID) bool {
		var out v1.ActResponse
		as(t, bob, d.Socket, "POST", "/fed/v1/jobs/cancel", v1.ActRequest{Jobs: []v1.JobRef{{ID: id}}}, &out)
		return len(out.Results) == 1 && out.Results[0].Error == nil
	}
	alices, olgas := submit(alice), submit(olga)
	if code := add(bob, "alice", true); code != 403 {
		t.Errorf("bob makes vision alice's default account: status %d", code)
	}
	if code := add(bob, "olga", false); code != 200 {
		t.Errorf("bob adds olga, who is in no account: status %d", code)
	}
	if code := add(0, "alice", true); code != 200 {
		t.Errorf("root makes vision alice's default account: status %d", code)
	}
	for user, id := range map[string]federation.JobID{"alice": alices, "olga": olgas} {
		if cancels(id) {
			t.Errorf("bob cancels %s's job that was submitted before she was in his account", user)
		}
	}
	if later := submit(alice); !cancels(later) {
		t.Error("bob cannot cancel a job that was submitted under his account")
	}
}

// Jobs that a site runs under another account than the one that pays, and users whom it does not know, are told of, to those who may see their users; a site that calls the account something else is none.
func TestElsewhere(t *testing.T) {
	a, _ := treeOfTwo(t)
	alpha := &federation.Site{Name: "alpha", Seen: &federation.Observation{Associations: federation.Associations{"alice": {{Account: "vision", Default: true}}, "olga": {{Account: "vision"}}}}}
	a.Members, a.Users = func() []*federation.Site { return []*federation.Site{alpha} }, testUsers
	root, stranger := identity.Caller{Name: "root", Role: identity.RoleAdministrator}, identity.Caller{Name: "dave"}
	want := "alpha does not know physics: jobs of alice run there as vision, and physics pays; run: fed account sync alpha"
	if got := a.Elsewhere(root, alpha, true); !slices.Equal(got, []string{want}) {
		t.Errorf("an operator is told %q", got)
	}
	if got := a.Elsewhere(stranger, alpha, true); got != nil {
		t.Errorf("a stranger is told %q", got)
	}
	alpha.Seen.Accounts = []federation.Account{{Name: "physics"}}
	if got := a.Elsewhere(root, alpha, true); len(got) != 1 || !strings.HasPrefix(got[0], "alpha does not know alice in physics: jobs of alice run there as vision") {
		t.Errorf("where the site has the account without her: %q", got)
	}
	alpha.Accounts = map[string]string{"physics": "vision"}
	if got := a.Elsewhere(root, alpha, true); got != nil {
		t.Errorf("where vision is what the site calls it: %q", got)
	}
	alpha.Accounts, alpha.Seen.Associations = nil, federation.Associations{"olga": {{Account: "vision"}}}
	if got := a.Elsewhere(root, alpha, true); !slices.Equal(got, []string{"alpha does not know alice: it runs no job of theirs; run: fed account sync alpha"}) {
		t.Errorf("where the site does not know her: %q", got)
	}
	alpha.Seen.Associations["alice"] = []federation.Association{{Account: "vision", Default: true}}
	d := apitest.Start(t, api.Config{Users: testUsers, Operators: []string{"olga"}, Coordinators: a.Books, Accounts: a})
	d.Controller.SetSites(alpha)
	var resp v1.EditAccountsResponse
	add := func(user string) v1.EditAccounts {
		return v1.EditAccounts{DryRun: true, Edits: []v1.AccountEdit{{Op: accounts.Add, Kind: accounts.User, Account: "vision", Name: user}}}
	}
	if code := as(t, olga, d.Socket, "POST", "/fed/v1/accounts", add("eve"), &resp); code != 200 || len(resp.Notices) != 1 || !strings.Contains(resp.Notices[0], "no user eve is known") {
		t.Errorf("a user whom nobody knows: status %d, %q", code, resp.Notices)
	}
	resp = v1.EditAccountsResponse{}
	if code := as(t, olga, d.Socket, "POST", "/fed/v1/accounts", add("bob"), &resp); code != 200 || len(resp.Notices) != 0 {
		t.Errorf("a user of this machine: status %d, %q", code, resp.Notices)
	}
}

// booksOf is a ledger with runs of one account.
type booksOf struct {
	ledger.Books
	account string
}

func (b booksOf) BookedSums(_ context.Context, q ledger.SumQuery) (rows []ledger.SumRow, _ error) {
	if slices.Contains(q.Where[ledger.ByAccount], b.account) {
		rows = append(rows, ledger.SumRow{Values: []string{b.account}})
	}
	return rows, nil
}

// A coordinator does not get to see what was used under a name before there was such an account: one that the ledger or a site knows is an operator's to add.
func TestCoordinatorsAddNewAccountsOnly(t *testing.T) {
	a, _ := treeOfTwo(t)
	d := apitest.Start(t, api.Config{Users: testUsers, Operators: []string{"olga"}, Coordinators: a.Books, Accounts: a, Books: booksOf{account: "legacy"}})
	d.Controller.SetSites(&federation.Site{Name: "alpha", Seen: &federation.Observation{Accounts: []federation.Account{{Name: "chemistry"}}}})
	for _, c := range []struct {
		uid  uint32
		name string
		want int
	}{{bob, "Legacy", 403}, {bob, "chemistry", 403}, {bob, "fresh", 200}, {olga, "legacy", 200}, {olga, "chemistry", 200}} {
		var refused struct {
			Error struct {
				Text string `json:"text"`
			} `json:"error"`
		}
		q := v1.EditAccounts{Edits: []v1.AccountEdit{{Op: accounts.Add, Kind: accounts.Account, Name: c.name, Parent: "physics"}}}
		if code := as(t, c.uid, d.Socket, "POST", "/fed/v1/accounts", q, &refused); code != c.want {
			t.Errorf("%s adds %s: status %d, want %d; %+v", testUsers[c.uid], c.name, code, c.want, refused)
		}
	}
}

// The account that a job belongs to is settled when it is submitted: its user's default one then, for each component that names none.
func TestAccountIsSettledAtSubmission(t *testing.T) {
	d, books, _ := startWithTree(t)
	var out v1.SubmitResponse
	as(t, alice, d.Socket, "POST", "/fed/v1/job", raw(func(r *v1.SubmitRequest) { r.Spec.Name = "default" }), &out)
	if out.JobID == 0 {
		t.Fatalf("refused: %+v", out.Error)
	}
	_, err := books.Edit(t.Context(), accounts.Editor{Name: "root", Operator: true}, []accounts.Edit{{Op: accounts.Add, Key: accounts.UserKey("vision", "alice"), Default: true}}, "", false)
	if err != nil {
		t.Fatal(err)
	}
	job, err := d.Store.Job(t.Context(), federation.JobID(out.JobID))
	if err != nil || job.TreeAccount != "physics" || job.Spec.Account != "physics" {
		t.Errorf("submitted under %q, names %q, %v; want physics", job.TreeAccount, job.Spec.Account, err)
	}
}
