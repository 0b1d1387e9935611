package azure

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"fsub/cloud/provider"
)

// The tags that every scale set of ours carries: enough to find its gang again after a crash.
const (
	tagPrefix     = "fsub-"
	tagFederation = "fsub-federation"
	tagSite       = "fsub-site"
	tagGang       = "fsub-gang"     // Request.Token
	tagOffering   = "fsub-offering" // Offering.ID
	tagRequest    = "fsub-request"  // hash of the Request
	tagUntil      = "fsub-until"    // when the token cannot come again: RFC 3339
)

// remembered is for how long after the boot data's end a set without machines tells that its token was used.
const remembered = time.Hour

func (p *Provider) tags(r *provider.Request) map[string]*string {
	tags := map[string]*string{}
	for k, v := range p.cfg.Tags {
		tags[k] = &v
	}
	until := r.Boot.Expires
	if until.IsZero() {
		until = p.now()
	}
	for k, v := range map[string]string{
		tagFederation: p.cfg.Federation, tagSite: string(p.cfg.Site), tagGang: r.Token, tagOffering: r.Offering.ID, tagRequest: r.Hash(),
		tagUntil: until.Add(r.Offering.Queue + remembered).UTC().Format(time.RFC3339),
	} {
		tags[k] = &v
	}
	return tags
}

// The names of sets, by their orchestration. A machine's name is its set's with _ and more.
const (
	flexiblePrefix = "fsub-"
	uniformPrefix  = "fsubib-"
)

// setName names the set of a gang. Tokens are longer than names may be together with the site's.
func (p *Provider) setName(prefix, token string) string {
	sum := sha256.Sum256([]byte(p.cfg.Federation + "\n" + string(p.cfg.Site) + "\n" + token))
	return prefix + hex.EncodeToString(sum[:12])
}

// setOf is the set of a machine; false: it is none of ours.
func setOf(id provider.InstanceID) (set, member string, ours bool) {
	set, member, ours = strings.Cut(string(id), "_")
	return set, member, ours && member != "" && (strings.HasPrefix(set, flexiblePrefix) || uniform(set))
}

func uniform(set string) bool { return strings.HasPrefix(set, uniformPrefix) }

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func ptr[T any](v T) *T { return &v }
