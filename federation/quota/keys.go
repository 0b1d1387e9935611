package quota

import (
	"cmp"
	"strings"

	"fsub/federation/accounts"
	"fsub/federation/fairshare"
)

// keysOf are the records whose limits hold for a job: its association, the accounts above it, its QOS, and the QOS for this user alone.
func keysOf(t *accounts.Tree, user, account, qos string) []accounts.Key {
	k := fairshare.Key(t, user, account)
	keys := []accounts.Key{k}
	for a := range t.Above(k.Account) {
		keys = append(keys, a.Key)
	}
	if qos == "" {
		qos = defaultQOS(t, k)
	}
	if qos != "" {
		keys = append(keys, accounts.QOSKey(strings.ToLower(qos)), ofUser(qos, k.Name), ofAccount(qos, k.Account))
	}
	return keys
}

// ofUser and ofAccount stand for what one user, or one account, has in a QOS. No name of an account has a slash.
func ofUser(qos, user string) accounts.Key {
	return accounts.Key{Kind: accounts.QOS, Account: user, Name: strings.ToLower(qos)}
}

func ofAccount(qos, account string) accounts.Key {
	return accounts.Key{Kind: accounts.QOS, Account: inAccount + account, Name: strings.ToLower(qos)}
}

const inAccount = "account/"

func defaultQOS(t *accounts.Tree, k accounts.Key) string {
	if r := t.Get(k); r != nil && r.Set["DefaultQOS"] != "" {
		return r.Set["DefaultQOS"]
	}
	for a := range t.Above(k.Account) {
		if q := a.Set["DefaultQOS"]; q != "" {
			return q
		}
	}
	return ""
}

func (w *Want) keysIn(t *accounts.Tree) []accounts.Key {
	return keysOf(t, w.User, cmp.Or(w.Payer, t.Account(w.User, w.Account)), w.QOS)
}

// factorOf is the UsageFactor of the QOS among some keys.
func factorOf(t *accounts.Tree, keys []accounts.Key) float64 {
	for _, k := range keys {
		if k.Kind == accounts.QOS && k.Account == "" {
			if r := t.Get(k); r != nil {
				return r.UsageFactor()
			}
		}
	}
	return 1
}

// noDecay reports whether usage of a record does not decay.
func noDecay(r *accounts.Record) bool { return r != nil && r.Kind == accounts.QOS && r.Flag("NoDecay") }
