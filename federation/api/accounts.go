package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/closing"
	"fsub/federation/driver"
	"fsub/federation/plain"
	"fsub/federation/share"
)

// Accounts answers for the account tree: it lists and edits it, and compares it with what the sites' accounting has.
type Accounts struct {
	Books *accounts.Books // nil: there is no tree
	// Sites are those whose accounting can be read, as they are now; nil: there are none.
	Sites func() map[federation.SiteName]driver.AccountKeeper
	// Members are the sites as they were seen last; nil: nobody is told what they have otherwise.
	Members func() []*federation.Site
	Users   identity.Users // of this machine; nil: not known
	Ledger  ledger.Books   // nil: there is none
	// Closed are the accounts that are closed at sites because their budgets are used up; nil: none is.
	Closed func(context.Context) ([]closing.Closed, error)
}

// Sees reports whether a caller may know of a user's association, in the tree or at a site: it is his own or of an account that he coordinates, or he is
// an operator. Of accounts without a user all know, and where there is no tree all know of all.
func (s *Accounts) Sees(c identity.Caller, account, user string) bool {
	return user == "" || user == c.Name || c.Role >= identity.RoleOperator || c.Coordinates(account) || s.Books == nil || s.Books.Tree().Empty()
}

var errNoBooks = &federation.SlurmError{Kind: federation.ErrInvalid, Text: "this daemon keeps no account tree", Alone: true}

// List is GET /fed/v1/accounts. Of users, a caller sees himself and those of the accounts that he coordinates; an operator sees all.
func (s *Accounts) List(ctx context.Context, c identity.Caller, _ v1.None) ([]v1.Account, error) {
	if s.Books == nil {
		return nil, errNoBooks
	}
	tree, depth := s.Books.Tree(), map[string]int{}
	for a, d := range tree.Accounts() {
		depth[a.Name] = d
	}
	out := []v1.Account{}
	for _, a := range tree.Records() {
		if a.Kind == accounts.User && !s.Sees(c, a.Account, a.Name) {
			continue
		}
		of := a.Account // of a user
		if a.Kind == accounts.Account {
			of = a.Name
		}
		out = append(out, v1.AccountOf(a, depth[of]))
	}
	return out, nil
}

func editorOf(c identity.Caller) accounts.Editor {
	role := c.Role.String()
	if c.Role < identity.RoleOperator {
		role = "Coordinator"
	}
	return accounts.Editor{Name: c.Name, Operator: c.Role >= identity.RoleOperator, UID: c.UID, Role: role, From: c.From}
}

// Edit is POST /fed/v1/accounts.
func (s *Accounts) Edit(r *http.Request, c identity.Caller, q *v1.EditAccounts) (v1.EditAccountsResponse, error) {
	if err := plain.Check("reason", q.Why, plain.MaxReason); err != nil {
		return v1.EditAccountsResponse{}, answer.BadBody(err.Error())
	}
	edits := make([]accounts.Edit, len(q.Edits))
	for i := range q.Edits {
		edits[i] = q.Edits[i].Edit()
	}
	changes, err := s.edit(r.Context(), c, edits, q.Why, q.DryRun)
	if err != nil {
		return v1.EditAccountsResponse{}, err
	}
	return v1.EditAccountsResponse{Changes: changes, Notices: s.notices(c, changes)}, nil
}

func (s *Accounts) edit(ctx context.Context, c identity.Caller, edits []accounts.Edit, why string, dry bool) ([]v1.AccountChange, error) {
	if s.Books == nil {
		return nil, errNoBooks
	}
	if err := s.mayAdd(ctx, c, edits); err != nil {
		return nil, err
	}
	if err := s.knowClosing(edits); err != nil {
		return nil, err
	}
	changes, err := s.Books.Edit(ctx, editorOf(c), edits, why, dry)
	var denied *accounts.DeniedError
	switch {
	case errors.As(err, &denied):
		return nil, &federation.SlurmError{Kind: federation.ErrDenied, Text: denied.Text, Alone: true}
	case errors.Is(err, federation.ErrUnavailable):
		return nil, answer.OfStore(err, answer.TimedOut)
	case err != nil:
		return nil, &federation.SlurmError{Kind: federation.ErrInvalid, Text: err.Error(), Alone: true}
	}
	out := make([]v1.AccountChange, len(changes))
	for i := range changes {
		k := &changes[i]
		out[i] = v1.AccountChange{Kind: k.Kind, Account: k.Account, Name: k.Name, Verb: k.Verb(), Before: k.Before.Text(), After: k.After.Text()}
	}
	return out, nil
}

