package azure

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"
	"golang.org/x/crypto/ssh"

	"fsub/cloud/provider"
)

// Provider rents machines from Azure. It remembers sizes and addresses, and nothing that a crash would make worse.
type Provider struct {
	cfg  Config
	log  *slog.Logger
	now  func() time.Time
	wait time.Duration // createWait, but for tests

	sets         *armcompute.VirtualMachineScaleSetsClient
	setVMs       *armcompute.VirtualMachineScaleSetVMsClient
	vms          *armcompute.VirtualMachinesClient
	skus         *armcompute.ResourceSKUsClient
	usage        *armcompute.UsageClient
	reservations *armcompute.CapacityReservationsClient
	nics         *armnetwork.InterfacesClient
	subnets      *armnetwork.SubnetsClient

	memory memory
	mu     sync.Mutex
	addrs  map[provider.InstanceID]string // of machines in the last listing
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Checker  = (*Provider)(nil)
	_ provider.Consoler = (*Provider)(nil)
)

// New makes a Provider. It calls nobody.
func New(cfg Config) (*Provider, error) {
	if cfg.Site == "" || cfg.Federation == "" {
		return nil, errors.New("azure: the site and the federation need names: machines are known by them")
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.SpotInterrupts = cmp.Or(cfg.SpotInterrupts, DefaultInterrupts)
	cfg.Boot = cmp.Or(cfg.Boot, 3*time.Minute)
	p := &Provider{cfg: cfg, log: cmp.Or(cfg.Logger, slog.Default()).With("site", cfg.Site), now: cfg.Now, wait: createWait, addrs: map[provider.InstanceID]string{}}
	if p.now == nil {
		p.now = time.Now
	}
	if p.cfg.SSHKey == "" {
		// Azure wants a key or a password. Nobody has the other half of this one.
		public, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			return nil, err
		}
		key, err := ssh.NewPublicKey(public)
		if err != nil {
			return nil, err
		}
		p.cfg.SSHKey = strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	}
	return p, p.open()
}

// open makes the SDK's clients. Nothing is retried by them: the callers of a Provider do that.
func (p *Provider) open() error {
	o := &arm.ClientOptions{
		ClientOptions: policy.ClientOptions{
			Retry: policy.RetryOptions{MaxRetries: -1},
			// A connection that neither answers nor breaks must not block a round forever. None of our calls takes Azure that long.
			Transport: cmp.Or(p.cfg.HTTP, &http.Client{Timeout: time.Minute}),
		},
		DisableRPRegistration: true, // it would take a right that the role does not have
	}
	if p.cfg.Endpoint != "" {
		o.Cloud = cloud.Configuration{Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: p.cfg.Endpoint, Audience: "https://management.azure.com"},
		}}
		o.InsecureAllowCredentialWithHTTP = true
	}
	if p.cfg.Credential == nil {
		chain, err := azidentity.NewDefaultAzureCredential(nil)
		if err != nil {
			return fmt.Errorf("azure: credentials: %w", err)
		}
		p.cfg.Credential = chain
	}
	compute, err := armcompute.NewClientFactory(p.cfg.Subscription, p.cfg.Credential, o)
	if err != nil {
		return fmt.Errorf("azure: %w", err)
	}
	network, err := armnetwork.NewClientFactory(p.cfg.Subscription, p.cfg.Credential, o)
	if err != nil {
		return fmt.Errorf("azure: %w", err)
	}
	p.sets, p.setVMs, p.vms = compute.NewVirtualMachineScaleSetsClient(), compute.NewVirtualMachineScaleSetVMsClient(), compute.NewVirtualMachinesClient()
	p.skus, p.usage, p.reservations = compute.NewResourceSKUsClient(), compute.NewUsageClient(), compute.NewCapacityReservationsClient()
	p.nics, p.subnets = network.NewInterfacesClient(), network.NewSubnetsClient()
	return nil
}

// Secret is the credential of an application, with its password.
func Secret(tenant, client, secret string) (azcore.TokenCredential, error) {
	return azidentity.NewClientSecretCredential(tenant, client, secret, nil)
}

// Token is a credential that is a token itself, for what stands in for Azure.
type Token string

// GetToken implements azcore.TokenCredential.
func (t Token) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(t), ExpiresOn: time.Now().Add(time.Hour)}, nil
}
