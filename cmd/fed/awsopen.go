//go:build !nocloud

package main

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"fsub/cloud/agentapi"
	"fsub/cloud/aws"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
)

func openAWS(ctx context.Context, c *config.Config, s *config.Site, cat *prices.Catalogue, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	cfg := awsConfig(s.AWS, s.Name, c.Federation, log)
	cfg.Prices = cat
	key, err := os.ReadFile(filepath.Join(c.StateDir, "agents.key")) // made before
	if err != nil {
		return nil, agentapi.Boot{}, err
	}
	cfg.Installation = fmt.Sprintf("%x", sha256.Sum256(append([]byte("installation"), key...)))[:16]
	if cfg.Arches, err = agentArches(c); err != nil {
		return nil, agentapi.Boot{}, err
	}
	p, err := aws.New(ctx, cfg)
	if err == nil && cat != nil {
		cat.Add(p.PriceSource())
	}
	return p, aws.Boot(), err
}

// agentArches are the architectures, in Amazon's words, that the agent's program is for.
func agentArches(c *config.Config) ([]string, error) {
	path, err := findAgent(c)
	if err != nil {
		return nil, err
	}
	program, err := elf.Open(path)
	if err != nil {
		return nil, nil // a script, which knows its way
	}
	defer program.Close()
	switch program.Machine {
	case elf.EM_X86_64:
		return []string{"x86_64"}, nil
	case elf.EM_AARCH64:
		return []string{"arm64"}, nil
	}
	return nil, fmt.Errorf("%s is for %s: machines of EC2 are x86_64 or arm64", path, program.Machine)
}

// awsConfig is the section as the provider has it.
func awsConfig(a *config.AWS, site federation.SiteName, fed string, log *slog.Logger) aws.Config {
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
		CredentialsFile: a.CredentialsFile, Endpoint: a.Endpoint, PricingEndpoint: a.PricingEndpoint, Logger: log, Contract: contract(a.Prices),
	}
	if a.Region != "" {
		out.Regions = []aws.Region{{Name: a.Region, Zones: a.Zones, VPC: a.VPC, Subnets: a.Subnets, SecurityGroups: a.SecurityGroups}}
	}
	for _, t := range a.Types {
		out.Types = append(out.Types, aws.Type{Name: t, Markets: kinds})
	}
	return out
}