// everyDay is after all days of the ledger.
const everyDay = 1 << 20

// mayAdd refuses that somebody who is no operator adds an account of which the ledger or a site knows already: its coordinators would see what has been used and spent under that
// name before, by whomever.
func (s *Accounts) mayAdd(ctx context.Context, c identity.Caller, edits []accounts.Edit) error {
	if c.Role >= identity.RoleOperator {
		return nil
	}
	for i := range edits {
		e := &edits[i]
		if e.Op != accounts.Add || e.Kind != accounts.Account {
			continue
		}
		name := strings.ToLower(e.Name)
		where := s.known(name)
		if where == "" && s.Ledger != nil {
			rows, err := s.Ledger.BookedSums(ctx, ledger.SumQuery{Until: everyDay, By: []ledger.Dimension{ledger.ByAccount}, Where: map[ledger.Dimension][]string{ledger.ByAccount: {name}}})
			if err != nil {
				return answer.OfStore(err, answer.NoContact)
			}
			if len(rows) > 0 {
				where = "the ledger"
			}
		}
		if where != "" {
			return &federation.SlurmError{Kind: federation.ErrDenied, Alone: true, Text: fmt.Sprintf("account %s: %s has runs or users under that name already: only operators may add it", name, where)}
		}
	}
	return nil
}

// known is a site whose accounting has an account; "": none has.
func (s *Accounts) known(account string) string {
	if s.Members == nil {
		return ""
	}
	for _, site := range s.Members() {
		if site.Seen != nil && slices.ContainsFunc(site.Seen.Accounts, func(a federation.Account) bool { return strings.EqualFold(a.Name, account) }) {
			return "site " + string(site.Name)
		}
	}
	return ""
}

func (s *Accounts) keepers() map[federation.SiteName]driver.AccountKeeper {
	if s.Sites == nil {
		return nil
	}
	return s.Sites()
}

// site is the accounting of a site, as it is now.
func (s *Accounts) site(ctx context.Context, name string) (driver.AccountKeeper, *accounts.Import, error) {
	if s.Books == nil {
		return nil, nil, errNoBooks
	}
	keeper := s.keepers()[federation.SiteName(name)]
	if keeper == nil {
		return nil, nil, &federation.SlurmError{Kind: federation.ErrNotFound, Text: fmt.Sprintf("no site %q with its own accounting is known; see: fed site list", name), Alone: true}
	}
	at, err := s.readAt(ctx, keeper, name)
	if err != nil {
		return nil, nil, &federation.SlurmError{Kind: editErrorKind(err), Text: err.Error(), Alone: true}
	}
	return keeper, at, nil
}

