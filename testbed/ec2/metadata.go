package ec2

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"fsub/testbed/machines"
)

const (
	tokenHeader = "X-Aws-Ec2-Metadata-Token"
	ttlHeader   = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"
)

// metadataService is one instance's 169.254.169.254, version 2: a token first, then everything else with it.
type metadataService struct {
	cloud *Cloud
	id    string
	mu    sync.Mutex
	token map[string]time.Time // until when it is good
}

// Metadata returns the metadata service of an instance. Those that run processes have it at AWS_EC2_METADATA_SERVICE_ENDPOINT already.
func (c *Cloud) Metadata(id string) http.Handler {
	return &metadataService{cloud: c, id: id, token: map[string]time.Time{}}
}

func (m *metadataService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.cloud.Mu.Lock()
	in := m.cloud.instances[m.id]
	var files map[string]string
	endpoint, tokens := "", ""
	if in != nil {
		files = m.cloud.metadataFiles(in)
		o := m.cloud.metadataOptions(in.launch)
		endpoint, tokens = o.Str("HttpEndpoint"), o.Str("HttpTokens")
	}
	m.cloud.Mu.Unlock()
	switch {
	case endpoint != "enabled":
		http.Error(w, "403 - Forbidden", http.StatusForbidden)
	case r.URL.Path == "/latest/api/token":
		m.serveToken(w, r)
	case r.Method != http.MethodGet:
		http.Error(w, "405 - Method Not Allowed", http.StatusMethodNotAllowed)
	case !m.admits(r.Header.Get(tokenHeader), tokens):
		http.Error(w, "401 - Unauthorized", http.StatusUnauthorized)
	default:
		machines.ServeFile(w, r, files)
	}
}

func (m *metadataService) serveToken(w http.ResponseWriter, r *http.Request) {
	seconds, err := strconv.Atoi(r.Header.Get(ttlHeader))
	switch {
	case r.Method != http.MethodPut:
		http.Error(w, "405 - Method Not Allowed", http.StatusMethodNotAllowed)
	case r.Header.Get("X-Forwarded-For") != "": // so that an open proxy does not hand out tokens
		http.Error(w, "403 - Forbidden", http.StatusForbidden)
	case err != nil || seconds < 1 || seconds > 21600:
		http.Error(w, "400 - Bad Request", http.StatusBadRequest)
	default:
		token := machines.RandomHex(56)
		m.mu.Lock()
		m.token[token] = time.Now().Add(time.Duration(seconds) * time.Second)
		m.mu.Unlock()
		w.Header().Set(ttlHeader, itoa(seconds))
		fmt.Fprint(w, token)
	}
}

func (m *metadataService) admits(token, mode string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return token == "" && mode == "optional" || time.Now().Before(m.token[token])
}

// metadataFiles is all that an instance can read of itself. The lock is held.
func (c *Cloud) metadataFiles(in *instance) map[string]string {
	l := in.launch
	f := map[string]string{
		"ami-id": l.image, "ami-launch-index": itoa(in.index), "instance-id": in.id, "instance-type": l.typ.Name, "reservation-id": l.id, "instance-action": "none",
		"hostname": hostName(in.addr), "local-hostname": hostName(in.addr), "local-ipv4": in.addr, "mac": macOf(in.seq), "security-groups": "default",
		"placement/availability-zone": l.zone, "placement/availability-zone-id": c.zoneID(l.zone), "placement/region": c.cfg.Region,
		"services/domain": "amazonaws.com", "services/partition": "aws", "instance-life-cycle": l.market, "events/maintenance/scheduled": "[]",
	}
	if l.group != nil {
		f["placement/group-name"] = l.group.name
	}
	if c.metadataOptions(l).Str("InstanceMetadataTags") == "enabled" {
		for key, value := range in.tags {
			f["tags/instance/"+key] = value
		}
	}
	utc := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
	if !in.notice.IsZero() {
		f["spot/instance-action"] = `{"action":"terminate","time":"` + utc(in.notice) + `"}`
		f["spot/termination-time"] = utc(in.notice)
	}
	out := map[string]string{"latest/dynamic/instance-identity/document": c.identity(in)}
	for name, value := range f {
		out["latest/meta-data/"+name] = value
	}
	if len(l.userData) > 0 {
		out["latest/user-data"] = string(l.userData)
	}
	return out
}

func macOf(n int) string {
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", n>>32&255, n>>24&255, n>>16&255, n>>8&255, n&255)
}

func (c *Cloud) identity(in *instance) string {
	b, _ := json.Marshal(map[string]any{ // strings only: cannot fail
		"accountId": owner, "architecture": in.launch.typ.Arch, "availabilityZone": in.launch.zone, "imageId": in.launch.image, "instanceId": in.id,
		"instanceType": in.launch.typ.Name, "pendingTime": in.launched.Format("2006-01-02T15:04:05Z"), "privateIp": in.addr, "region": c.cfg.Region, "version": "2017-09-30",
	})
	return string(b)
}
