package api

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
)

// config is GET /fed/v1/config: what "scontrol show config" shows, in Slurm's keys and their order. Each value is what the
// federation does; where that is its sites' affair, it is what every Slurm does that has not been told otherwise.
func (s *Server) config(_ context.Context, _ identity.Caller, _ v1.None) ([]v1.ConfigValue, error) {
	sites := s.cfg.Controller.Sites()
	enforce, topologyPlugin, nodes := "none", "topology/flat", 0
	gres := map[string]bool{}
	for _, site := range sites {
		if site.Seen == nil {
			continue
		}
		if site.Seen.Associations != nil {
			enforce = "associations,limits,qos"
		}
		if len(site.Seen.Tree.Switches) > 0 {
			topologyPlugin = "topology/tree"
		}
		nodes += len(site.Seen.Nodes)
		for i := range site.Seen.Nodes {
			for _, g := range site.Seen.Nodes[i].GRES {
				gres[g.Name] = true
			}
		}
	}
	var licenses []string
	for _, l := range restd.LicensesOf(sites) {
		licenses = append(licenses, l.Name+":"+strconv.FormatInt(l.Total, 10))
	}
	value := func(key, text string) v1.ConfigValue { return v1.ConfigValue{Key: key, Value: text} }
	null := func(list []string) string {
		if len(list) == 0 {
			return "(null)"
		}
		return strings.Join(list, ",")
	}
	return []v1.ConfigValue{
		value("AccountingStorageEnforce", enforce),
		value("AccountingStorageHost", s.host),
		value("AccountingStorageType", "accounting_storage/slurmdbd"),
		value("AccountingStoreFlags", "job_comment,job_env,job_script"),
		value("AllowSpecResourcesUsage", "No"),
		{Key: "BOOT_TIME", Value: strconv.FormatInt(s.started.Unix(), 10), Time: true},
		value("ClusterName", s.cfg.Federation),
		value("DefMemPerNode", "UNLIMITED"),
		value("EnforcePartLimits", "ANY"),
		value("FirstJobId", federation.FirstJobID.String()),
		value("GresTypes", null(slices.Sorted(maps.Keys(gres)))),
		value("JobRequeue", "1"),
		value("KillWait", "30 sec"),
		value("Licenses", null(licenses)),
		value("MaxArraySize", strconv.Itoa(s.cfg.MaxArraySize)),
		value("MaxJobCount", strconv.Itoa(int(federation.LastJobID-federation.FirstJobID)+1)),
		value("MaxJobId", federation.LastJobID.String()),
		value("MaxMemPerNode", "UNLIMITED"),
		value("MaxNodeCount", strconv.Itoa(nodes)),
		value("MinJobAge", strconv.Itoa(int(s.cfg.MinJobAge/time.Second))+" sec"),
		value("OverTimeLimit", "0 min"),
		value("PreemptMode", "OFF"),
		value("PriorityType", "priority/basic"),
		value("PrivateData", "none"),
		value("ProctrackType", "proctrack/cgroup"),
		value("PropagateResourceLimits", "ALL"), // sbatch sends them all
		value("PropagateResourceLimitsExcept", "(null)"),
		value("SchedulerType", "sched/backfill"),
		value("SelectType", "select/cons_tres"),
		value("SelectTypeParameters", "CR_CORE_MEMORY"),
		value("SlurmctldHost[0]", s.host),
		value("SLURM_VERSION", s.cfg.Version),
		value("TopologyPlugin", topologyPlugin),
	}, nil
}

// topology is GET /fed/v1/topology: the switches of every site, leaves first, each with all nodes below it.
func (s *Server) topology(_ context.Context, _ identity.Caller, _ v1.None) ([]v1.Switch, error) {
	out := []v1.Switch{}
	for _, site := range s.cfg.Controller.Sites() {
		if site.Seen == nil {
			continue
		}
		for _, sw := range site.Seen.Tree.Switches {
			out = append(out, v1.Switch{Site: site.Name, Name: sw.Name, Level: sw.Level,
				Nodes: hostlist.Compress(sw.Nodes), Switches: hostlist.Compress(sw.Children)})
		}
	}
	return out, nil
}

// getOptions is GET /fed/v1/options: what the plugins of all sites add to sbatch's options, by name.
func (s *Server) getOptions(_ context.Context, _ identity.Caller, _ v1.None) ([]v1.PluginOption, error) {
	out := []v1.PluginOption{}
	for _, site := range s.cfg.Controller.Sites() {
		for _, o := range site.Options {
			i, found := slices.BinarySearchFunc(out, o.Name, func(p v1.PluginOption, name string) int { return cmp.Compare(p.Name, name) })
			if !found {
				out = slices.Insert(out, i, v1.PluginOption{Name: o.Name, Short: o.Short, Value: o.Value})
			}
			if out[i].Value != o.Value {
				out[i].Value = federation.MayTakeValue
			}
			out[i].Short = cmp.Or(out[i].Short, o.Short)
			out[i].Sites = append(out[i].Sites, site.Name)
		}
	}
	return out, nil
}