// readAt reads a site's accounting, with what is closed there as if it were open. Others have their turns meanwhile.
func (s *Accounts) readAt(ctx context.Context, keeper driver.AccountKeeper, site string) (*accounts.Import, error) {
	defer share.Idle(ctx)()
	at, err := keeper.ReadAccounts(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.closed(ctx)
	closing.Hide(at, s.Books.Tree(), federation.SiteName(site), all)
	return at, err
}

func (s *Accounts) closed(ctx context.Context) ([]closing.Closed, error) {
	if s.Closed == nil {
		return nil, nil
	}
	return s.Closed(ctx)
}

// closedAt are sentences about what is closed at a site.
func (s *Accounts) closedAt(ctx context.Context, site string) (lines []string) {
	all, _ := s.closed(ctx) // it was read before
	for i := range all {
		if string(all[i].Site) == site {
			lines = append(lines, all[i].Text())
		}
	}
	return lines
}

func editErrorKind(err error) error {
	for _, kind := range []error{federation.ErrDenied, federation.ErrInvalid, federation.ErrUnavailable, federation.ErrNotFound} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return federation.ErrConflict
}

// Import is POST /fed/v1/accounts/import.
func (s *Accounts) Import(r *http.Request, c identity.Caller, q *v1.ImportAccounts) (v1.EditAccountsResponse, error) {
	_, at, err := s.site(r.Context(), q.Site)
	if err != nil {
		return v1.EditAccountsResponse{}, err
	}
	edits, left := s.Books.Tree().Take(at, q.Site, q.Replace)
	changes, err := s.edit(r.Context(), c, edits, "import from "+q.Site, q.DryRun)
	if err != nil {
		return v1.EditAccountsResponse{}, err
	}
	resp := v1.EditAccountsResponse{Changes: changes, Skipped: at.Skipped}
	for i := range left {
		resp.Left = append(resp.Left, v1.AccountDifferenceOf(q.Site, &left[i]))
	}
	return resp, nil
}

// Sync is POST /fed/v1/accounts/sync. What it answers are the differences that there were; each that could not be mended has its error.
func (s *Accounts) Sync(r *http.Request, _ identity.Caller, q *v1.SyncAccounts) (v1.AccountDrift, error) {
	ctx := r.Context()
	keeper, at, err := s.site(ctx, q.Site)
	if err != nil {
		return v1.AccountDrift{}, err
	}
	made, err := s.Books.MadeAt(ctx, q.Site)
	if err != nil {
		return v1.AccountDrift{}, answer.OfStore(err, answer.NoContact)
	}
	drop := func(k accounts.Key) bool { return q.RemoveAll || q.Remove && made[k] }
	found := s.Books.Tree().Compare(at, drop)
	out := v1.AccountDrift{Differences: make([]v1.AccountDifference, len(found)), Notices: s.closedAt(ctx, q.Site)}
	for i := range found {
		out.Differences[i] = v1.AccountDifferenceOf(q.Site, &found[i])
	}
	if q.DryRun {
		return out, nil
	}
	for i := range found {
		if err := s.mend(ctx, keeper, q.Site, &found[i], made); err != nil {
			out.Differences[i].Error = err.Error()
		}
	}
	if slices.ContainsFunc(found, func(d accounts.Difference) bool { return len(d.Commands) > 0 }) {
		if err := s.readBack(ctx, keeper, q.Site, drop, found, out.Differences); err != nil {
			out.Errors = append(out.Errors, fmt.Sprintf("it was told, and did not show the result: %v", err))
		}
	}
	return out, nil
}

// mend carries out the commands of a difference. That the federation makes something is written down before.
func (s *Accounts) mend(ctx context.Context, keeper driver.AccountKeeper, site string, d *accounts.Difference, made map[accounts.Key]bool) error {
	if d.What == accounts.Missing {
		if err := s.Books.SetMadeAt(ctx, site, d.Key, true); err != nil {
			return err
		}
	}
	for _, command := range d.Commands {
		again := share.Idle(ctx)
		err := keeper.Sacctmgr(ctx, command)
		if again(); err != nil {
			return err
		}
	}
	if d.What == accounts.Extra && len(d.Commands) > 0 && made[d.Key] {
		return s.Books.SetMadeAt(ctx, site, d.Key, false)
	}
	return nil
}

// readBack looks at what has become of the differences: an accounting may answer well and do nothing.
func (s *Accounts) readBack(ctx context.Context, keeper driver.AccountKeeper, site string, drop func(accounts.Key) bool, found []accounts.Difference, out []v1.AccountDifference) error {
	at, err := s.readAt(ctx, keeper, site)
	if err != nil {
		return err
	}
	for _, still := range s.Books.Tree().Compare(at, drop) {
		for i := range found {
			if d := &found[i]; d.Key == still.Key && d.Option == still.Option && len(d.Commands) > 0 && out[i].Error == "" {
				out[i].Error = "the site was told, and still has it so: " + still.Theirs
			}
		}
	}
	return nil
}

// Drift is GET /fed/v1/accounts/drift: the differences of the sites that the query names, of all if it names none.
func (s *Accounts) Drift(r *http.Request, c identity.Caller, q v1.SiteNames) (v1.AccountDrift, error) {
	sites := q.Site
	if len(sites) == 0 {
		for _, name := range slices.Sorted(maps.Keys(s.keepers())) {
			sites = append(sites, string(name))
		}
	}
	out := v1.AccountDrift{Differences: []v1.AccountDifference{}}
	agrees := map[string]bool{} // the sites whose accounting is as the tree has it
	for _, name := range sites {
		_, at, err := s.site(r.Context(), name)
		if err != nil {
			out.Errors = append(out.Errors, name+": "+err.Error())
			continue
		}
		found := s.Books.Tree().Compare(at, func(accounts.Key) bool { return false })
		agrees[name] = len(found) == 0
		out.Notices = append(out.Notices, s.closedAt(r.Context(), name)...)
		for i := range found {
			out.Differences = append(out.Differences, v1.AccountDifferenceOf(name, &found[i]))
		}
	}
	if s.Members != nil {
		for _, site := range s.Members() {
			// What a site has was read just now; the last look at it may be older.
			if slices.Contains(sites, string(site.Name)) && !agrees[string(site.Name)] {
				out.Notices = append(out.Notices, s.Elsewhere(c, site, true)...)
			}
		}
	}
	return out, nil
}
