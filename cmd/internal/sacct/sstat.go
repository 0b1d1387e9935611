package sacct

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// Stat is the command sstat: what the steps of running jobs have used so far, in sacct's fields. Rented and local machines tell that; a Slurm cluster's slurmrestd
// tells it only of steps that have ended.
func Stat(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return stat(args, env, stdout, stderr, c, time.Now())
}

type statOptions struct {
	options
	jobs     []string
	all, pid bool
	fields   string
}

var statSet = option.NewSet(statAbout, []option.Row[statOptions]{
	{Name: "allsteps", Short: 'a', Help: "all running steps of the jobs, the batch script included",
		Flag: func(o *statOptions) *bool { return &o.all }},
	{Name: "helpformat", Short: 'e', Help: "show the names of all fields", Print: printStatFields},
	{Name: "pidformat", Short: 'i', Help: "refused: the federation does not know the processes of steps",
		Flag: func(o *statOptions) *bool { return &o.pid }},
	{Name: "jobs", Short: 'j', Value: "LIST", Help: "jobs, or steps of them: 17, 17.batch, 17.0",
		List: func(o *statOptions) *[]string { return &o.jobs }},
	{Name: "noheader", Short: 'n', Help: "no lines above the rows",
		Flag: func(o *statOptions) *bool { return &o.noHeader }},
	{Name: "noconvert", Help: "units as they are", Flag: func(o *statOptions) *bool { return &o.noConvert }},
	{Name: "fields", As: "format"},
	{Name: "format", Short: 'o', Value: "LIST", Help: "fields, with commas and %WIDTH",
		Text: func(o *statOptions) *string { return &o.fields }},
	{Name: "parsable", Short: 'p', Help: "fields with | behind each",
		Flag: func(o *statOptions) *bool { return &o.parsable }},
	{Name: "parsable2", Short: 'P', Help: "fields with | between them",
		Flag: func(o *statOptions) *bool { return &o.parsable2 }},
	{Name: "verbose", Short: 'v'},
	{Name: "version", Short: 'V', Help: "show the version of Slurm whose sstat this is", Say: show.Version + "\n"},
	{Name: "help", Short: 'h', Help: "show this help", Tell: true},
	{Name: "usage", Help: "show how sstat is called",
		Say: "Usage: sstat [options] -j <job(.stepid)>\n\tUse --help for help\n"},
})

const statFields = "jobid,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages," +
	"mincpu,mincpunode,mincputask,avecpu,ntasks,avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,consumedenergy,maxdiskread,maxdiskreadnode," +
	"maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,tresusageinave,tresusageinmax,tresusageinmaxnode," +
	"tresusageinmaxtask,tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot,tresusageoutave,tresusageoutmax,tresusageoutmaxnode," +
	"tresusageoutmaxtask,tresusageoutmin,tresusageoutminnode,tresusageoutmintask,tresusageouttot"

// statNames are the fields that sstat has, of sacct's.
var statNames = append(strings.Split(statFields, ","), "consumedenergyraw", "nodelist", "reqcpufreq")

// statField is a field of sacct as sstat has it.
func statField(name string) (column, bool) {
	at := slices.IndexFunc(fields, func(f field) bool { return strings.EqualFold(f.name, name) })
	if at < 0 {
		at = slices.IndexFunc(fields, func(f field) bool {
			return name != "" && strings.HasPrefix(strings.ToLower(f.name), strings.ToLower(name)) && slices.Contains(statNames, strings.ToLower(f.name))
		})
	}
	if at < 0 || !slices.Contains(statNames, strings.ToLower(fields[at].name)) {
		return column{}, false
	}
	f := fields[at]
	switch f.name {
	case "AveDiskRead", "AveDiskWrite": // narrower than sacct's
		f.width = 12
	case "JobID":
		f.value = func(_ *command, r *record) string { return decimal(r.JobID) + "." + stepName(r.step) }
	}
	return column{&f, f.width}, true
}

func printStatFields(_ *statOptions, _ option.Value, w io.Writer) bool {
	n := 0
	for _, f := range fields {
		if slices.Contains(statNames, strings.ToLower(f.name)) {
			if fmt.Fprintf(w, "%-20s", f.name); n%4 == 3 {
				io.WriteString(w, "\n")
			}
			n++
		}
	}
	io.WriteString(w, "\n")
	return true
}

