package main

import (
	"context"
	"log/slog"

	"fsub/cloud/agentapi"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cmd/fed/internal/config"
)

// openers are the functions that open the providers of each kind of site, and say what its machines need to boot. The catalogue has
// the prices; a cloud with its own price list adds it there.
func openers() map[string]func(ctx context.Context, c *config.Config, s *config.Site, cat *prices.Catalogue, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	return map[string]func(context.Context, *config.Config, *config.Site, *prices.Catalogue, *slog.Logger) (provider.Provider, agentapi.Boot, error){
		config.KindLocal: openLocal, "aws": openAWS, "gcp": openGCP, "tpu": openTPU, "azure": openAzure,
	}
}
