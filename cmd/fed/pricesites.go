package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"fsub/cloud/prices"
	"fsub/cloud/prices/lists"
	"fsub/cmd/fed/internal/config"
	"fsub/federation/secret"
)

// regions are those whose prices a list is asked for; all: every one that it has.
type regions struct {
	names []string
	all   bool
}

func (r *regions) add(name string) {
	if !r.all && !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
}

// wantedRegions are the regions that the configuration names for a cloud's list, and whether it has the list asked at all.
func wantedRegions(l *config.PriceLists, cloud string) (r regions, asked bool) {
	if !slices.Contains(l.Ask, cloud) {
		return r, false
	}
	return regions{names: slices.Clone(l.Regions), all: len(l.Regions) == 0}, true
}

// azureList is Azure's list for what is asked for and for the sites that rent there; nil: nobody wants it.
func azureList(l *config.PriceLists, sites []config.Site) *lists.Azure {
	list := &lists.Azure{Endpoint: l.AzureEndpoint, Types: prices.Types(prices.Azure)}
	regions, asked := wantedRegions(l, prices.Azure)
	for i := range sites {
		a := sites[i].Azure
		if a == nil || a.Endpoint != "" && l.AzureEndpoint == "" { // what stands in for Azure has no prices
			continue
		}
		asked = true
		regions.add(a.Location)
		for _, size := range a.Sizes {
			if !strings.Contains(size, "*") && !slices.Contains(list.Types, size) {
				list.Types = append(list.Types, size)
			}
		}
	}
	if !asked {
		return nil
	}
	list.Regions = regions.names
	return list
}

// googleList is Google's list for what is asked for and for the sites that rent there, which is asked with the key or with the credentials of the first of those; nil: nobody
// wants it, or nobody has credentials. It calls nobody.
func googleList(l *config.PriceLists, sites []config.Site, log *slog.Logger) (*lists.Google, error) {
	list := &lists.Google{Endpoint: l.GoogleEndpoint}
	regions, asked := wantedRegions(l, prices.Google)
	credentials := ""
	for i := range sites {
		here, endpoint, file := googleOf(&sites[i])
		if here == nil || endpoint != "" && l.GoogleEndpoint == "" { // what stands in for Google has no prices
			continue
		}
		if !asked || credentials == "" {
			asked, credentials = true, file
		}
		for _, r := range here {
			regions.add(r)
		}
	}
	if !asked {
		return nil, nil
	}
	list.Regions = regions.names
	if l.GoogleKeyFile != "" {
		err := secret.Check(l.GoogleKeyFile)
		var key []byte
		if err == nil {
			key, err = os.ReadFile(l.GoogleKeyFile)
		}
		if err != nil {
			return nil, fmt.Errorf("price_lists: google_key_file: %w", err)
		}
		list.Key = strings.TrimSpace(string(key))
		return list, nil
	}
	var err error
	if list.HTTP, err = googleClient(context.Background(), l.GoogleEndpoint, credentials); err != nil {
		log.Warn("Google's price list is not asked: prices are those of the table", "err", err)
		return nil, nil
	}
	return list, nil
}

// googleOf is where a site rents from Google: regions, what stands in for it, and the file with the credentials. nil: nowhere.
func googleOf(s *config.Site) (regions []string, endpoint, credentials string) {
	switch {
	case s.GCP != nil:
		return []string{s.GCP.Region}, s.GCP.Endpoint, s.GCP.CredentialsFile
	case s.TPU != nil:
		for _, zone := range s.TPU.Zones {
			if at := strings.LastIndexByte(zone, '-'); at > 0 {
				regions = append(regions, zone[:at])
			}
		}
		return regions, s.TPU.Endpoint, s.TPU.CredentialsFile
	}
	return nil, "", ""
}