func stat(args, env []string, stdout, stderr io.Writer, c show.Caller, now time.Time) int {
	var o statOptions
	operands, ended, err := statSet.Parse(&o, args, stdout)
	if ended {
		return 0
	}
	o.delimiter = "|"
	var out bytes.Buffer
	if err == nil {
		o.jobs = show.OwnTasks(env, append(o.jobs, operands...))
		cmd := &command{options: o.options, times: show.NewTimes(env, now), stdout: &out, stderr: stderr, caller: c}
		err = o.list(cmd)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	stdout.Write(out.Bytes())
	return 0
}

// list prints the steps of the jobs. Its error is a whole line for stderr.
func (o *statOptions) list(c *command) error {
	if len(o.jobs) == 0 {
		return errors.New("sstat: error: You didn't give me any jobs to stat.")
	}
	if o.pid {
		return errors.New("sstat: error: the federation does not know the processes of steps: use scontrol listpids on the job's node")
	}
	var columns []column
	for _, name := range strings.Split(orUsual(o.fields, statFields), ",") {
		name, width, sized := strings.Cut(name, "%")
		col, ok := statField(name)
		if !ok {
			return fmt.Errorf("sstat: error: Invalid field requested: \"%s\"", name)
		}
		if sized {
			col.width, _ = strconv.Atoi(width)
		}
		columns = append(columns, col)
	}
	var all []record
	for _, ref := range o.jobs {
		steps, err := o.steps(c, ref)
		if err != nil {
			return err
		}
		all = append(all, steps...)
	}
	c.print(columns, all)
	return nil
}

// steps are those of one job that is asked for: those that run, or of them the first that is not the batch script's. What there is none of is said on stderr.
func (o *statOptions) steps(c *command, ref string) ([]record, error) {
	job, step, hasStep := strings.Cut(ref, ".")
	if job == "" || job[0] < '0' || job[0] > '9' {
		return nil, fmt.Errorf("sstat: fatal: Bad job/step specified: %s", ref)
	}
	var q show.Query
	q.Add("job_id", job)
	var resp v1.AccountingResponse
	if err := show.Get(c.caller, "/fed/v1/accounting"+q.String(), &resp); err != nil {
		return nil, fmt.Errorf("sstat: error: %w", err)
	}
	var out []record
	for i := range resp.Jobs {
		j := &resp.Jobs[i]
		for k := range j.Steps {
			st := &j.Steps[k]
			runs, batch := slices.Contains(st.State, wire.StateRunning), stepName(st) == "batch"
			switch {
			case !runs, hasStep && stepName(st) != step, len(st.TRES.Requested.Max)+len(st.TRES.Requested.Total) == 0:
			case !hasStep && !o.all && (batch || len(out) > 0):
			default:
				out = append(out, record{j, st})
			}
		}
	}
	if len(out) == 0 {
		why := ""
		if n := len(resp.Jobs); n > 0 && wire.BaseState(resp.Jobs[n-1].State.Current) == wire.StateRunning && !hasMeasured(resp.Jobs) {
			why = fmt.Sprintf(": %s does not report what running steps use; within the job call its own sstat, after the job: sacct -j %s", resp.Jobs[n-1].Cluster, job)
		}
		fmt.Fprintf(c.stderr, "sstat: error: couldn't get steps for job %s%s\n", job, why)
	}
	return out, nil
}

// hasMeasured reports whether anything is known of what a step has used.
func hasMeasured(jobs []v1.AccountingJob) bool {
	for i := range jobs {
		for k := range jobs[i].Steps {
			if len(jobs[i].Steps[k].TRES.Requested.Total) > 0 {
				return true
			}
		}
	}
	return false
}

func orUsual(text, usual string) string {
	if text != "" {
		return text
	}
	return usual
}

var statAbout = option.About{
	Name:  "sstat",
	Does:  "show what running steps have used so far",
	Usage: []string{"sstat [OPTIONS] -j <job(.stepid)>"},
	Text: "Shows what the running steps of jobs have used so far. That is known of rented and local machines. " +
		"At a Slurm cluster call its own sstat within the job; sacct has all of a job that has ended.",
}

// AboutStat describes sstat.
func AboutStat() option.About { return statSet.About() }
