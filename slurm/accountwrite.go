package slurm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fsub/accounting"
	"fsub/accounting/fairtree"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/slurm/wire"
)

// order is a command of sacctmgr's as [accounts.Tree.Compare] gives it.
type order struct {
	verb, kind string            // add, modify or remove; account, user, qos or coordinator
	of, set    map[string]string // whom it is about; what becomes of it
	words      []string
}

func readOrder(words []string) order {
	o := order{verb: words[0], kind: words[1], of: map[string]string{}, set: map[string]string{}, words: words}
	into := o.of
	for _, w := range words[2:] {
		name, value, ok := strings.Cut(w, "=")
		switch {
		case w == "set":
			into = o.set
		case !ok: // where
		case o.verb == "add" && !slices.Contains([]string{"Name", "Account", "Cluster", "Names"}, name):
			o.set[name] = value
		default:
			into[name] = value
		}
	}
	return o
}

// changeByREST carries out a command of sacctmgr's by slurmrestd. What is there is read and written back whole, since some of what a request does not name is cleared.
//
// Found by trial on 24.11.5 and 26.05.5, whose answers to each were 200: POST /associations/ makes an account that has no parent, so accounts are made by
// /accounts_association/; 26.05 makes no user by /users_association/ (304), so users are made by /users/ and /associations/; TRES of a QOS stay when they are left
// out, and go with a count of -1; an empty list of QOS to preempt changes nothing, and one of an empty name ends slurmrestd.
func (k *accountKeeper) changeByREST(ctx context.Context, words []string) error {
	tr, err := k.books.accountsAPI(ctx)
	if err != nil {
		return err
	}
	if tr.old {
		return fmt.Errorf("site %s: %w: the accounting of this release cannot be changed by slurmrestd: set account_command in the site's configuration", k.cfg.Name, federation.ErrInvalid)
	}
	o := readOrder(words)
	switch {
	case o.kind == "coordinator":
		err = k.changeAccount(ctx, o.of["Account"], func(a record) {
			names := slices.DeleteFunc(a.words("coordinators"), func(name string) bool { return name == o.of["Names"] })
			if o.verb == "add" {
				names = append(names, o.of["Names"])
			}
			list := []any{}
			for _, name := range names {
				list = append(list, map[string]any{"name": name, "direct": true})
			}
			a["coordinators"] = list
		})
	case o.verb == "remove" && o.kind == "qos":
		err = k.tellDB(ctx, http.MethodDelete, wire.PathDBQOS+url.PathEscape(o.of["Name"]), nil, nil)
	case o.verb == "remove":
		q := url.Values{"cluster": {o.of["Cluster"]}, "account": {o.of["Name"]}}
		if o.kind == "user" {
			q.Set("account", o.of["Account"])
			q.Set("user", o.of["Name"])
		}
		err = k.tellDB(ctx, http.MethodDelete, wire.PathDBAssociation, q, nil)
	case o.kind == "qos":
		err = k.changeQOS(ctx, o)
	case o.verb == "add" && o.kind == "account":
		err = k.addAccount(ctx, o)
	case o.verb == "add":
		if err = k.tellDB(ctx, http.MethodPost, wire.PathDBUsers, nil, map[string]any{"users": []any{map[string]any{"name": o.of["Name"]}}}); err == nil {
			err = k.addUser(ctx, o)
		}
	default:
		err = k.changeAssociation(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("sacctmgr %s, by slurmrestd: %w", strings.Join(words, " "), err)
	}
	return nil
}

// tellDB has slurmdbd change something. That nothing had to be changed is no error.
func (k *accountKeeper) tellDB(ctx context.Context, method, path string, query url.Values, body any) error {
	var a wire.DBRecordsResponse
	err := k.c.do(ctx, request{op: "accounting", method: method, db: true, path: path, query: query, body: body}, &a)
	switch {
	case errors.Is(err, errNotModified):
		return nil
	case err == nil && len(a.Errors) > 0:
		return fmt.Errorf("site %s: %w", k.cfg.Name, slurmError(federation.ErrConflict, a.Errors[0], ""))
	}
	return err
}

func (k *accountKeeper) addAccount(ctx context.Context, o order) error {
	account := map[string]any{}
	for option, key := range map[string]string{"Description": "description", "Organization": "organization"} {
		if v := o.set[option]; v != "" {
			account[key] = v
		}
	}
	condition := map[string]any{"accounts": []string{o.of["Name"]}, "clusters": []string{o.of["Cluster"]}, "association": map[string]any{"parent": o.set["Parent"]}}
	if err := k.tellDB(ctx, http.MethodPost, wire.PathDBAddAccounts, nil, map[string]any{"association_condition": condition, "account": account}); err != nil {
		return err
	}
	return k.changeAssociation(ctx, o)
}

func (k *accountKeeper) addUser(ctx context.Context, o order) error {
	bare := record{"account": o.of["Account"], "cluster": o.of["Cluster"], "user": o.of["Name"]}
	if err := k.writeAssociation(ctx, bare); err != nil || len(o.set) == 0 {
		return err
	}
	return k.changeAssociation(ctx, o)
}

func (k *accountKeeper) writeAssociation(ctx context.Context, r record) error {
	return k.tellDB(ctx, http.MethodPost, wire.PathDBAssociations, nil, map[string]any{"associations": []record{r}})
}

// changeAssociation sets options of a user's association or of an account's own one. A default account is said of the association with it.
func (k *accountKeeper) changeAssociation(ctx context.Context, o order) error {
	account, user := o.of["Name"], ""
	if o.kind == "user" {
		account, user = o.of["Account"], o.of["Name"]
	}
	set := maps.Clone(o.set)
	if name := set["DefaultAccount"]; name != "" {
		account = name
	}
	if about := [2]string{set["Description"], set["Organization"]}; o.verb == "modify" && about != [2]string{} {
		err := k.changeAccount(ctx, account, func(a record) {
			for i, key := range []string{"description", "organization"} {
				if about[i] != "" {
					a[key] = about[i]
				}
			}
		})
		if err != nil {
			return err
		}
	}
	delete(set, "Description")
	delete(set, "Organization")
	q := ownLimits(o.of["Cluster"])
	q.Set("account", account)
	a, err := k.askDB(ctx, wire.PathDBAssociations, q)
	if err != nil {
		return err
	}
	for _, found := range a.Associations {
		r := record(found)
		if r.text("user") != user || r.text("partition") != "" {
			continue
		}
		for name, value := range set {
			switch name {
			case "DefaultAccount":
				r["is_default"] = true
			case "Parent":
				r["parent_account"] = value
			default:
				if err := r.set(name, pathOf(accounts.User, name), value); err != nil {
					return err
				}
			}
		}
		if set["DefaultAccount"] == "" { // it stays as it is
			delete(r, "is_default")
		}
		return k.writeAssociation(ctx, r)
	}
	return fmt.Errorf("site %s: %w: its accounting does not have it", k.cfg.Name, federation.ErrNotFound)
}

// changeAccount changes what an account is for, or its coordinators.
func (k *accountKeeper) changeAccount(ctx context.Context, name string, change func(record)) error {
	a, err := k.askDB(ctx, wire.PathDBAccounts, url.Values{"WithCoordinators": {"true"}})
	if err != nil {
		return err
	}
	for _, found := range a.Accounts {
		if r := record(found); r.text("name") == name {
			change(r)
			return k.tellDB(ctx, http.MethodPost, wire.PathDBAccounts, nil, map[string]any{"accounts": []record{r}})
		}
	}
	return fmt.Errorf("site %s: %w: its accounting does not have account %s", k.cfg.Name, federation.ErrNotFound, name)
}

func (k *accountKeeper) changeQOS(ctx context.Context, o order) error {
	r := record{"name": o.of["Name"]}
	if o.verb == "modify" {
		a, err := k.askDB(ctx, wire.PathDBQOS, nil)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(a.QOS, func(q wire.DBRecord) bool { return record(q).text("name") == o.of["Name"] })
		if i < 0 {
			return fmt.Errorf("site %s: %w: its accounting does not have it", k.cfg.Name, federation.ErrNotFound)
		}
		r = record(a.QOS[i])
		for name, value := range o.set {
			if err := r.set(name, pathOf(accounts.QOS, name), value); err != nil {
				return err
			}
		}
	}
	return k.tellDB(ctx, http.MethodPost, wire.PathDBQOS, nil, map[string]any{"qos": []record{r}})
}

// pathOf is where slurmrestd has an option; "": nowhere.
func pathOf(kind accounts.Kind, option string) string {
	o, err := accounts.OptionOf(kind, option)
	if err != nil {
		return ""
	}
	return o.Path(kind)
}

// set gives an option a value in sacctmgr's words; -1 unsets it.
func (r record) set(option, path, value string) error {
	holder, key, old := r.at(path)
	if path == "" || old == nil {
		return fmt.Errorf("%w: slurmrestd has no place for %s: set account_command in the site's configuration", federation.ErrInvalid, option)
	}
	switch old := old.(type) {
	case string:
		holder[key] = strings.TrimPrefix(value, "-1")
	case float64:
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case value == "parent":
			n = float64(fairtree.UseParent)
		case value == "-1":
			n = 0
		case err != nil:
			return fmt.Errorf("%w: invalid value %q of %s", federation.ErrInvalid, value, option)
		}
		holder[key] = n
	case map[string]any:
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("%w: invalid value %q of %s", federation.ErrInvalid, value, option)
		}
		holder[key] = map[string]any{"set": n >= 0, "infinite": n < 0, "number": max(n, 0)}
	case []any:
		if !slices.Contains([]string{"QOS", "Preempt", "PreemptMode", "Flags"}, option) {
			return setTRES(holder, key, old, value)
		}
		list := []string{}
		for w := range strings.SplitSeq(value, ",") {
			if theirs, ok := restWords[w]; ok && option != "QOS" && option != "Preempt" {
				w = theirs
			}
			if w != "" && w != "-1" {
				list = append(list, w)
			}
		}
		if len(list) == 0 && option == "Preempt" {
			return fmt.Errorf("%w: slurmrestd cannot empty Preempt: set account_command in the site's configuration", federation.ErrInvalid)
		}
		holder[key] = list
	}
	return nil
}

// setTRES writes a list of limits by TRES. Those of value replace old ones of the same name, or unset them with -1, which slurmdbd is to be told.
func setTRES(holder map[string]any, key string, old []any, value string) error {
	held := tresAt(old)
	if held == nil {
		held = accounting.TRES{}
	}
	for item := range strings.SplitSeq(value, ",") {
		if name, unset := strings.CutSuffix(item, "=-1"); unset {
			held[name] = -1
			continue
		}
		more, err := accounting.ParseTRES(item)
		if err != nil {
			return fmt.Errorf("%w: %v", federation.ErrInvalid, err)
		}
		maps.Copy(held, more)
	}
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(held)) {
		kind, sub, _ := strings.Cut(name, "/")
		list = append(list, map[string]any{"type": kind, "name": sub, "count": held[name]})
	}
	holder[key] = list
	return nil
}
