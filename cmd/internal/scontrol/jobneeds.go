package scontrol

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

func (p *printer) jobPlace(r *record, j *wire.Job) {
	r.line("Partition=%s AllocNode:Sid=%s:0", j.Partition, j.AllocatingNode)
	r.line("ReqNodeList=%s ExcNodeList=%s", show.OrNull(j.RequiredNodes), show.OrNull(j.ExcludedNodes))
	r.line("NodeList=%s", j.Nodes)
	if j.BatchHost != "" && j.Nodes != "" {
		r.line("BatchHost=%s", j.BatchHost)
	}
}

func (p *printer) jobSize(r *record, j *wire.Job) {
	nodes := strconv.FormatInt(j.NodeCount.Value(), 10)
	if most := j.MaxNodes.Value(); most > 0 && wire.BaseState(j.State) == wire.StatePending {
		nodes += "-" + strconv.FormatInt(most, 10)
	}
	r.line("NumNodes=%s NumCPUs=%d NumTasks=%s CPUs/Task=%s ReqB:S:C:T=0:%d:%s:%s", nodes, j.CPUs.Value(), count(j.Tasks, "N/A"), count(j.CPUsPerTask, "N/A"),
		j.SocketsPerBoard, star(j.CoresPerSocket), star(j.ThreadsPerCore))
	r.line("ReqTRES=%s", show.OrNull(j.TRESReq))
	r.line("AllocTRES=%s", show.OrNull(j.TRESAlloc))
	reserved := "CoreSpec=*"
	switch {
	case j.CoreSpec != 0:
		reserved = fmt.Sprintf("CoreSpec=%d", j.CoreSpec)
	case j.ThreadSpec != 0:
		reserved = fmt.Sprintf("ThreadSpec=%d", j.ThreadSpec)
	}
	r.line("Socks/Node=%s NtasksPerN:B:S:C=%d:%d:%s:%s %s", star(j.SocketsPerNode), j.TasksPerNode.Value(), j.TasksPerBoard.Value(),
		star(j.TasksPerSocket), star(j.TasksPerCore), reserved)
}

// count is a number, or word where there is none.
func count(n wire.Number, word string) string {
	if n.Value() == 0 {
		return word
	}
	return strconv.FormatInt(n.Number, 10)
}

func star(n wire.Number) string { return count(n, "*") }

// jobNodes is what --details adds: what the job has on each of its nodes. Which CPUs those are only
// the site knows; they are numbered from 0. Neighbours with the same share stand in one line.
func jobNodes(r *record, j *wire.Job) {
	if j.JobResources == nil {
		return
	}
	r.line("JOB_GRES=%s", show.OrNull(gresText(j.GRESDetail)))
	for i, n := range j.JobResources.Nodes.Allocation {
		gres := ""
		if i < len(j.GRESDetail) {
			gres = j.GRESDetail[i]
		}
		cpus := "0"
		if n.CPUs.Count > 1 {
			cpus += fmt.Sprintf("-%d", n.CPUs.Count-1)
		}
		r.line("  Nodes=%s CPU_IDs=%s Mem=%d GRES=%s", n.Name, cpus, n.Memory.Allocated, gres)
	}
}

// gresText is what a job has of each GRES on all of its nodes together: "gpu:h100:4".
func gresText(perNode wire.Strings) string {
	var kinds []string
	sum := map[string]int{}
	for _, node := range perNode {
		for item := range strings.SplitSeq(node, ",") {
			item, _, _ = strings.Cut(item, "(")
			at := strings.LastIndexByte(item, ':')
			if at < 0 {
				continue
			}
			n, _ := strconv.Atoi(item[at+1:])
			if _, known := sum[item[:at]]; !known {
				kinds = append(kinds, item[:at])
			}
			sum[item[:at]] += n
		}
	}
	for i, k := range kinds {
		kinds[i] = k + ":" + strconv.Itoa(sum[k])
	}
	return strings.Join(kinds, ",")
}

