package gcp

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"

	"fsub/cloud/google"
	"fsub/cloud/provider"
	"fsub/slurm/hostlist"
)

// labelGang is the label of a machine with its gang's name, without the machine's number.
const labelGang = "fsub-gang"

// What names of gangs begin with: one whose machines are in an instance group of its own is told by it.
const (
	plainPrefix = "fsub-"
	flexPrefix  = "fsubflex-"
)

// gangName names all that is made for one gang.
func (c *Config) gangName(token string, flex bool) string {
	prefix := plainPrefix
	if flex {
		prefix = flexPrefix
	}
	return prefix + google.Hash(c.Federation, string(c.Site), token)[:20]
}

func instanceName(gang string, i int) string { return gang + "-" + strconv.Itoa(i) }

// gangOf is the gang's name and the place in it that an instance's name tells.
func gangOf(instance string) (gang string, index int, ok bool) {
	at := strings.LastIndexByte(instance, '-')
	if at < 0 || !strings.HasPrefix(instance, plainPrefix) && !strings.HasPrefix(instance, flexPrefix) {
		return "", 0, false
	}
	index, err := strconv.Atoi(instance[at+1:])
	return instance[:at], index, err == nil && index >= 0
}

// instanceID is a machine's ID: ZONE/NAME, as the machine itself can tell it too.
func instanceID(zone, name string) provider.InstanceID {
	return provider.InstanceID(zone + "/" + name)
}

// place takes an ID apart.
func place(id provider.InstanceID) (zone, name string, ok bool) {
	zone, name, ok = strings.Cut(string(id), "/")
	return zone, name, ok && nameForm.MatchString(zone) && nameForm.MatchString(name)
}

// note is what stands in the description of all that is made for a gang.
type note struct {
	Federation string `json:"federation"`
	Site       string `json:"site"`
	Gang       string `json:"gang"` // Request.Token
	Offering   string `json:"offering"`
	Names      string `json:"names"`   // hostlist of Request.Names
	Request    string `json:"request"` // hash of the Request
}

// maxDescription is what Google takes.
const maxDescription = 2048

func (c *Config) note(r *provider.Request) (string, error) {
	text, err := json.Marshal(note{c.Federation, string(c.Site), r.Token, r.Offering.ID, r.HostList(), requestHash(r)})
	if err == nil && len(text) > maxDescription {
		err = provider.Invalid("%d host names do not fit into a description: give machines of one gang names with numbers in a row", len(r.Names))
	}
	return string(text), err
}

// requestHash is the same for equal requests, whatever the configuration says by then. It differs from Request.Hash, and stays: running machines carry it.
func requestHash(r *provider.Request) string {
	o := &r.Offering
	return google.Hash(r.Token, string(r.Site), o.ID, o.Type, o.Region, o.Zone, string(o.Market), o.Reservation, strconv.FormatBool(r.Near),
		fmt.Sprintf("%d %q", r.Count, r.Names), string(r.Boot.Lines()))[:32]
}

// notes reads descriptions: all machines of a gang have the same.
type notes map[string]*readNote

type readNote struct {
	note
	hosts []string
}

func (n notes) read(description string) *readNote {
	if known := n[description]; known != nil {
		return known
	}
	r := &readNote{}
	if json.Unmarshal([]byte(description), &r.note) == nil {
		r.hosts, _ = hostlist.Expand(r.Names) // nil where somebody has changed it
	}
	n[description] = r
	return r
}

// instance is a machine as Google shows it.
func (n notes) instance(i *computepb.Instance) provider.Instance {
	said := n.read(i.GetDescription())
	m := provider.Instance{ID: instanceID(google.Base(i.GetZone()), i.GetName()), Token: said.Gang, Offering: said.Offering}
	if _, at, ok := gangOf(i.GetName()); ok && at < len(said.hosts) {
		m.Name = said.hosts[at]
	}
	if len(i.NetworkInterfaces) > 0 {
		m.Addr = i.NetworkInterfaces[0].GetNetworkIP()
	}
	if at, err := time.Parse(time.RFC3339, i.GetCreationTimestamp()); err == nil {
		m.Launched = at.UTC()
	}
	switch status := i.GetStatus(); status {
	case "", "PROVISIONING", "STAGING", "PENDING":
		m.State = provider.InstancePending
	case "RUNNING", "REPAIRING":
		m.State = provider.InstanceRunning
	default: // STOPPING, TERMINATED, SUSPENDED and what leads there: List deletes those that stay
		m.State, m.Reason = provider.InstanceEnding, status
		if text := i.GetStatusMessage(); text != "" {
			m.Reason += ": " + text
		}
	}
	return m
}
