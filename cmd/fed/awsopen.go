//go:build !nocloud

package main

import (
	"context"
	"log/slog"

	"fsub/cloud/agentapi"
	"fsub/cloud/aws"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
)

func openAWS(ctx context.Context, c *Config, s *SiteConfig, cat *prices.Catalogue, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	cfg := s.AWS.provider(s.Name, c.Federation, log)
	cfg.Prices = cat
	p, err := aws.New(ctx, cfg)
	if err == nil && cat != nil {
		cat.Add(p.PriceSource())
	}
	return p, aws.Boot(), err
}

// provider is the section as the provider has it.
func (a *AWSConfig) provider(site federation.SiteName, fed string, log *slog.Logger) aws.Config {
	kinds := []provider.Market{provider.OnDemand, provider.Spot}
	if len(a.Markets) > 0 {
		kinds = nil
		for _, m := range a.Markets {
			if m := provider.Market(m); m == provider.OnDemand || m == provider.Spot {
				kinds = append(kinds, m)
			}
		}
	}
	out := aws.Config{
		Site: site, Federation: fed, Reservations: a.Reservations, AnyZone: a.AnyZone, Images: a.Images, VolumeGiB: a.VolumeGiB,
		InstanceProfile: a.InstanceProfile, KeyName: a.KeyName, Tags: a.Tags, SpotInterrupts: a.SpotInterrupts, Boot: a.Boot, Profile: a.Profile,
		CredentialsFile: a.CredentialsFile, Endpoint: a.Endpoint, PricingEndpoint: a.PricingEndpoint, Logger: log,
	}
	if a.Region != "" {
		out.Regions = []aws.Region{{Name: a.Region, Zones: a.Zones, VPC: a.VPC, Subnets: a.Subnets, SecurityGroups: a.SecurityGroups}}
	}
	for _, t := range a.Types {
		out.Types = append(out.Types, aws.Type{Name: t, Markets: kinds, Price: federation.Dollars(a.Prices[t])})
	}
	return out
}
