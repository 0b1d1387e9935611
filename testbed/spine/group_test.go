package spine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

// What a job submits is in its group, at a site that sees the daemon's socket and at one that calls over the network: jobs, arrays, and what those submit in turn,
// unless a call names another group. The group is a key of squeue, --where, events, the summary and reports.
func TestGroups(t *testing.T) {
	world.Need(t)
	for _, site := range []string{"alpha", "gamma"} {
		t.Run(site, func(t *testing.T) {
			group, out := "sweep-"+site, filepath.Join(world.Bed.Home("alice"), "group-"+site)
			outer := fsub(t, "alice", "--group="+group, "--fed-sites="+site, "-t5", "--mem=100M", "-o", out, "--wrap", `
srun -n1 printenv FSUB_GROUP
child=$(sbatch --parsable --fed-sites=`+site+` -J child -t5 --mem=100M -o /dev/null --wrap 'sbatch -J grandchild -H -o /dev/null --wrap true')
array=$(sbatch --parsable -J array -t5 -H --array=0-3 -o /dev/null --wrap true)
inner=$(sbatch --parsable -J inner --group=`+group+`/inner -t5 -H -o /dev/null --wrap true)
squeue -h -j $array,$inner -O 'Name:10,JobGroup:30' -S j
echo $child $array $inner`)
			if j := awaitEnd(t, outer); j.State != federation.Completed || string(j.Site) != site {
				t.Fatalf("ended as %s at %s: %s", j.State, j.Site, read(t, out))
			}
			lines := strings.Split(strings.TrimSpace(read(t, out)), "\n")
			var child, array, inner federation.JobID
			if _, err := fmt.Sscan(lines[len(lines)-1], &child, &array, &inner); err != nil || len(lines) != 4 {
				t.Fatalf("%v: the job wrote %q", err, lines)
			}
			defer login(t, "alice", "fed", "job", "cancel", "--yes", "--where", "group="+group)
			if got := strings.Join(strings.Fields(strings.Join(lines[:3], " ")), " "); got != group+" array "+group+" inner "+group+"/inner" {
				t.Errorf("within the job: %q", got)
			}
			if j := awaitEnd(t, child); j.State != federation.Completed {
				t.Fatalf("the child ended as %s", j.State)
			}
			rows := func(args ...string) []string {
				t.Helper()
				r := login(t, "alice", args...)
				if r.code != 0 {
					t.Errorf("%q: %+v", args, r)
				}
				all := strings.Split(strings.TrimSpace(r.stdout), "\n")
				slices.Sort(all)
				return all
			}
			want := []string{"NAME\tGROUP\tSTATE", "array\t" + group + "\tPENDING", "grandchild\t" + group + "\tPENDING", "inner\t" + group + "/inner\tPENDING"}
			if got := rows("fed", "job", "list", "--where", "group="+group, "--columns", "name,group,state"); !slices.Equal(got, want) {
				t.Errorf("fed job list: %q, want %q", got, want)
			}
			if got := rows("squeue", "-h", "-n", "grandchild", "-O", "JobGroup:30", "-t", "all"); !slices.Contains(trimmed(got), group) {
				t.Errorf("squeue: %q", got)
			}
			status, text := call(t, "alice", "GET", "/fed/v1/summary?by=group&where=group="+group, nil)
			if status != 200 || !strings.Contains(text, `"`+group+`"`) || !strings.Contains(text, `"`+group+`/inner"`) || strings.Contains(text, `"none"`) {
				t.Errorf("the summary: %d %s", status, text)
			}
			ended := rows("fed", "events", "--since", "1h", "--where", "group="+group, "--where", "event=end")
			for _, id := range []federation.JobID{outer, child} {
				if !strings.Contains(strings.Join(ended, "\n"), id.String()) {
					t.Errorf("no event of the end of job %d: %q", id, ended)
				}
			}
			var report string
			for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Second) {
				if report = login(t, "alice", "fed", "report", "cost", "--by", "group").stdout; strings.Contains(report, group) {
					return
				}
			}
			t.Errorf("the group is not in the report: %s", report)
		})
	}
}

func trimmed(rows []string) []string {
	for i := range rows {
		rows[i] = strings.TrimSpace(rows[i])
	}
	return rows
}
