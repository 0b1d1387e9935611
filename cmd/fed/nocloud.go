//go:build nocloud

package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"fsub/cloud/agentapi"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cmd/fed/internal/config"
)

var errNoCloud = errors.New("this fed was built without clouds (-tags nocloud): build it without that tag")

func openAWS(context.Context, *config.Config, *config.Site, *prices.Catalogue, *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	return nil, agentapi.Boot{}, errNoCloud
}

func openGCP(context.Context, *config.Config, *config.Site, *prices.Catalogue, *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	return nil, agentapi.Boot{}, errNoCloud
}

func openTPU(context.Context, *config.Config, *config.Site, *prices.Catalogue, *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	return nil, agentapi.Boot{}, errNoCloud
}

func openAzure(context.Context, *config.Config, *config.Site, *prices.Catalogue, *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	return nil, agentapi.Boot{}, errNoCloud
}

func googleClient(context.Context, string, string) (*http.Client, error) { return nil, errNoCloud }
