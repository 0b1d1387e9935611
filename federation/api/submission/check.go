package submission

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// signals are the names that scancel --signal knows, without SIG.
var signals = map[string]bool{
	"HUP": true, "INT": true, "QUIT": true, "ABRT": true, "KILL": true, "ALRM": true, "TERM": true, "USR1": true, "USR2": true,
	"URG": true, "CONT": true, "STOP": true, "TSTP": true, "TTIN": true, "TTOU": true, "XCPU": true, "BUS": true, "SEGV": true,
	"PIPE": true, "CHLD": true, "ILL": true, "TRAP": true, "FPE": true, "WINCH": true,
}

// ValidSignal reports whether name is a signal's name without SIG, or its number.
func ValidSignal(name string) bool {
	if signals[name] {
		return true
	}
	n := 0
	for _, d := range name {
		if d < '0' || d > '9' || n > 64 {
			return false
		}
		n = n*10 + int(d-'0')
	}
	return n >= 1 && n <= 64
}

// Limits of what a job may be, those of a slurmctld that was not told otherwise.
const (
	MaxText       = 1024    // name, account, comment, file names ...
	maxArrayText  = 4 << 10 // --array
	maxDependency = 128 << 10
	maxNice       = 1<<31 - 3
	maxHost       = 255
)

// checkPayload refuses what no site could take, whoever sent it: sbatch has made these checks, but not everybody is sbatch.
func checkPayload(p *sbatch.Payload) error {
	switch {
	case len(p.Script) > sbatch.MaxScript:
		return answer.Invalid(wire.ErrTooLong, fmt.Sprintf("the script has %d bytes, at most %d are allowed", len(p.Script), sbatch.MaxScript))
	case p.Script == "":
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2009, Text: "Job script not specified"}
	case !strings.HasPrefix(p.Script, "#!"):
		return notExecutable("the script does not begin with #!")
	case strings.IndexByte(p.Script, 0) >= 0:
		return notExecutable("the script contains a NULL character")
	}
	for _, list := range [...][]string{p.Argv, p.Environment} {
		for _, text := range list {
			if strings.IndexByte(text, 0) >= 0 {
				return answer.BadBody("an argument or a variable of the environment contains a NULL character")
			}
		}
	}
	return nil
}

// mostScattered bounds what is written of an array: each listing has it.
const mostScattered = 10_000

// CheckSpec is the gate for whatever a job asks for, when it is submitted and whenever it is changed: of each of its components it refuses what
// no site could take, and what c may not ask for.
func CheckSpec(c identity.Caller, j *federation.Job) error {
	if n, err := specSize(j.Spec); err != nil || n > maxSpec {
		return cmp.Or(err, answer.Invalid(wire.ErrTooLong, fmt.Sprintf("what the job asks for takes %d bytes, at most %d are allowed", n, maxSpec)))
	}
	if len(j.Spec.Het) >= sbatch.MaxComponents {
		return answer.BadBody(fmt.Sprintf("%d components, at most %d are allowed", len(j.Spec.Het)+1, sbatch.MaxComponents))
	}
	for sp := range components(j.Spec) {
		leader := sp == j.Spec
		switch {
		case !leader && len(sp.Het) > 0:
			return answer.BadBody("a component has components")
		case len(j.Spec.Het) > 0 && sp.Array != "":
			return answer.Invalid(wire.ErrArray, "a heterogeneous job cannot be an array")
		case !strings.HasPrefix(sp.WorkDir, "/") && (leader || sp.WorkDir != ""):
			return answer.Invalid(wire.ErrNoWorkDir, "work_dir must be an absolute path: "+strconv.Quote(sp.WorkDir))
		case sp.More != nil && sp.More.Reboot && c.Role < identity.RoleOperator: // a site would obey SlurmUser's token
			return &federation.SlurmError{Kind: federation.ErrDenied, Number: wire.ErrAccess, Text: wire.Strerror(wire.ErrAccess),
				Said: "rebooting of nodes is only allowed for admins"}
		}
		if err := cmp.Or(checkTexts(sp, j.SubmitHost), checkMore(sp.More), checkNumbers(sp)); err != nil {
			return err
		}
	}
	return nil
}

// maxSpec bounds what a job asks for, with all its components, in bytes: unlike its script it is kept in memory for as long as the job lives.
const maxSpec = 512 << 10

// specSize is what a Spec takes in the store, and about what it takes in memory.
func specSize(sp *sbatch.Spec) (int64, error) {
	text, err := json.Marshal(sp)
	if err != nil { // a number that is none
		return 0, answer.BadBody(err.Error())
	}
	return int64(len(text)), nil
}

