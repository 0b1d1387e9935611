package tpu

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	tpuapi "google.golang.org/api/tpu/v2alpha1"

	"fsub/cloud/google"
	"fsub/cloud/provider"
	"fsub/slurm/hostlist"
)

// prefix is what names of gangs begin with.
const prefix = "fsubtpu-"

// gangName names a gang's queued resource, and its node where it has one slice.
func (p *Provider) gangName(token string) string {
	return prefix + google.Hash(p.cfg.Federation, string(p.cfg.Site), token)[:20]
}

// nodeName is the node of the i-th of n slices.
func nodeName(gang string, i, n int) string {
	if n == 1 {
		return gang
	}
	return gang + "-" + strconv.Itoa(i)
}

// gangOf is the gang's name and the slice that a node's name tells.
func gangOf(node string) (gang string, i int, ok bool) {
	rest, ok := strings.CutPrefix(node, prefix)
	if !ok {
		return "", 0, false
	}
	if name, number, several := strings.Cut(rest, "-"); several {
		i, err := strconv.Atoi(number)
		return prefix + name, i, err == nil
	}
	return node, 0, true
}

// instanceID is a host's ID, as the host itself can tell it too.
func instanceID(zone, node string, worker int) provider.InstanceID {
	return provider.InstanceID(zone + "/" + node + "/" + strconv.Itoa(worker))
}

// place takes an ID apart.
func place(id provider.InstanceID) (zone, node string, ok bool) {
	parts := strings.Split(string(id), "/")
	if len(parts) != 3 || !zoneForm.MatchString(parts[0]) || !strings.HasPrefix(parts[1], prefix) {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// zoneOf is the location of a full name: projects/P/locations/ZONE/nodes/N.
func zoneOf(name string) string {
	parts := strings.Split(name, "/")
	if len(parts) < 4 {
		return ""
	}
	return parts[3]
}

// note is what stands in the description of a gang's nodes.
type note struct {
	Gang     string `json:"gang"` // Request.Token
	Offering string `json:"offering"`
	Hosts    int    `json:"hosts"`   // of a slice
	Names    string `json:"names"`   // hostlist of Request.Names
	Request  string `json:"request"` // hash of the Request
}

// maxDescription is what Google takes.
const maxDescription = 2048

func (p *Provider) note(r *provider.Request) (string, error) {
	text, err := json.Marshal(note{r.Token, r.Offering.ID, max(r.Offering.Hosts, 1), r.HostList(), requestHash(r)})
	if err == nil && len(text) > maxDescription {
		err = provider.Invalid("%d host names do not fit into a description: give machines of one gang names with numbers in a row", len(r.Names))
	}
	return string(text), err
}

// requestHash is the same for equal requests, whatever the configuration says by then. It differs from Request.Hash, and stays: running machines carry it.
func requestHash(r *provider.Request) string {
	o := &r.Offering
	return google.Hash(r.Token, string(r.Site), o.ID, o.Type, o.Zone, string(o.Market), o.Reservation, fmt.Sprintf("%d %q", r.Count, r.Names), string(r.Boot.Lines()))[:32]
}

// mostHosts is more than a slice has: the largest have some thousand.
const mostHosts = 1 << 14

func readNote(text string) (n note, hosts []string) {
	if json.Unmarshal([]byte(text), &n) != nil || n.Hosts < 0 || n.Hosts > mostHosts {
		return note{}, nil
	}
	hosts, _ = hostlist.Expand(n.Names) // nil where somebody has changed it
	return n, hosts
}

// hosts are the machines of a node as the API shows it.
func hostsOf(n *tpuapi.Node) []provider.Instance {
	said, names := readNote(n.Description)
	zone, node := zoneOf(n.Name), google.Base(n.Name)
	_, at, _ := gangOf(node)
	list := make([]provider.Instance, max(said.Hosts, len(n.NetworkEndpoints), 1))
	for w := range list {
		m := provider.Instance{ID: instanceID(zone, node, w), Token: said.Gang, Offering: said.Offering}
		if i := at*said.Hosts + w; i >= 0 && i < len(names) {
			m.Name = names[i]
		}
		if w < len(n.NetworkEndpoints) {
			m.Addr = n.NetworkEndpoints[w].IpAddress
		}
		m.Launched = timeOf(n.CreateTime)
		switch n.State {
		case "CREATING", "STARTING", "RESTARTING", "REIMAGING", "", "STATE_UNSPECIFIED":
			m.State = provider.InstancePending
		case "READY", "REPAIRING", "UNKNOWN":
			m.State = provider.InstanceRunning
		default:
			m.State, m.Reason = provider.InstanceEnding, n.State
			if n.State == "PREEMPTED" {
				m.Reason = "PREEMPTED: the spot slice was taken back"
			}
		}
		list[w] = m
	}
	return list
}
