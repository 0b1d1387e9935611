package providertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud/provider"
)

// Wait waits for what must come true.
func Wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

// Offer is a provider's offering by its ID.
func Offer(t testing.TB, p provider.Provider, id string) provider.Offering {
	t.Helper()
	all, err := p.Offerings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(o provider.Offering) bool { return o.ID == id })
	if i < 0 {
		var ids []string
		for _, o := range all {
			ids = append(ids, o.ID)
		}
		t.Fatalf("no offering %s among %s", id, strings.Join(ids, ", "))
	}
	return all[i]
}

// KindOf is the kind of a refusal; "": there is no error.
func KindOf(err error) provider.ErrorKind {
	if err == nil {
		return ""
	}
	return provider.AsError(err).Kind
}
