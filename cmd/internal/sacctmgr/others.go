package sacctmgr

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/internal/assoc"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// refused are the lists that slurmdbd refuses to ordinary users.
var refused = map[string]string{
	"problems":    "sacctmgr: error: Access/permission denied\n Error with request: Access/permission denied",
	"runawayjobs": "sacctmgr: error: You must have an AdminLevel>=Operator to fix runaway jobs",
	"stats":       "sacctmgr: error: the federation has no slurmdbd to tell statistics of: see sdiag",
	"wckeys":      "sacctmgr: error: Your user doesn't have privilege to perform this action\n Error with request: Access/permission denied",
}

// empty are the lists in which the federation has nothing, with the columns of sacctmgr 24.11 and their widths.
var empty = map[string]string{
	"events":       "Cluster%10,NodeName%-15,TimeStart%19,TimeEnd%19,State%6,Reason%30,User%10",
	"federation":   "Federation%10,Cluster%10,ID%2,Features%20,FedState%12",
	"instances":    "Cluster%10,NodeName%-15,TimeStart%19,TimeEnd%19,InstanceId%20,InstanceType%20,Extra%20",
	"reservations": "Cluster%10,Name%15,TRES%30,TimeStart%19,TimeEnd%19,UnusedWall%10",
	"resources":    "Name%10,Server%10,Type%8,Count%6,LastConsumed%12,Allocated%9,ServerType%10,Flags%20",
	"transactions": "Time%19,Action%20,Actor%10,Where%20,Info%20",
}

func emptyTable(style assoc.Style, columns string) string {
	var list []assoc.Column[row]
	for item := range strings.SplitSeq(columns, ",") {
		name, width, _ := strings.Cut(item, "%")
		n, _ := strconv.Atoi(width)
		f := limit(name, name, n)
		list = append(list, assoc.Column[row]{Field: &f, Width: n})
	}
	return assoc.Format(style, list, nil)
}

// ping is what the one database that the federation has says of itself.
func ping(stdout io.Writer, c show.Caller) error {
	var p wire.PingResponse
	if err := show.Get(c, wire.Slurm(wire.Base, wire.PathPing), &p); err != nil {
		return fmt.Errorf("slurmdbd(primary) at federation is DOWN\nsacctmgr: error: %w", err)
	}
	host := "federation"
	if len(p.Pings) > 0 {
		host = p.Pings[0].Hostname
	}
	_, err := fmt.Fprintf(stdout, "slurmdbd(primary) at %s is UP\n", host)
	return err
}

// configuration prints those of scontrol's settings that sacctmgr shows, too.
func (q *query) configuration(stdout io.Writer, c show.Caller) error {
	var all []v1.ConfigValue
	if err := show.Get(c, "/fed/v1/config", &all); err != nil {
		return fmt.Errorf("sacctmgr: error: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Configuration data as of %s\n", time.Now().Format("2006-01-02T15:04:05"))
	for _, v := range all {
		if slices.Contains(configurationShown, v.Key) {
			fmt.Fprintf(&b, "%-22s = %s\n", v.Key, v.Value)
		}
	}
	_, err := io.WriteString(stdout, b.String())
	return err
}

var configurationShown = []string{"AccountingStorageBackupHost", "AccountingStorageHost", "AccountingStorageParameters", "AccountingStoragePort", "AccountingStorageType",
	"AccountingStorageUser", "AuthType", "MessageTimeout", "PluginDir", "PrivateData", "SlurmUser", "SLURM_CONF", "SLURM_VERSION", "TCPTimeout", "TrackWCKey"}

// wholeFederation has the federation as a cluster of its own name, which programs take from scontrol show config: as a condition it stands for all sites.
func (q *query) wholeFederation(entity string, known *v1.Associations, c show.Caller) error {
	if entity != "clusters" && len(q.clusters) == 0 {
		return nil
	}
	whole, sites, err := show.Members(c)
	switch {
	case err != nil || slices.Contains(sites, whole):
	case entity == "clusters":
		known.Clusters = append(known.Clusters, v1.AccountingCluster{Name: whole})
	case slices.Contains(q.clusters, whole):
		q.clusters = nil
	}
	return err
}

// documents are the entities that --json and --yaml know, as slurmrestd calls them.
var documents = map[string]string{"accounts": "accounts", "associations": "associations", "clusters": "clusters", "qos": "qos", "tres": "tres", "users": "users"}

// document writes an entity in the shape of slurmrestd, whole.
func (q *query) document(entity string, stdout io.Writer, c show.Caller) error {
	path := documents[entity]
	if path == "" {
		return fmt.Errorf("sacctmgr: error: the federation has no document of %s: leave out --json and --yaml", entity)
	}
	var raw json.RawMessage
	if err := show.Get(c, wire.SlurmDB(wire.Base, "/"+path+"/"), &raw); err != nil {
		return fmt.Errorf("sacctmgr: error: %w", err)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return errors.Join(errors.New("sacctmgr: error: the daemon's answer cannot be read"), err)
	}
	var reply wire.Reply
	if err := json.Unmarshal(raw, &reply); err != nil {
		return err
	}
	name := path
	if entity == "tres" {
		name = "TRES"
	}
	resp := struct {
		name string
		list json.RawMessage
		wire.Reply
	}{name, fields[name], reply}
	return show.Document(stdout, &listed{resp.name, resp.list, &resp.Reply}, &resp.Reply, "sacctmgr", q.args, q.yaml)
}

// listed is one list with its reply, as a document.
type listed struct {
	name string
	list json.RawMessage
	*wire.Reply
}

// MarshalJSON writes the list under its name, then the reply.
func (l *listed) MarshalJSON() ([]byte, error) {
	reply, err := json.Marshal(l.Reply)
	if err != nil {
		return nil, err
	}
	name, err := json.Marshal(l.name)
	if err != nil {
		return nil, err
	}
	out := append([]byte{'{'}, name...)
	out = append(append(out, ':'), l.list...)
	return append(append(out, ','), reply[1:]...), nil
}
