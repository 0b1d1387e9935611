package v1

import (
	"cmp"
	"maps"
	"strings"

	"fsub/federation/accounts"
	"fsub/sbatch/bounded"
)

// Account is an account of the federation's tree, a user's association with one, or a QOS.
type Account struct {
	Kind         accounts.Kind     `json:"kind"`              // account, user or qos
	Account      string            `json:"account,omitempty"` // of a user
	Name         string            `json:"name"`
	Depth        int               `json:"depth,omitempty"`  // of an account, and of its users: 0 is root
	Parent       string            `json:"parent,omitempty"` // of an account
	Default      bool              `json:"is_default,omitempty"`
	Coordinators []string          `json:"coordinators,omitempty"`
	Set          map[string]string `json:"set,omitempty"`  // options under sacctmgr's names; what is not set is not there
	From         string            `json:"from,omitempty"` // the site that it was imported from
}

// AccountOf is r as the API tells it.
func AccountOf(r *accounts.Record, depth int) Account {
	return Account{Kind: r.Kind, Account: r.Account, Name: r.Name, Depth: depth, Parent: r.Parent, Default: r.Default, Coordinators: r.Coordinators, Set: r.Set, From: r.From}
}

// EditAccounts asks for changes of the account tree: all of them are made or none. Coordinators may change what stands below them.
type EditAccounts struct {
	Edits bounded.Slice[AccountEdit, bounded.Named] `json:"edits"`
	Why   string                                    `json:"why,omitempty"`
	// DryRun: only tell what would change.
	DryRun bool `json:"dry_run,omitempty"`
}

// AccountEdit is one of these changes; one sees what those before it did.
type AccountEdit struct {
	Op      accounts.Op   `json:"op"` // add, modify, remove
	Kind    accounts.Kind `json:"kind"`
	Account string        `json:"account,omitempty"` // of a user
	Name    string        `json:"name"`
	Parent  string        `json:"parent,omitempty"`
	// Default: jobs of the user that name no account are charged to this one.
	Default bool `json:"default,omitempty"`
	// Set has options with new values, as sacctmgr takes them; "" or "-1" unsets one.
	Set                map[string]string `json:"set,omitempty"`
	AddCoordinators    []string          `json:"add_coordinators,omitempty"`
	RemoveCoordinators []string          `json:"remove_coordinators,omitempty"`
}

// Edit is e as the tree takes it.
func (e *AccountEdit) Edit() accounts.Edit {
	return accounts.Edit{Op: e.Op, Key: accounts.Key{Kind: e.Kind, Account: e.Account, Name: e.Name}, Parent: e.Parent, Default: e.Default, Set: e.Set,
		AddCoordinators: e.AddCoordinators, RemoveCoordinators: e.RemoveCoordinators}
}

// AccountChange is what became of one record; Before or After is empty where there is none.
type AccountChange struct {
	Kind    accounts.Kind `json:"kind"`
	Account string        `json:"account,omitempty"`
	Name    string        `json:"name"`
	Verb    string        `json:"verb"` // add, modify, remove
	Before  string        `json:"before"`
	After   string        `json:"after"`
}

// EditAccountsResponse tells what was changed, or would be.
type EditAccountsResponse struct {
	Changes []AccountChange `json:"changes"`
	// Left is what an import left as it is, because both have it with other values.
	Left []AccountDifference `json:"left,omitempty"`
	// Skipped is what the tree has no place for, such as associations of single partitions.
	Skipped []string `json:"skipped,omitempty"`
	// Notices are what the one who has made the changes should know: a user whom nobody knows, a site that runs the jobs under another account.
	Notices []string `json:"notices,omitempty"`
}

