package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/place"
)

// Elsewhere tells of a site which jobs run there under another account than the one of the tree that pays for them, and which users it has no account for, as far as a caller
// may see them. all: of everybody; else of those associations only.
func (s *Accounts) Elsewhere(c identity.Caller, site *federation.Site, all bool, of ...accounts.Key) (lines []string) {
	if s.Books == nil || site.Seen == nil || site.Seen.Associations == nil {
		return nil
	}
	tree, at := s.Books.Tree(), *site
	at.Payers = tree
	type group struct{ pays, under string }
	users := map[group][]string{}
	var order []group
	var unknown []string
	for _, r := range tree.Records() {
		if r.Kind != accounts.User || !all && !slices.Contains(of, r.Key) || !s.Sees(c, r.Account, r.Name) {
			continue
		}
		under, ok := place.AccountAt(&at, r.Name, r.Account)
		if !ok && len(site.Seen.Associations[site.UserName(r.Name)]) == 0 && !slices.Contains(unknown, r.Name) {
			unknown = append(unknown, r.Name)
		}
		if !ok || strings.EqualFold(under, cmp.Or(site.Accounts[r.Account], r.Account)) {
			continue
		}
		g := group{r.Account, under}
		if users[g] == nil {
			order = append(order, g)
		}
		users[g] = append(users[g], r.Name)
	}
	for _, g := range order {
		who := someNames(users[g])
		lacks := g.pays
		if slices.ContainsFunc(site.Seen.Accounts, func(a federation.Account) bool { return strings.EqualFold(a.Name, g.pays) }) {
			lacks = who + " in " + g.pays
		}
		lines = append(lines, fmt.Sprintf("%s does not know %s: jobs of %s run there as %s, and %s pays; run: fed account sync %s", site.Name, lacks, who, g.under, g.pays, site.Name))
	}
	if len(unknown) > 0 {
		who := someNames(unknown)
		lines = append(lines, fmt.Sprintf("%s does not know %s: it runs no job of theirs; run: fed account sync %s", site.Name, who, site.Name))
	}
	return lines
}

// knowClosing refuses names of sites in BudgetClose that keep no accounting here.
func (s *Accounts) knowClosing(edits []accounts.Edit) error {
	known := s.keepers()
	for i := range edits {
		for option, value := range edits[i].Set {
			o, err := accounts.OptionOf(edits[i].Kind, option)
			if err != nil || o.Name != accounts.BudgetClose {
				continue
			}
			value, _ = o.Value("", value) // what it takes away needs not be known
			for name := range strings.SplitSeq(value, ",") {
				if name != "" && name != accounts.CloseAll && known[federation.SiteName(name)] == nil {
					return invalid("invalid value %q of %s: no site of this name keeps its own accounting: want all, or names of sites; see: fed site list", name, o.Name)
				}
			}
		}
	}
	return nil
}

// someNames lists a few names.
func someNames(all []string) string {
	const most = 4
	if len(all) > most+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}

// notices are what the one who has made changes should know of them.
func (s *Accounts) notices(c identity.Caller, changes []v1.AccountChange) (lines []string) {
	var of []accounts.Key
	for i := range changes {
		if k := &changes[i]; k.Kind == accounts.User && k.Verb == "add" {
			of = append(of, accounts.UserKey(k.Account, k.Name))
		}
	}
	if len(of) == 0 || s.Members == nil {
		return nil
	}
	for _, k := range of {
		if !s.isSomebody(k.Name) {
			lines = append(lines, fmt.Sprintf("no user %s is known to this machine or to a site's accounting: perhaps a slip; to take it back: fed account remove %s --user %s", k.Name, k.Account, k.Name))
		}
	}
	for _, site := range s.Members() {
		lines = append(lines, s.Elsewhere(c, site, false, of...)...)
	}
	return lines
}

// isSomebody reports whether this machine or the accounting of a site has a user. Where nobody can be asked, everybody is.
func (s *Accounts) isSomebody(name string) bool {
	if s.Users == nil {
		return true
	}
	if _, _, err := s.Users.UserIDs(name); err == nil {
		return true
	}
	for _, site := range s.Members() {
		if site.Seen == nil {
			return true
		}
		if u, ok := site.Users[name]; ok && u.Name != "" || site.Seen.Associations[name] != nil {
			return true
		}
	}
	return false
}
