package account

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api"
	"fsub/federation/driver"
	"fsub/federation/store"
	"fsub/testbed/apitest"
)

// siteAccounts is a site's accounting that has what it was told once anybody has told it anything.
type siteAccounts struct {
	tree func() *accounts.Tree
	told []string
}

func (s *siteAccounts) ReadAccounts(context.Context) (*accounts.Import, error) {
	at := &accounts.Import{Cluster: "alpha", Limits: true}
	if len(s.told) > 0 {
		for _, r := range s.tree().Records() {
			at.Records = append(at.Records, *r)
		}
	}
	return at, nil
}

func (s *siteAccounts) Sacctmgr(_ context.Context, words []string) error {
	s.told = append(s.told, strings.Join(words, " "))
	return nil
}

// What a site lacks is listed and fails fed account drift; a dry run of sync tells the site nothing; after sync there is no difference.
func TestAccountDriftAndSync(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	books, err := accounts.Open(t.Context(), st, time.Now)
	if err == nil {
		_, err = books.Edit(t.Context(), accounts.Editor{Name: "root", Operator: true}, []accounts.Edit{{Op: accounts.Add, Key: accounts.AccountKey("physics")}}, "", false)
	}
	if err != nil {
		t.Fatal(err)
	}
	site := &siteAccounts{tree: books.Tree}
	d := apitest.Start(t, api.Config{Accounts: api.Accounts{Books: books, Sites: func() map[federation.SiteName]driver.AccountKeeper {
		return map[federation.SiteName]driver.AccountKeeper{"alpha": site}
	}}})
	t.Setenv("FSUB_SOCKET", d.Socket)
	run := func(fails bool, want string, args ...string) {
		t.Helper()
		cmd := NewCommand()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); (err != nil) != fails || !strings.Contains(out.String(), want) {
			t.Errorf("%v: %v; it prints %q, want %q", args, err, out.String(), want)
		}
	}
	run(true, "physics", "drift")
	run(false, "physics", "sync", "alpha", "--dry-run")
	if len(site.told) > 0 {
		t.Errorf("a dry run has told the site %q", site.told)
	}
	run(false, "physics", "sync", "alpha")
	if len(site.told) == 0 || !strings.Contains(site.told[0], "add account Name=physics") {
		t.Errorf("the site was told %q", site.told)
	}
	run(false, "", "drift")
}
