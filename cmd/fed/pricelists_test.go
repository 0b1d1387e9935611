package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fsub/cloud/prices"
	"fsub/cmd/fed/internal/config"
)

func TestAzureList(t *testing.T) {
	site := config.Site{Azure: &config.Azure{Location: "westus2", Sizes: []string{"Standard_D4s_v5", "Standard_NC*"}}}
	for _, c := range []struct {
		lists   config.PriceLists
		sites   []config.Site
		want    bool
		regions []string
	}{
		{config.PriceLists{}, nil, false, nil},
		{config.PriceLists{}, []config.Site{{Azure: &config.Azure{Endpoint: "http://127.0.0.1:1"}}, {}}, false, nil},
		{config.PriceLists{}, []config.Site{site}, true, []string{"westus2"}},
		{config.PriceLists{Ask: []string{prices.Azure}}, []config.Site{site}, true, nil},
		{config.PriceLists{Ask: []string{prices.Azure}, Regions: []string{"eastus"}}, []config.Site{site, site}, true, []string{"eastus", "westus2"}},
		{config.PriceLists{Ask: []string{prices.Google}, Regions: []string{"us-central1"}}, nil, false, nil},
	} {
		got := azureList(&c.lists, c.sites)
		if (got != nil) != c.want || got != nil && !slices.Equal(got.Regions, c.regions) {
			t.Errorf("%+v: %+v", c.lists, got)
		}
		if got != nil && len(c.sites) > 0 && (!slices.Contains(got.Types, "Standard_D4s_v5") || slices.Contains(got.Types, "Standard_NC*")) {
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
	gcp, tpu := config.Site{GCP: &config.GCP{Region: "us-central1"}}, config.Site{TPU: &config.TPU{Zones: []string{"us-east5-a", "us-east5-b", "us-central1-a"}}}
	for _, c := range []struct {
		lists   config.PriceLists
		sites   []config.Site
		want    string // the key, "client", or "" where it is not asked
		regions []string
	}{
		{config.PriceLists{}, []config.Site{{}}, "", nil},
		{config.PriceLists{}, []config.Site{gcp}, "", nil}, // there are no credentials
		{config.PriceLists{}, []config.Site{{GCP: &config.GCP{Region: "us-central1", Endpoint: "http://127.0.0.1:1"}}}, "", nil},
		{config.PriceLists{GoogleEndpoint: "http://127.0.0.1:1"}, []config.Site{gcp, tpu}, "client", []string{"us-central1", "us-east5"}},
		{config.PriceLists{GoogleKeyFile: key}, []config.Site{tpu}, "k-1", []string{"us-east5", "us-central1"}},
		{config.PriceLists{GoogleKeyFile: key, Ask: []string{prices.Google}}, []config.Site{tpu}, "k-1", nil},
	} {
		list, err := googleList(&c.lists, c.sites, slog.New(slog.DiscardHandler))
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
