package aws

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/provider"
	"fsub/slurm/hostlist"
)

// The tags that everything of ours carries. Those of a gang tell enough to find it again after a crash.
const (
	tagPrefix     = "fsub-"
	tagFederation = "fsub-federation"
	tagSite       = "fsub-site"
	tagInstalled  = "fsub-installation"
	tagGang       = "fsub-gang"     // Request.Token
	tagOffering   = "fsub-offering" // Offering.ID
	tagRequest    = "fsub-request"  // hash of the Request
	tagNames      = "fsub-names"    // hostlist of Request.Names by launch index; goes on in fsub-names-2, -3 ...
	tagName       = "Name"          // for people; of a machine that a fleet has made it is its host name
	tagFleet      = "fsub-fleet"    // the machine is one of a fleet, where the launch index says nothing
)

const (
	maxTagValue = 256
	maxNameTags = 10
)

type filter = types.Filter

func tagFilter(key string, values ...string) filter {
	return filter{Name: sdk.String("tag:" + key), Values: values}
}

// ourTags are on all that is made.
func (p *Provider) ourTags() map[string]string {
	tags := maps.Clone(p.cfg.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[tagFederation] = p.cfg.Federation
	tags[tagSite] = string(p.cfg.Site)
	if p.cfg.Installation != "" {
		tags[tagInstalled] = p.cfg.Installation
	}
	return tags
}

// others reports whether something with our names is another daemon's. What an older version made has no such tag.
func (p *Provider) others(tags []types.Tag) bool {
	owner := tagMap(tags)[tagInstalled]
	return owner != "" && p.cfg.Installation != "" && owner != p.cfg.Installation
}

// gangTags are on the machines of a gang.
func (p *Provider) gangTags(r *provider.Request) (map[string]string, error) {
	tags := p.ourTags()
	tags[tagGang] = r.Token
	tags[tagOffering] = r.Offering.ID
	tags[tagRequest] = r.Hash()
	names := r.HostList()
	tags[tagName] = names
	if len(names) > maxTagValue {
		tags[tagName] = fmt.Sprintf("%s (gang of %d)", r.Names[0], r.Count)
	}
	parts := chunks(names, maxTagValue)
	if len(parts) > maxNameTags {
		return nil, invalid("%d host names do not fit into %d tags: give machines of one gang names with numbers in a row", len(r.Names), maxNameTags)
	}
	for i, part := range parts {
		tags[namesTag(i)] = part
	}
	return tags, nil
}

func namesTag(i int) string {
	if i == 0 {
		return tagNames
	}
	return tagNames + "-" + strconv.Itoa(i+1)
}

func chunks(s string, size int) []string {
	var parts []string
	for len(s) > size {
		parts, s = append(parts, s[:size]), s[size:]
	}
	return append(parts, s)
}

func sdkTags(tags map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: sdk.String(k), Value: sdk.String(tags[k])})
	}
	return out
}

func tagMap(tags []types.Tag) map[string]string {
	m := make(map[string]string, len(tags))
	for _, t := range tags {
		m[sdk.ToString(t.Key)] = sdk.ToString(t.Value)
	}
	return m
}

// nameLists are tags that were expanded before: all machines of a gang carry the same.
type nameLists map[string][]string

// instance is a machine as EC2 shows it.
func (l nameLists) instance(i *types.Instance) provider.Instance {
	tags := tagMap(i.Tags)
	m := provider.Instance{
		ID: provider.InstanceID(sdk.ToString(i.InstanceId)), Token: tags[tagGang], Offering: tags[tagOffering], Name: l.name(i, tags),
		Addr: sdk.ToString(i.PrivateIpAddress), Launched: sdk.ToTime(i.LaunchTime),
	}
	if i.StateReason != nil {
		m.Reason = cmp.Or(sdk.ToString(i.StateReason.Code), sdk.ToString(i.StateReason.Message))
	}
	if i.State == nil {
		m.State = provider.InstancePending
		return m
	}
	switch i.State.Name {
	case types.InstanceStateNamePending:
		m.State = provider.InstancePending
	case types.InstanceStateNameShuttingDown:
		m.State = provider.InstanceEnding
	case types.InstanceStateNameTerminated:
		m.State, m.Refused, m.Ended = provider.InstanceEnded, refusedKey(i.StateReason), endedAt(sdk.ToString(i.StateTransitionReason))
	case types.InstanceStateNameStopping, types.InstanceStateNameStopped:
		// Nobody but a person stops our machines. They hold volumes that are paid for and do not
		// end by themselves: they are as good as running machines that do not answer.
		m.State = provider.InstanceRunning
		m.Reason = cmp.Or(m.Reason, string(i.State.Name))
	default:
		m.State = provider.InstanceRunning
	}
	return m
}

// endedAt is when a machine began to end, from which on it is not charged for: "User initiated (2026-11-01 12:00:00 GMT)". Of machines that Amazon takes
// back, and of those that power off, it tells no time.
func endedAt(transition string) time.Time {
	_, text, _ := strings.Cut(transition, "(")
	at, _ := time.Parse("2006-01-02 15:04:05 MST)", text)
	return at
}

// name is the machine's host name by its place in the gang.
func (l nameLists) name(i *types.Instance, tags map[string]string) string {
	if tags[tagFleet] != "" {
		if n := tags[tagName]; n != "" && !strings.ContainsAny(n, "[, ") {
			return n
		}
		return ""
	}
	var all strings.Builder
	for n := range maxNameTags {
		all.WriteString(tags[namesTag(n)])
	}
	names, ok := l[all.String()]
	if !ok {
		names, _ = hostlist.Expand(all.String()) // nil where somebody has changed the tag
		l[all.String()] = names
	}
	if at := int(sdk.ToInt32(i.AmiLaunchIndex)); at >= 0 && at < len(names) {
		return names[at]
	}
	return ""
}

// refusedKey is the refusal that a machine's end as it was launched stands for: RunInstances has answered before Amazon finds that it cannot use the key with
// which the machine's disks are encrypted. Where the right to use it is missing, Amazon says "Client error on launch" only.
func refusedKey(r *types.StateReason) *provider.Error {
	if r == nil {
		return nil
	}
	code, text := sdk.ToString(r.Code), sdk.ToString(r.Message)
	if !strings.HasPrefix(code, "Client.InvalidKMSKey") && !(code == "Client.InternalError" && strings.Contains(text, "Client error on launch")) {
		return nil
	}
	return &provider.Error{Kind: provider.KindKey, Scope: provider.ScopeRegion, Code: code, Text: text + ": the key that encrypts the disks must be enabled, and the daemon's role needs it: cloud/aws/policy-kms.json, and the key's own policy"}
}
