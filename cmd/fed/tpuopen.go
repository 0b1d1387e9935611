//go:build !nocloud

package main

import (
	"context"
	"log/slog"

	"fsub/cloud/agentapi"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cloud/tpu"
	"fsub/cmd/fed/internal/config"
)

func openTPU(ctx context.Context, c *config.Config, s *config.Site, cat *prices.Catalogue, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	u := s.TPU
	cfg := tpu.Config{
		Site: s.Name, Federation: c.Federation, Project: u.Project, Zones: u.Zones, Slices: u.Slices, Markets: googleKinds(u.Markets), Reservations: u.Reservations,
		Network: u.Network, Subnetwork: u.Subnetwork, NoAddress: u.NoAddress, Runtime: u.Runtime, ServiceAccount: u.ServiceAccount, Labels: u.Labels,
		SpotInterrupts: u.SpotInterrupts, Boot: u.Boot, Queue: u.Queue, FlexQueue: u.FlexQueue, FlexRun: u.FlexRun, CredentialsFile: u.CredentialsFile,
		Endpoint: u.Endpoint, Catalogue: cat, Logger: log, Prices: contract(u.Prices),
	}
	p, err := tpu.New(ctx, cfg)
	return p, tpu.Boot(), err
}