// checkTexts bounds what a user may write into listings and logs. Control characters would forge lines there; only a
// comment may have them, as it may in Slurm.
func checkTexts(sp *sbatch.Spec, submitHost string) error {
	for _, t := range [...]struct {
		name, text string
		max        int
	}{
		{"name", sp.Name, MaxText}, {"account", sp.Account, MaxText}, {"partition", sp.Partition, MaxText}, {"qos", sp.QOS, MaxText},
		{"reservation", sp.Reservation, MaxText}, {"comment", sp.Comment, MaxText}, {"constraint", sp.Constraint, MaxText},
		{"work_dir", sp.WorkDir, MaxText}, {"input", sp.Input, MaxText}, {"output", sp.Output, MaxText}, {"error", sp.Error, MaxText},
		{"gres", sp.GRES, MaxText}, {"gpus", sp.GPUs, MaxText}, {"gpus_per_node", sp.GPUsPerNode, MaxText}, {"gpus_per_task", sp.GPUsPerTask, MaxText},
		{"exclusive", sp.Exclusive, MaxText}, {"open_mode", sp.OpenMode, MaxText}, {"mail_type", sp.MailType, MaxText},
		{"mail_user", sp.MailUser, MaxText}, {"command", sp.Command, MaxText}, {"submit_line", sp.SubmitLine, MaxText}, {"submit_host", submitHost, maxHost},
		{"nodelist", sp.NodeList, 64 << 10}, {"exclude", sp.Exclude, 64 << 10},
		{"array", sp.Array, maxArrayText}, {"dependency", sp.Dependency, maxDependency}, {"clusters", sp.Clusters, MaxText},
	} {
		if len(t.text) > t.max {
			return answer.Invalid(wire.ErrTooLong, fmt.Sprintf("%s has %d bytes, at most %d are allowed", t.name, len(t.text), t.max))
		}
		bad := strings.IndexFunc(t.text, unicode.IsControl)
		if t.name == "comment" || t.name == "submit_line" { // which may have a script in it
			bad = strings.IndexByte(t.text, 0)
		}
		if bad >= 0 {
			return answer.BadBody(fmt.Sprintf("%s contains a control character at byte %d: %.40q", t.name, bad, t.text))
		}
	}
	if group := sp.GroupName(); group != "" {
		if why := sbatch.InvalidGroup(group); why != "" {
			return answer.BadBody("invalid group: " + why)
		}
	}
	if sp.Signal != nil && !ValidSignal(sp.Signal.Name) {
		return answer.BadBody(fmt.Sprintf("invalid signal %.40q: want a name such as USR1, or a number", sp.Signal.Name))
	}
	return nil
}

// notExecutable is what sbatch never lets through.
func notExecutable(detail string) error {
	return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 8, Text: "Exec format error", Detail: detail}
}

// checkNumbers refuses counts that mean nothing. They would be the site's to refuse, but placement adds them up before.
func checkNumbers(sp *sbatch.Spec) error {
	const most = 1 << 24
	for _, n := range [...]int{sp.MinNodes, sp.MaxNodes, sp.NTasks, sp.NTasksPerNode, sp.CPUsPerTask, sp.Switches} {
		switch {
		case n < 0:
			return answer.Invalid(wire.ErrNodeCount, fmt.Sprintf("a count of %d", n))
		case n > most:
			return answer.Invalid(wire.ErrTooManyCPUs, fmt.Sprintf("a count of %d", n))
		}
	}
	if sp.MaxNodes != 0 && sp.MaxNodes < sp.MinNodes {
		return answer.Invalid(wire.ErrNodeCount, fmt.Sprintf("at least %d and at most %d nodes", sp.MinNodes, sp.MaxNodes))
	}
	if sp.TimeLimit < 0 || sp.TimeMin < 0 || sp.SwitchesWait < 0 {
		return answer.Invalid(wire.ErrTimeLimit, "a negative time")
	}
	const mostMem = 1 << 40 // MiB
	for _, m := range [...]sbatch.MemMiB{sp.MemPerNode, sp.MemPerCPU, sp.MemPerGPU} {
		if m < sbatch.MemAll || m > mostMem {
			return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2044, Text: "Memory required by task is not available",
				Detail: fmt.Sprintf("%d MiB of memory", m)}
		}
	}
	if sp.Array != "" {
		a, err := federation.ReadArray(sp.Array)
		if err != nil {
			return answer.Invalid(wire.ErrArray, err.Error())
		}
		if n := a.Scattered(); n > mostScattered {
			return answer.Invalid(wire.ErrArray, fmt.Sprintf("array %.100q names up to %d tasks one by one, at most %d are allowed: use ranges without steps, or several arrays", sp.Array, n, mostScattered))
		}
	}
	return nil
}
