package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"fsub/cloud/agentapi"
)

// metadata is what a cloud tells a machine of itself.
type metadata interface {
	instance(context.Context) (string, error) // the provider's ID of the machine
	addr(context.Context) (string, error)     // where the machines of its gang reach it
	notice(context.Context) (*agentapi.Notice, error)
}

// metadataOf is the service that Boot.Metadata names; nil: none.
func metadataOf(where string) metadata {
	switch where {
	case "ec2":
		return newIMDS()
	case "azure":
		return newAzureIMDS()
	case "gce":
		return newGCE()
	}
	return nil
}

func (m *imds) instance(ctx context.Context) (string, error) { return m.get(ctx, "instance-id") }

func (m *imds) addr(ctx context.Context) (string, error) { return m.get(ctx, "local-ipv4") }

// azureIMDS is Azure's instance metadata service. It wants a header, and no token.
type azureIMDS struct {
	base string
	http *http.Client
	name string // of the machine, once it is known
}

func newAzureIMDS() *azureIMDS {
	base := os.Getenv("AZURE_POD_IDENTITY_AUTHORITY_HOST") // as azidentity has it
	if base == "" {
		base = "http://169.254.169.254"
	}
	// The first question for scheduled events turns them on, which takes Azure up to two minutes.
	return &azureIMDS{base: strings.TrimSuffix(base, "/"), http: &http.Client{Timeout: imdsTime, Transport: &http.Transport{Proxy: nil}}}
}

func (m *azureIMDS) get(ctx context.Context, path string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.base+"/metadata/"+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Metadata", "true")
	resp, err := m.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("instance metadata: %s: %s", path, resp.Status)
	}
	return json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<20)).Decode(answer)
}

func (m *azureIMDS) instance(ctx context.Context) (string, error) {
	var compute struct{ Name string }
	err := m.get(ctx, "instance/compute?api-version=2021-02-01", &compute)
	if err == nil && compute.Name == "" {
		err = fmt.Errorf("instance metadata: the machine has no name")
	}
	m.name = compute.Name
	return compute.Name, err
}

func (m *azureIMDS) addr(ctx context.Context) (string, error) {
	var network struct {
		Interface []struct {
			IPv4 struct {
				IPAddress []struct{ PrivateIPAddress string }
			}
		}
	}
	if err := m.get(ctx, "instance/network?api-version=2021-02-01", &network); err != nil {
		return "", err
	}
	for _, i := range network.Interface {
		for _, ip := range i.IPv4.IPAddress {
			return ip.PrivateIPAddress, nil
		}
	}
	return "", errNoMetadata
}

// notice looks for a scheduled event that ends what runs on the machine. A freeze of some seconds does not.
func (m *azureIMDS) notice(ctx context.Context) (*agentapi.Notice, error) {
	if m.name == "" {
		if _, err := m.instance(ctx); err != nil {
			return nil, err
		}
	}
	var scheduled struct {
		Events []struct {
			EventType string
			Resources []string
			NotBefore string // empty once it has started
		}
	}
	if err := m.get(ctx, "scheduledevents?api-version=2020-07-01", &scheduled); err != nil {
		return nil, err
	}
	for _, e := range scheduled.Events {
		mine := slices.ContainsFunc(e.Resources, func(r string) bool { return strings.EqualFold(r, m.name) })
		if !mine || !slices.Contains([]string{"Preempt", "Terminate", "Reboot", "Redeploy"}, e.EventType) {
			continue
		}
		at, err := http.ParseTime(e.NotBefore)
		if err != nil {
			at = time.Now()
		}
		return &agentapi.Notice{Kind: agentapi.NoticePreempt, At: at.UTC()}, nil
	}
	return nil, nil
}
