package commands

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"time"

	"fsub/cmd/internal/scontrol"
	"fsub/cmd/internal/show"
)

// wordsWithin is how long a shell waits for words: a daemon that is slower, or not there, has none.
const wordsWithin = 200 * time.Millisecond

// asked are the commands that list the words of a kind, the first of each line.
var asked = map[string][]string{
	"jobs":         {"squeue", "-h", "-o", "%A %j"},
	"own-jobs":     {"squeue", "-h", "--me", "-o", "%A %j"},
	"job-names":    {"squeue", "-h", "-o", "%j"},
	"users":        {"squeue", "-h", "-o", "%u"},
	"partitions":   {"sinfo", "-h", "-o", "%R"},
	"nodes":        {"sinfo", "-h", "-N", "-o", "%N"},
	"reservations": {"sinfo", "-h", "-T"},
	"sites":        {"sacctmgr", "-n", "-P", "show", "cluster", "format=cluster"},
	"accounts":     {"sacctmgr", "-n", "-P", "show", "associations", "format=account"},
	"qos":          {"sacctmgr", "-n", "-P", "show", "qos", "format=name"},
}

// values are the kinds of the values of options, by the names of the options; by command and name where a command means something else. A kind is one of asked, or files,
// dirs, or words behind "=". Of an option that is not here nothing is known.
var values = map[string]string{
	"account": "accounts", "accounts": "accounts", "fields": "", "partition": "partitions", "partitions": "partitions", "qos": "qos",
	"nodelist": "nodes", "nodes": "nodes", "exclude": "nodes", "sbatch nodes": "", "fsub nodes": "", "salloc nodes": "", "srun nodes": "", "sbcast exclude": "",
	"cluster": "sites", "clusters": "sites", "fed-sites": "sites", "fed-exclude-sites": "sites", "sibling": "sites",
	"user": "users", "users": "users", "uid": "users", "scontrol uid": "", "jobs": "jobs", "jobid": "own-jobs", "sstat jobs": "own-jobs",
	"name": "job-names", "fsub login name": "", "reservation": "reservations", "state": "=" + jobStates, "states": "=" + jobStates, "sinfo states": "=" + nodeStates,
	"ca": "files", "scope": "=read submit operate", "chdir": "dirs", "container-workdir": "dirs", "output": "files", "error": "files", "input": "files", "nodefile": "files", "bbf": "files", "export-file": "files",
	"container-save": "files", "fed-stage-in": "files",
	"mail-type": "=NONE BEGIN END FAIL REQUEUE ALL INVALID_DEPEND STAGE_OUT TIME_LIMIT TIME_LIMIT_90 TIME_LIMIT_80 TIME_LIMIT_50 ARRAY_TASKS",
	"open-mode": "=append truncate", "export": "=ALL NONE NIL", "hint": "=compute_bound memory_bound multithread nomultithread",
	"kill-on-invalid-dep": "=yes no", "dependency": "=after: afterany: afterok: afternotok: aftercorr: singleton", "exclusive": "=user mcs topo",
	"gres-flags": "=enforce-binding disable-binding", "fed-traffic": "=collective none point-to-point all-to-all", "mpi": "=none pmi2 pmix list",
	"units": "=K M G T P", "signal": "=TERM KILL INT HUP USR1 USR2 STOP CONT", "json": "=v0.0.42 v0.0.43 v0.0.44 v0.0.45", "yaml": "=v0.0.42 v0.0.43 v0.0.44 v0.0.45",
}

const (
	jobStates  = "PENDING RUNNING SUSPENDED COMPLETING COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL PREEMPTED"
	nodeStates = "IDLE MIXED ALLOCATED DOWN DRAIN DRAINED DRAINING FAIL MAINT RESERVED COMPLETING"
)

// ValueKind is the kind of the values of a command's option: see values. "": nothing is known of them.
func ValueKind(command, option string) string {
	if kind, is := values[command+" "+option]; is {
		return kind
	}
	return values[option]
}

// OperandKind is the kind of a command's operands: files, commands, one that [Words] has, or operands, where it depends on those before.
func OperandKind(command string) string {
	switch command {
	case "fsub", "sbatch", "sbcast":
		return "files"
	case "srun", "salloc":
		return "commands"
	case "scancel", "sstat":
		return "own-jobs"
	case "seff":
		return "jobs"
	case "scontrol", "sacctmgr", "sreport":
		return "operands"
	}
	return ""
}

// operands is the kind of the operand that follows those before.
func operands(command string, before []string) string {
	first := ""
	if len(before) > 0 {
		first = strings.ToLower(before[0])
	}
	switch {
	case command == "scontrol":
		return scontrol.Operands(before)
	case command == "sacctmgr" && first == "":
		return "=list show ping"
	case command == "sacctmgr" && len(before) == 1:
		return "=account association cluster qos tres user"
	case command == "sacctmgr":
		return "=format= users= accounts= clusters= partitions= qos= names= withassoc"
	case command == "sreport" && first == "":
		return "=cluster user"
	case command == "sreport" && len(before) == 1 && first == "user":
		return "=TopUsage"
	case command == "sreport" && len(before) == 1:
		return "=AccountUtilizationByUser UserUtilizationByAccount"
	case command == "sreport":
		return "=Start= End= Accounts= Clusters= Users= Format= TopCount="
	}
	return ""
}

// Words prints the words of a kind, for the completion of a shell: args are the kind, and for operands those before. It says nothing else, and takes [wordsWithin] at most.
func Words(command string, args, env []string, stdout io.Writer) {
	kind := args[0]
	if kind == "operands" {
		kind = operands(command, args[1:])
	}
	if fixed, is := strings.CutPrefix(kind, "="); is {
		io.WriteString(stdout, strings.ReplaceAll(fixed, " ", "\n")+"\n")
		return
	}
	call := asked[kind]
	if call == nil {
		return
	}
	told := make(chan string, 1)
	go func() {
		defer func() {
			if recover() != nil {
				told <- ""
			}
		}()
		told <- listed(call, env)
	}()
	select {
	case text := <-told:
		io.WriteString(stdout, text)
	case <-time.After(wordsWithin):
	}
}

// listed are the words that a command lists, once each, one on a line, with what tells them apart behind a tab.
func listed(call, env []string) string {
	if user := show.Env(env, "USER"); user != "" && slices.Contains(call, "associations") {
		call = append(slices.Clone(call), "user="+user)
	}
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		return strings.HasPrefix(e, "SQUEUE_") || strings.HasPrefix(e, "SINFO_") || strings.HasPrefix(e, "SLURM_CLUSTERS=")
	})
	var out bytes.Buffer
	if Named(call[0]).Run(call[0], call[1:], env, &out, io.Discard) != 0 {
		return ""
	}
	seen := map[string]bool{}
	var b strings.Builder
	for line := range strings.Lines(out.String()) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" || seen[word] {
			continue
		}
		seen[word] = true
		if b.WriteString(word); rest != "" {
			b.WriteString("\t" + strings.TrimSpace(rest))
		}
		b.WriteString("\n")
	}
	return b.String()
}