func (p *printer) jobNeeds(r *record, j *wire.Job) {
	memory := "MinMemoryNode=" + memoryText(j.MemoryPerNode)
	switch {
	case j.MemoryPerCPU.Set && j.MemoryPerCPU.Number > 0:
		memory = "MinMemoryCPU=" + memoryText(j.MemoryPerCPU)
	case j.MemoryPerTRES != "":
		_, amount, _ := strings.Cut(j.MemoryPerTRES, ":")
		mib, _ := strconv.ParseInt(amount, 10, 64)
		memory = "MinMemoryTRES=" + show.Memory(mib)
	}
	r.line("MinCPUsNode=%d %s MinTmpDiskNode=%s", j.MinCPUsPerNode.Value(), memory, memoryText(j.MinTmpDiskPerNode))
	r.line("Features=%s DelayBoot=%s", show.OrNull(j.Features), show.Clock(j.DelayBoot.Value()))
	if j.Prefer != "" {
		r.line("Prefer=%s", j.Prefer)
	}
	if j.ReservationName != "" {
		r.line("Reservation=%s", j.ReservationName)
	}
	r.line("OverSubscribe=%s Contiguous=%s Licenses=%s Network=%s", sharedText(j.Shared), flag(j.Contiguous), show.OrNull(j.Licenses), show.OrNull(j.Network))
}

func memoryText(n wire.Number) string {
	if n.Value() == 0 {
		return "0"
	}
	return show.Memory(n.Number)
}

// sharedText is how a job shares its nodes.
func sharedText(list wire.Strings) string {
	for _, s := range list {
		switch s {
		case "user", "mcs", "topo":
			return strings.ToUpper(s)
		case "oversubscribe":
			return "YES"
		case "none":
			return "NO"
		}
	}
	return "OK"
}

func jobFiles(r *record, j *wire.Job) {
	r.line("Command=%s", show.OrNull(j.Command))
	r.line("WorkDir=%s", j.WorkDir)
	for _, note := range []struct{ key, text string }{
		{"Comment", j.Comment}, {"AdminComment", j.AdminComment}, {"SystemComment", j.SystemComment}, {"Extra", j.Extra},
	} {
		if note.text != "" {
			r.line("%s=%s ", note.key, note.text)
		}
	}
	if j.Container != "" {
		r.line("Container=%s", j.Container)
	}
	out := cmp.Or(j.StdOutExpanded, j.StdOut)
	r.line("StdErr=%s", cmp.Or(j.StdErrExpanded, j.StdErr, out))
	r.line("StdIn=%s", cmp.Or(j.StdInExpanded, j.StdIn, "/dev/null"))
	r.line("StdOut=%s", out)
	if j.RequiredSwitches > 0 {
		r.line("Switches=%d@%s", j.RequiredSwitches, show.Clock(j.MaximumSwitchWaitTime))
	}
}

// allMail is what --mail-type=ALL stands for.
const allMail = "INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT"

func jobTRES(r *record, j *wire.Job) {
	for _, f := range []struct{ key, text string }{
		{"BurstBuffer", j.BurstBuffer}, {"CpusPerTres", j.CPUsPerTRES}, {"MemPerTres", j.MemoryPerTRES}, {"TresBind", j.TRESBind}, {"TresFreq", j.TRESFreq},
		{"TresPerJob", j.TRESPerJob}, {"TresPerNode", j.TRESPerNode}, {"TresPerSocket", j.TRESPerSocket}, {"TresPerTask", j.TRESPerTask},
	} {
		if f.text != "" {
			r.line("%s=%s", f.key, f.text)
		}
	}
	if len(j.MailType) > 0 && !j.MailType.Has("NONE") {
		types := strings.Join(j.MailType, ",")
		if j.MailType.Has("ALL") {
			types = allMail
		}
		r.line("MailUser=%s MailType=%s", j.MailUser, types)
	}
}
