package agent

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	google "cloud.google.com/go/compute/metadata"

	"fsub/cloud/agentapi"
)

// gce is Google's metadata server. GCE_METADATA_HOST names another one, as for all of Google's own clients.
type gce struct{ server *google.Client }

func newGCE() gce {
	return gce{google.NewClient(&http.Client{Timeout: imdsTime, Transport: &http.Transport{Proxy: nil}})}
}

func (g gce) get(ctx context.Context, name string) (string, error) {
	text, err := g.server.GetWithContext(ctx, name)
	return strings.TrimSpace(text), err
}

// instance is ZONE/NAME; of a TPU's host ZONE/NODE/WORKER.
func (g gce) instance(ctx context.Context) (string, error) {
	zone, err := g.get(ctx, "instance/zone") // projects/NUMBER/zones/ZONE
	if err != nil {
		return "", err
	}
	zone = zone[strings.LastIndexByte(zone, '/')+1:]
	worker, err := g.get(ctx, "instance/attributes/agent-worker-number")
	if err == nil {
		node, err := g.node(ctx)
		return zone + "/" + node + "/" + worker, err
	}
	if !undefined(err) {
		return "", err
	}
	name, err := g.get(ctx, "instance/name")
	return zone + "/" + name, err
}

// node is the name of the TPU node that this machine is a host of: NODE_ID of the attribute tpu-env, whose lines are KEY: 'VALUE'.
func (g gce) node(ctx context.Context) (string, error) {
	text, err := g.get(ctx, "instance/attributes/tpu-env")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "NODE_ID:"); ok {
			return strings.Trim(strings.TrimSpace(value), "'\""), nil
		}
	}
	return "", errors.New("the attribute tpu-env names no NODE_ID")
}

func (g gce) addr(ctx context.Context) (string, error) {
	return g.get(ctx, "instance/network-interfaces/0/ip")
}

// gceLead is how long a machine that is preempted has until it is switched off hard (cloud.google.com/compute/docs/instances/preemptible).
const gceLead = 30 * time.Second

// notice looks whether the machine is being preempted, then whether its host is about to be maintained, which a machine with accelerators does not survive.
func (g gce) notice(ctx context.Context) (*agentapi.Notice, error) {
	taken, err := g.get(ctx, "instance/preempted")
	if err == nil && strings.EqualFold(taken, "TRUE") {
		return &agentapi.Notice{Kind: agentapi.NoticePreempt, At: time.Now().Add(gceLead).UTC()}, nil
	}
	if err != nil && !undefined(err) {
		return nil, err
	}
	event, err := g.get(ctx, "instance/maintenance-event")
	switch {
	case undefined(err):
		return nil, nil
	case err != nil || event != "TERMINATE_ON_HOST_MAINTENANCE":
		return nil, err
	}
	return &agentapi.Notice{Kind: agentapi.NoticeRebalance, At: time.Now().UTC()}, nil
}

func undefined(err error) bool {
	var none google.NotDefinedError
	return errors.As(err, &none)
}