// AccountDifference is one thing that a site's accounting has otherwise than the federation.
type AccountDifference struct {
	Site    string        `json:"site"`
	Kind    accounts.Kind `json:"kind"`
	Account string        `json:"account,omitempty"`
	Name    string        `json:"name"`
	What    accounts.What `json:"what"` // missing, differs, extra
	Option  string        `json:"option,omitempty"`
	Ours    string        `json:"ours,omitempty"`
	Theirs  string        `json:"theirs,omitempty"`
	// Commands are the words of sacctmgr that make the site agree.
	Commands [][]string `json:"commands,omitempty"`
	// Error is why the site could not be told.
	Error string `json:"error,omitempty"`
}

// AccountDifferenceOf is d as the API tells it.
func AccountDifferenceOf(site string, d *accounts.Difference) AccountDifference {
	return AccountDifference{Site: site, Kind: d.Kind, Account: d.Account, Name: d.Name, What: d.What, Option: d.Option, Ours: d.Ours, Theirs: d.Theirs, Commands: d.Commands}
}

// ImportAccounts asks for what a site's accounting has to be brought into the federation's tree.
type ImportAccounts struct {
	Site string `json:"site"`
	// Replace: where both have something, the site's word counts. Else it is left as it is.
	Replace bool `json:"replace,omitempty"`
	DryRun  bool `json:"dry_run,omitempty"`
}

// SyncAccounts asks for a site's accounting to be made to agree with the federation's tree.
type SyncAccounts struct {
	Site   string `json:"site"`
	DryRun bool   `json:"dry_run,omitempty"`
	// Remove: what the federation once made there, and does not have any more, is removed. RemoveAll: whatever it does not have.
	Remove    bool `json:"remove,omitempty"`
	RemoveAll bool `json:"remove_all,omitempty"`
}

// AccountDrift are the differences of sites, and which sites could not be asked.
type AccountDrift struct {
	Differences []AccountDifference `json:"differences"`
	Errors      []string            `json:"errors,omitempty"`
	// Notices tell which jobs run at a site under another account than the one that pays for them, and which accounts are closed there because their budgets are used up.
	Notices []string `json:"notices,omitempty"`
}

// Accounts are the records of the account tree. The columns are those of accounts and users.
var Accounts = Noun[Account, None]{
	Key:  func(x *Account) string { return key(x.Kind, x.Account, x.Name) },
	Path: "/fed/v1/accounts", Who: ForAnybody, Doc: "The federation's account tree, and its QOS. Users see themselves, coordinators those below them",
	Columns: []Column[Account]{
		{"ACCOUNT", func(x *Account) string { return strings.Repeat(" ", x.Depth) + x.account() }},
		{"USER", func(x *Account) string { return x.user() }},
		{"SHARES", func(x *Account) string { return cmp.Or(x.Set["Fairshare"], "1") }},
		{"COORDINATORS", func(x *Account) string { return strings.Join(x.Coordinators, ",") }},
		{"SET", func(x *Account) string { return x.settings("Fairshare") }},
	},
}

// QOS are the same records with the columns of QOS.
var QOS = Noun[Account, None]{
	Key:  func(x *Account) string { return key(x.Kind, x.Account, x.Name) },
	Path: Accounts.Path, Who: Accounts.Who, Doc: Accounts.Doc,
	Columns: []Column[Account]{
		{"QOS", func(x *Account) string { return x.Name }},
		{"PRIORITY", func(x *Account) string { return cmp.Or(x.Set["Priority"], "0") }},
		{"USAGEFACTOR", func(x *Account) string { return cmp.Or(x.Set["UsageFactor"], "1") }},
		{"SET", func(x *Account) string { return x.settings("Priority", "UsageFactor") }},
	},
}

// account is the account that a record is, or that a user is in.
func (a *Account) account() string {
	if a.Kind == accounts.User {
		return a.Account
	}
	return a.Name
}

// user is the name of a user, with a star where the account is his default.
func (a *Account) user() string {
	switch {
	case a.Kind != accounts.User:
		return ""
	case a.Default:
		return a.Name + "*"
	}
	return a.Name
}

// settings are the options that are set, but for some.
func (a *Account) settings(without ...string) string {
	set := accounts.Settings(maps.Clone(a.Set))
	for _, name := range without {
		delete(set, name)
	}
	return set.String()
}
