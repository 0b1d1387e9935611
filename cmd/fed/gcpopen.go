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
	"fsub/federation"
)

func openGCP(ctx context.Context, c *Config, s *SiteConfig, cat *prices.Catalogue, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	cfg := s.GCP.provider(s.Name, c.Federation, log)
	cfg.Prices = cat
	p, err := gcp.New(ctx, cfg)
	return p, gcp.Boot(), err
}

// googleClient is a client that proves to Google's price list who it is. It calls nobody.
func googleClient(ctx context.Context, endpoint, credentials string) (*http.Client, error) {
	return (&google.Account{Endpoint: endpoint, CredentialsFile: credentials}).Client(ctx, "https://www.googleapis.com/auth/cloud-billing.readonly")
}

// provider is the section as the provider has it.
func (g *GCPConfig) provider(site federation.SiteName, fed string, log *slog.Logger) gcp.Config {
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
