package bed

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// Ports in the site's own network namespace. slurmd of node i listens on slurmdPort+i.
const (
	mariadbPort   = 3306
	slurmctldPort = 6817
	slurmdPort    = 6900
	slurmdbdPort  = 6819
	restPort      = 6820
)

// confVars is what the templates below see.
type confVars struct {
	Site
	Dir       string // of the site, the same inside and outside
	MinJobAge int    // seconds
	Flat      bool   // no switches
	GRES      []gres // beside GPUs
	Conf      []string
	HostAddr  string
}

// gres is a resource that needs no device file.
type gres struct{ Name, Type, Count string }

// extraGRES reads [Options.GRES].
func extraGRES(list []string) []gres {
	var out []gres
	for _, item := range list {
		words := append(strings.Split(item, ":"), "", "")
		out = append(out, gres{words[0], words[1], words[2]})
	}
	return out
}

// GresTypes are the names of all resources, in the form of slurm.conf.
func (v confVars) GresTypes() string {
	names := []string{"gpu"}
	for _, g := range v.GRES {
		if !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	return strings.Join(names, ",")
}

// StoredTRES are the resources that accounting counts.
func (v confVars) StoredTRES() string {
	text := "gres/gpu,gres/gpu:" + v.GPUType
	for _, g := range v.GRES {
		if name := ",gres/" + g.Name; !strings.Contains(text+",", name+",") {
			text += name
		}
		if g.Type != "" {
			text += ",gres/" + g.Name + ":" + g.Type
		}
	}
	return text
}

// NodeRange is the hostlist of all nodes.
func (v confVars) NodeRange() string { return fmt.Sprintf("%s[1-%d]", v.Name, v.Nodes) }

// Leaves lists the switches under the spine.
func (v confVars) Leaves() []string {
	var leaves []string
	for first := 1; first <= v.Nodes; first += v.LeafNodes {
		last := min(first+v.LeafNodes-1, v.Nodes)
		leaves = append(leaves, fmt.Sprintf("SwitchName=leaf%d Nodes=%s[%d-%d]", len(leaves)+1, v.Name, first, last))
	}
	return leaves
}

// Topology is the name of the plugin.
func (v confVars) Topology() string {
	switch {
	case !v.Flat:
		return "tree"
	case v.Suite == "bookworm":
		return "none" // 22.05's name for it
	}
	return "default"
}

// StoreFlags say what slurmdbd keeps of a job.
func (v confVars) StoreFlags() string {
	if v.Suite == "bookworm" { // 22.05 knows no job_extra
		return "job_comment,job_env,job_script"
	}
	return "job_comment,job_env,job_extra,job_script"
}

// Hostnames are all names that resolve to the loopback address in the site.
func (v confVars) Hostnames() string {
	return strings.Join(append([]string{"localhost", v.Name + "-ctl"}, v.NodeNames()...), " ")
}

// slurmConf is written for speed of starting jobs and for faults, not for size. MaxJobId stays below the federation's own range.
// FirstJobId makes the sites' own IDs such that tests can tell them from small numbers.
// The daemons talk over the loopback address, so that a cut link cuts slurmrestd only, as a cut WAN does.
const slurmConf = `ClusterName={{.Name}}
SlurmctldHost={{.Name}}-ctl(127.0.0.1)
SlurmctldPort=6817
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/{{.Auth}}
CredType=cred/{{.Auth}}
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={{.Dir}}/etc/jwt_hs256.key
StateSaveLocation={{.Dir}}/state
SlurmdSpoolDir={{.Dir}}/spool/%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
SlurmctldLogFile={{.Dir}}/log/slurmctld.log
SlurmdLogFile={{.Dir}}/log/slurmd-%n.log
SlurmctldDebug=info
SlurmdDebug=info
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmdParameters=config_overrides
SlurmctldTimeout=30
SlurmdTimeout=30
KillWait=5
InactiveLimit=0
MinJobAge={{.MinJobAge}}
MaxJobCount=200000
FirstJobId=100001
MaxJobId=29999999
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=10000,bf_interval=2,default_queue_depth=1000,bf_max_job_test=1000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1000
TopologyPlugin=topology/{{.Topology}}
GresTypes={{.GresTypes}}
Licenses=matlab:10
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=6819
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES={{.StoredTRES}}
AccountingStoreFlags={{.StoreFlags}}
PriorityType=priority/multifactor
PriorityWeightFairshare=100000
PriorityWeightAge=1000
NodeName={{.NodeRange}} NodeAddr=127.0.0.1 Port=[6901-{{add 6900 .Nodes}}] CPUs={{.CPUs}} RealMemory={{.MemMiB}} Gres=gpu:{{.GPUType}}:{{.GPUs}}{{range .GRES}},{{.Name}}{{with .Type}}:{{.}}{{end}}:{{.Count}}{{end}} Feature={{.GPUType}},ib State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES DefaultTime=01:00:00 MaxTime=7-00:00:00 State=UP
PartitionName=short Nodes=ALL DefaultTime=00:10:00 MaxTime=01:00:00 PriorityTier=10 State=UP
{{range .Conf}}{{.}}
{{end}}`

const slurmdbdConf = `AuthType=auth/{{.Auth}}
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={{.Dir}}/etc/jwt_hs256.key
DbdHost={{.Name}}-ctl
DbdAddr=127.0.0.1
DbdPort=6819
SlurmUser=slurm
PidFile=/run/slurmdbd.pid
LogFile={{.Dir}}/log/slurmdbd.log
DebugLevel=info
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=3306
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
`

const dbSQL = `CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS 'slurm'@'127.0.0.1' IDENTIFIED BY 'slurm';
GRANT ALL ON slurm_acct_db.* TO 'slurm'@'127.0.0.1';
`

// cgroupConf: 22.05 has no "disabled", and otherwise looks for a mounted cgroup file system, though the plugins of slurmConf use none.
const cgroupConf = `CgroupPlugin={{if eq .Suite "bookworm"}}cgroup/v1{{else}}disabled{{end}}
`

const gresConf = `NodeName={{.NodeRange}} Name=gpu Type={{.GPUType}} File=/dev/nvidia[0-{{add -1 .GPUs}}]
{{range .GRES}}NodeName={{$.NodeRange}} Name={{.Name}}{{with .Type}} Type={{.}}{{end}} Count={{.Count}}
{{end}}`

const topologyConf = `{{range .Leaves}}{{.}}
{{end}}SwitchName=spine Switches=leaf[1-{{len .Leaves}}]
`

// hostsFile names the host's end of the link too: slurmrestd looks up the address of every caller, and would wait for DNS.
const hostsFile = `127.0.0.1 {{.Hostnames}}
{{.HostAddr}} host
`

// confFile is one rendered file of a site's etc directory.
type confFile struct {
	name string
	mode uint32
	text string
}

// renderConf returns the configuration of a site. It does no I/O.
func renderConf(v confVars) ([]confFile, error) {
	files := []confFile{
		{"slurm.conf", 0o644, slurmConf},
		{"slurmdbd.conf", 0o600, slurmdbdConf},
		{"gres.conf", 0o644, gresConf},
		{"topology.conf", 0o644, topologyConf},
		{"cgroup.conf", 0o644, cgroupConf},
		{"hosts", 0o644, hostsFile},
		{"nsswitch.conf", 0o644, "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"}, // a site asks no DNS
		{"db.sql", 0o644, dbSQL},
		{parseDir + "/slurm.conf", 0o644, parseConf},
		{parseDir + "/cli_filter.lua", 0o644, parseLua},
	}
	funcs := template.FuncMap{"add": func(a, b int) int { return a + b }}
	for i, f := range files {
		t, err := template.New(f.name).Funcs(funcs).Parse(f.text)
		if err != nil {
			return nil, fmt.Errorf("template of %s: %w", f.name, err)
		}
		var out bytes.Buffer
		if err := t.Execute(&out, v); err != nil {
			return nil, fmt.Errorf("render %s of %s: %w", f.name, v.Name, err)
		}
		files[i].text = out.String()
	}
	return files, nil
}

// appendUsers returns a passwd and a group file with users added to those of a root filesystem. A line that exists already wins. They have
// no password here, and so need no entry in the shadow file: without either, su refuses even root, and slurmd needs su for --export=NONE.
func appendUsers(passwd, group string, users []User, home string) (newPasswd, newGroup string) {
	for _, u := range users {
		dir := home + "/" + u.Name
		if u.Name == restUser.Name {
			dir = "/nonexistent"
		}
		passwd = appendEntry(passwd, u.Name, fmt.Sprintf("%s:*:%d:%d:%s:%s:/bin/bash", u.Name, u.UID, u.UID, u.Name, dir))
		group = appendEntry(group, u.Name, fmt.Sprintf("%s:x:%d:", u.Name, u.UID))
	}
	return passwd, group
}

func appendEntry(file, name, line string) string {
	for l := range strings.Lines(file) {
		if strings.HasPrefix(l, name+":") {
			return file
		}
	}
	if file != "" && !strings.HasSuffix(file, "\n") {
		file += "\n"
	}
	return file + line + "\n"
}
