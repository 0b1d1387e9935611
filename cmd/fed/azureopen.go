//go:build !nocloud

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"fsub/cloud/agentapi"
	"fsub/cloud/azure"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
)

func openAzure(_ context.Context, c *config.Config, s *config.Site, cat *prices.Catalogue, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	cfg := azureConfig(s.Azure, s.Name, c.Federation, log)
	cfg.Prices = cat
	if err := azureCredential(s.Azure, &cfg); err != nil {
		return nil, azure.Boot(), err
	}
	p, err := azure.New(cfg)
	return p, azure.Boot(), err
}

// azureCredential is that of credentials_file, if there is one.
func azureCredential(a *config.Azure, cfg *azure.Config) error {
	if a.CredentialsFile == "" {
		return nil
	}
	text, err := os.ReadFile(a.CredentialsFile)
	if err != nil {
		return fmt.Errorf("azure: credentials_file: %w", err)
	}
	var app struct {
		AppID, Password, Tenant          string // of az ad sp create-for-rbac
		ClientID, ClientSecret, TenantID string // with --json-auth
	}
	if err := json.Unmarshal(text, &app); err != nil {
		return fmt.Errorf("azure: credentials_file: %s is not JSON as az ad sp create-for-rbac prints it", a.CredentialsFile) // the error could show the password
	}
	id, secret, tenant := cmp.Or(app.AppID, app.ClientID), cmp.Or(app.Password, app.ClientSecret), cmp.Or(app.Tenant, app.TenantID)
	if id == "" || secret == "" || tenant == "" {
		return fmt.Errorf("azure: credentials_file: %s lacks appId, password or tenant", a.CredentialsFile)
	}
	if a.Endpoint != "" {
		cfg.Credential = azure.Token(secret)
		return nil
	}
	cfg.Credential, err = azure.Secret(tenant, id, secret)
	return err
}

// azureConfig is the section as the provider has it.
func azureConfig(a *config.Azure, site federation.SiteName, fed string, log *slog.Logger) azure.Config {
	kinds := []provider.Market{provider.OnDemand, provider.Spot}
	if len(a.Markets) > 0 {
		kinds = nil
		for _, m := range a.Markets {
			kinds = append(kinds, provider.Market(m))
		}
	}
	out := azure.Config{
		Site: site, Federation: fed, Subscription: a.Subscription, ResourceGroup: a.ResourceGroup, Location: a.Location, Zones: a.Zones, AnyZone: a.AnyZone,
		Subnet: a.Subnet, SecurityGroup: a.SecurityGroup, PublicIP: a.PublicIP, Reservations: a.Reservations, Images: a.Images, DiskGiB: a.DiskGiB,
		Identity: a.Identity, SSHKey: a.SSHKey, Tags: a.Tags, SpotInterrupts: a.SpotInterrupts, Boot: a.Boot, Endpoint: a.Endpoint, Logger: log, Contract: contract(a.Prices),
	}
	for _, z := range a.Sizes {
		out.Sizes = append(out.Sizes, azure.Size{Name: z, Markets: kinds})
	}
	return out
}
