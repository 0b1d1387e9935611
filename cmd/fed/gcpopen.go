//go:build !nocloud

package main

import (
	"context"
	"log/slog"
	"net/http"

	"fsub/cloud/agentapi"
	"fsub/cloud/gcp"
	"fsub/cloud/google"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
)

// googleKinds are the markets of a section.
func googleKinds(asked []string) []provider.Market {
	kinds := []provider.Market{provider.OnDemand, provider.Spot}
	if len(asked) > 0 {
		kinds = nil
		for _, m := range asked {
			kinds = append(kinds, provider.Market(m))
		}
	}
	return kinds
}

func openGCP(ctx context.Context, c *config.Config, s *config.Site, cat *prices.Catalogue, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	cfg := gcpConfig(s.GCP, s.Name, c.Federation, log)
	cfg.Prices = cat
	p, err := gcp.New(ctx, cfg)
	return p, gcp.Boot(), err
}

// googleClient is a client that proves to Google's price list who it is. It calls nobody.
func googleClient(ctx context.Context, endpoint, credentials string) (*http.Client, error) {
	return (&google.Account{Endpoint: endpoint, CredentialsFile: credentials}).Client(ctx, "https://www.googleapis.com/auth/cloud-billing.readonly")
}

// gcpConfig is the section as the provider has it.
func gcpConfig(g *config.GCP, site federation.SiteName, fed string, log *slog.Logger) gcp.Config {
	out := gcp.Config{
		Site: site, Federation: fed, Project: g.Project, Region: g.Region, Zones: g.Zones, Reservations: g.Reservations, Network: g.Network, Subnetwork: g.Subnetwork,
		MoreSubnetworks: g.MoreSubnetworks, NoAddress: g.NoAddress, Images: g.Images, DiskGiB: g.DiskGiB, DiskType: g.DiskType, ServiceAccount: g.ServiceAccount,
		Labels: g.Labels, SpotInterrupts: g.SpotInterrupts, Boot: g.Boot, FlexQueue: g.FlexQueue, FlexRun: g.FlexRun, CredentialsFile: g.CredentialsFile,
		Endpoint: g.Endpoint, Logger: log, Contract: contract(g.Prices),
	}
	for _, t := range g.Types {
		out.Types = append(out.Types, gcp.Type{Name: t, Markets: googleKinds(g.Markets)})
	}
	return out
}
