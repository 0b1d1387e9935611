package lists

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fsub/cloud/google"
	"fsub/cloud/kind"
	"fsub/cloud/prices"
)

// TestAzureList: Azure's list is asked where somebody names it, and for what sites rent there.
func TestAzureList(t *testing.T) {
	site := &kind.List{Cloud: prices.Azure, Regions: []string{"westus2"}, Types: []string{"Standard_D4s_v5"}}
	for _, c := range []struct {
		lists   Config
		sites   []*kind.List
		want    bool
		regions []string
	}{
		{Config{}, nil, false, nil},
		{Config{}, []*kind.List{{Cloud: prices.Azure, StandIn: true}, {Cloud: prices.Google}}, false, nil},
		{Config{}, []*kind.List{site}, true, []string{"westus2"}},
		{Config{Ask: []string{prices.Azure}}, []*kind.List{site}, true, nil},
		{Config{Ask: []string{prices.Azure}, Regions: []string{"eastus"}}, []*kind.List{site, site}, true, []string{"eastus", "westus2"}},
		{Config{Ask: []string{prices.Google}, Regions: []string{"us-central1"}}, nil, false, nil},
	} {
		got := c.lists.azure(c.sites)
		if (got != nil) != c.want || got != nil && !slices.Equal(got.Regions, c.regions) {
			t.Errorf("%+v: %+v", c.lists, got)
		}
		if got != nil && len(c.sites) > 0 && !slices.Contains(got.Types, "Standard_D4s_v5") {
			t.Errorf("types are %v", got.Types)
		}
	}
}

// TestGoogleList: Google's list is asked where somebody names it with a key, and for what sites rent there with their credentials.
func TestGoogleList(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent")
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("k-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rents := func(standIn bool, regions ...string) *kind.List {
		return &kind.List{Cloud: prices.Google, Regions: regions, StandIn: standIn, Client: new(google.Section).List().Client}
	}
	gcp, tpu := rents(false, "us-central1"), rents(false, "us-east5", "us-east5", "us-central1")
	for _, c := range []struct {
		lists   Config
		sites   []*kind.List
		want    string // the key, "client", or "" where it is not asked
		regions []string
	}{
		{Config{}, []*kind.List{{Cloud: prices.Azure}}, "", nil},
		{Config{}, []*kind.List{gcp}, "", nil}, // there are no credentials
		{Config{}, []*kind.List{rents(true, "us-central1")}, "", nil},
		{Config{GoogleEndpoint: "http://127.0.0.1:1"}, []*kind.List{gcp, tpu}, "client", []string{"us-central1", "us-east5"}},
		{Config{GoogleKeyFile: key}, []*kind.List{tpu}, "k-1", []string{"us-east5", "us-central1"}},
		{Config{GoogleKeyFile: key, Ask: []string{prices.Google}}, []*kind.List{tpu}, "k-1", nil},
	} {
		list, err := c.lists.google(c.sites, slog.New(slog.DiscardHandler))
		got := ""
		if list != nil {
			if got = list.Key; list.HTTP != nil {
				got = "client"
			}
		}
		if err != nil || got != c.want || list != nil && !slices.Equal(list.Regions, c.regions) {
			t.Errorf("%+v: %+v, %v", c.lists, list, err)
		}
	}
}
