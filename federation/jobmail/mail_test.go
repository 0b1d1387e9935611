package jobmail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/federation/records"
	"fsub/federation/reports/mail"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/testbed/listener"
)

// listen has a mail server take mail until the test ends.
func listen(t *testing.T, b *listener.Inbox, addr string) (end func() error) {
	end, err := b.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end() })
	return end
}

// facts tell the same of all jobs.
type facts struct{ limit time.Duration }

func (f facts) Limit(*federation.Job) time.Duration { return f.limit }
func (facts) Leads(*federation.Job) []string        { return []string{"eve", "bo@example.org"} }
func (facts) Used(context.Context, *federation.Job) (Used, error) {
	return Used{Known: true, CPU: time.Minute, CPUOf: 4 * time.Minute, Mem: 1 << 20, MemOf: 2 << 20}, nil
}
func (facts) Output(context.Context, *federation.Job, int) Output {
	return Output{File: "/home/ann/slurm.out", Lines: []string{"epoch 9", "done"}}
}

// world is a store, a mail server and a Mailer.
type world struct {
	*testing.T
	st  *store.Store
	box *listener.Inbox
	end func() error // stops it
	m   *Mailer
	now time.Time
	at  place
}

func newWorld(t *testing.T) *world {
	st, err := store.Open(t.Context(), store.Config{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	w := &world{T: t, st: st, box: &listener.Inbox{}, now: time.Now()}
	w.end = listen(t, w.box, "127.0.0.1:0")
	w.start(st)
	return w
}

// start starts a Mailer over a store, as a new daemon does.
func (w *world) start(st Store) {
	w.Helper()
	w.m = New(Config{Store: st, Facts: facts{time.Hour}, Rules: &Rules{Domains: []string{"example.org"}}, Send: &mail.Sender{Server: w.box.Addr, From: "fsub@example.org", TLS: mail.Plain},
		Page: func(id federation.JobID) string { return "https://fed/job/" + id.String() }, Host: "fed", Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return w.now }})
	var err error
	if w.at, err = w.m.load(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// run reads the log to its end, and sends what is due.
func (w *world) run() error {
	for {
		next, _, err := w.m.read(w.Context(), w.at)
		if err != nil {
			return err
		}
		over := next.Mark == w.at.Mark
		if w.at = next; over {
			w.m.pass(w.Context())
			return nil
		}
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) job(mailType string, change ...func(*federation.Job)) *federation.Job {
	w.Helper()
	j := &federation.Job{User: "ann", State: federation.Pending, Spec: &sbatch.Spec{Name: "train", MailType: mailType, WorkDir: "/home/ann"}, Submit: w.now.Add(-time.Hour)}
	for _, f := range change {
		f(j)
	}
	w.must(w.st.CreateJob(w.Context(), j, &sbatch.Payload{}))
	return j
}

// moves commits what has become of a job.
func (w *world) moves(j *federation.Job, change func(*federation.Job)) {
	w.Helper()
	was := journal.StageOf(j)
	from := j.State
	change(j)
	b := &journal.Batch{Jobs: []*federation.Job{j}}
	if j.Attempt > 0 {
		state := federation.AttemptStarted
		if !j.State.Started() {
			state = federation.AttemptEnded
		}
		b.Attempts = []*federation.Attempt{{Job: j.ID, Number: j.Attempt, Key: fmt.Sprintf("k%d.%d", j.ID, j.Attempt), Site: "alpha", Partition: "gpu", Nodes: "n1", State: state, Created: j.Submit, Started: w.now.Add(-time.Minute), Ended: j.End}}
	}
	for _, what := range journal.MovesOf(was, journal.StageOf(j)) {
		b.Moves = append(b.Moves, journal.Move{Job: j.ID, Task: -1, What: what, State: j.State, From: from, Reason: j.Reason, Site: j.Site, Exit: j.ExitStatus})
	}
	w.must(w.st.Commit(w.Context(), b))
}

func (w *world) starts(j *federation.Job) {
	w.Helper()
	w.moves(j, func(j *federation.Job) {
		j.State, j.Start, j.Site, j.Attempt = federation.Running, w.now.Add(-time.Minute), "alpha", j.Attempt+1
	})
}

func (w *world) ends(j *federation.Job, state federation.State, exit int32) {
	w.Helper()
	w.moves(j, func(j *federation.Job) { j.State, j.End, j.ExitStatus = state, w.now, exit })
}

func (w *world) wants(want ...string) {
	w.Helper()
	got := w.box.Subjects()
	if !slices.Equal(got, want) {
		w.Errorf("mails:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// Each word of --mail-type brings its mail, in slurmctld's words, and no other.
func TestEachType(t *testing.T) {
	head := func(j *federation.Job, rest string) string {
		return fmt.Sprintf("Slurm Job_id=%d Name=train %s", j.ID, rest)
	}
	for _, c := range []struct {
		types string
		state federation.State
		exit  int32
		want  []string
	}{
		{"BEGIN", federation.Completed, 0, []string{"Began, Queued time 00:59:00"}},
		{"END", federation.Completed, 0, []string{"Ended, Run time 00:01:00, COMPLETED, ExitCode 0"}},
		{"END", federation.Failed, 3 << 8, []string{"Ended, Run time 00:01:00, FAILED, ExitCode 3"}},
		{"FAIL", federation.Completed, 0, nil},
		{"FAIL", federation.Cancelled, 0, nil},
		{"FAIL,END", federation.Failed, 9, []string{"Failed, Run time 00:01:00, FAILED"}},
		{"TIME_LIMIT", federation.Timeout, 0, []string{"Reached time limit, Run time 00:01:00"}},
		{"TIME=100%", federation.Timeout, 0, []string{"Reached time limit, Run time 00:01:00"}},
		{"ALL", federation.Completed, 0, []string{"Began, Queued time 00:59:00", "Ended, Run time 00:01:00, COMPLETED, ExitCode 0"}},
		{"NONE", federation.Failed, 0, nil},
		{"", federation.Failed, 0, nil},
		{"ARRAY_TASKS", federation.Failed, 0, nil},
		{"REQUEUE,INVALID_DEPEND", federation.Completed, 0, nil},
	} {
		t.Run(c.types+" "+string(c.state), func(t *testing.T) {
			w := newWorld(t)
			j := w.job(c.types)
			w.starts(j)
			w.must(w.run())
			w.ends(j, c.state, c.exit)
			w.must(w.run())
			var want []string
			for _, rest := range c.want {
				want = append(want, head(j, rest))
			}
			w.wants(want...)
		})
	}
}

// A job that is requeued and moved has one mail for each thing that happened to it, and one of its end.
func TestMoved(t *testing.T) {
	w := newWorld(t)
	j := w.job("ALL")
	w.starts(j)
	w.moves(j, func(j *federation.Job) {
		j.State, j.Start, j.Site, j.Restarts, j.Reason = federation.Pending, time.Time{}, "", 1, "NodeFail"
	})
	w.must(w.run())
	w.starts(j)
	w.ends(j, federation.Completed, 0)
	w.must(w.run())
	w.must(w.run())
	head := fmt.Sprintf("Slurm Job_id=%d Name=train ", j.ID)
	var got []string
	for _, s := range w.box.Subjects() {
		got = append(got, strings.SplitN(strings.TrimPrefix(s, head), ",", 2)[0])
	}
	if want := []string{"Began", "Requeued", "Began", "Ended"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	text := w.box.Mails()[3].Text
	for _, want := range []string{"COMPLETED, exit code 0", "restarts   1", "ran        00:01:00 of 01:00:00 that it may (2 %)", "CPU time   00:01:00 of 00:04:00 (25 %)", "memory     1.0 GiB of 2.0 GiB (50 %)",
		"The last lines of /home/ann/slurm.out", "  epoch 9", "https://fed/job/" + j.ID.String()} {
		if !strings.Contains(text, strings.ReplaceAll(want, "=", "=3D")) {
			t.Errorf("the mail lacks %q:\n%s", want, text)
		}
	}
	if m := w.box.Mails()[3]; !slices.Equal(m.To, []string{"ann@example.org"}) {
		t.Errorf("sent to %v", m.To)
	}
}

// A dependency that is never met is told once, whatever else changes of the job.
func TestInvalidDepend(t *testing.T) {
	w := newWorld(t)
	j := w.job("INVALID_DEPEND")
	w.moves(j, func(j *federation.Job) { j.Reason = reasons.DependencyNever })
	w.moves(j, func(j *federation.Job) { j.Priority = 7 })
	w.must(w.run())
	w.wants(fmt.Sprintf("Slurm Job_id=%d Name=train Invalid dependency", j.ID))
}

// Parts of the time limit are told when they are over, as the limit is then, and not of a run that is over.
func TestTimeLimits(t *testing.T) {
	w := newWorld(t)
	j, short := w.job("TIME_LIMIT_50,TIME_LIMIT_90"), w.job("TIME_LIMIT_50")
	w.starts(j)
	w.starts(short)
	w.must(w.run())
	w.wants()
	w.ends(short, federation.Completed, 0)
	w.start(w.st) // a new daemon
	w.now = w.now.Add(30 * time.Minute)
	w.must(w.run())
	w.wants(fmt.Sprintf("Slurm Job_id=%d Name=train Reached 50%% of time limit, Run time 00:30:00", j.ID))
	w.m.Facts = facts{2 * time.Hour} // it was raised
	w.now = w.now.Add(25 * time.Minute)
	w.must(w.run())
	w.wants(w.box.Subjects()[0])
	w.now = w.now.Add(time.Hour)
	w.must(w.run())
	if got := w.box.Subjects(); len(got) != 2 || !strings.Contains(got[1], "90%") {
		t.Errorf("%v", got)
	}
	if n := w.m.count(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}

// mortal is a store of a daemon that is killed: from some write on, it takes no more.
type mortal struct {
	*store.Store
	left int
}

var errKilled = errors.New("killed")

func (m *mortal) PutRecord(ctx context.Context, r *records.Record, with ...audit.Entry) error {
	if m.left--; m.left < 0 {
		return errKilled
	}
	return m.Store.PutRecord(ctx, r, with...)
}

func (m *mortal) RemoveRecord(ctx context.Context, kind, owner, name string, with ...audit.Entry) error {
	if m.left--; m.left < 0 {
		return errKilled
	}
	return m.Store.RemoveRecord(ctx, kind, owner, name, with...)
}

// Wherever the daemon is killed, each mail comes; at most the one that was just sent comes twice, under the same ID.
func TestKilled(t *testing.T) {
	for after := range 12 {
		w := newWorld(t)
		var jobs []*federation.Job
		for range 3 {
			jobs = append(jobs, w.job("ALL"))
		}
		w.start(&mortal{w.st, after})
		for _, j := range jobs {
			w.starts(j)
		}
		_ = w.run() // its store dies meanwhile
		dead := len(w.box.Subjects())
		for _, j := range jobs {
			w.ends(j, federation.Completed, 0)
		}
		w.start(w.st)
		w.must(w.run())
		w.must(w.run())
		ids := map[string]int{}
		for _, m := range w.box.Mails() {
			ids[m.ID]++
		}
		if len(ids) != 6 {
			t.Errorf("killed after %d writes: %d different mails, want 6: %v", after, len(ids), ids)
		}
		if twice := len(w.box.Mails()) - len(ids); twice > 3 || after >= 10 && twice > 0 {
			t.Errorf("killed after %d writes and %d mails: %d came twice", after, dead, twice)
		}
		if n := w.m.count(); n != 0 {
			t.Errorf("killed after %d writes: %d still wait", after, n)
		}
	}
}

// A mail server that is down loses nothing; an address that it refuses holds up no other.
func TestServerDown(t *testing.T) {
	w := newWorld(t)
	w.end()
	w.box.Never = "gone@example.org"
	a := w.job("BEGIN")
	b := w.job("BEGIN", func(j *federation.Job) { j.User, j.Spec.MailUser = "bob", "gone" })
	w.starts(a)
	w.starts(b)
	w.must(w.run())
	if w.m.failing() == 0 || w.m.count() != 2 {
		t.Errorf("failing %v, %d wait", w.m.failing(), w.m.count())
	}
	listen(t, w.box, w.box.Addr)
	w.must(w.run()) // too early
	w.wants()
	w.now = w.now.Add(time.Minute)
	w.must(w.run())
	w.wants(fmt.Sprintf("Slurm Job_id=%d Name=train Began, Queued time 00:59:00", a.ID))
	if w.m.count() != 0 || w.m.failing() != 0 {
		t.Errorf("%d wait, failing %v", w.m.count(), w.m.failing())
	}
}

// Many events at once are one mail, and so is what is more than a user may have in an hour. Another's mail comes meanwhile.
func TestManyEvents(t *testing.T) {
	w := newWorld(t)
	for range 50 {
		w.starts(w.job("BEGIN"))
	}
	other := w.job("BEGIN", func(j *federation.Job) { j.User = "bob" })
	w.starts(other)
	w.must(w.run())
	got := w.box.Subjects()
	slices.Sort(got)
	if want := []string{"Slurm 50 events of your jobs", fmt.Sprintf("Slurm Job_id=%d Name=train Began, Queued time 00:59:00", other.ID)}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for range 40 {
		for range 5 {
			w.starts(w.job("BEGIN"))
		}
		w.must(w.run())
	}
	if n := len(w.box.Subjects()); n != 2+PerHour-1 {
		t.Errorf("%d mails, want %d of ann and one of bob", n, PerHour)
	}
	w.now = w.now.Add(time.Minute)
	w.must(w.run())
	got = w.box.Subjects()
	if last := got[len(got)-1]; last != "Slurm 85 events of your jobs" { // when few were left for this hour, five and five have shared one
		t.Errorf("%s", last)
	}
}

// An array of many tasks has one mail, with what became of them. With ARRAY_TASKS the first tasks have theirs too.
func TestArray(t *testing.T) {
	for types, want := range map[string]int{"END": 1, "END,ARRAY_TASKS": 2} { // the tasks' share one: they end at once
		t.Run(types, func(t *testing.T) {
			tasks := 100_000 / want / want
			w := newWorld(t)
			array := w.job(types, func(j *federation.Job) {
				j.Spec.Array = fmt.Sprintf("0-%d", tasks-1)
				j.Whole = &federation.ArrayWhole{Count: tasks, Max: tasks - 1, Step: 1, Spread: true}
			})
			w.starts(array)
			for from := 0; from < tasks; from += 5_000 {
				ids, err := w.st.ReserveIDs(t.Context(), 5_000)
				w.must(err)
				b := &journal.Batch{}
				for i, id := range ids {
					j := &federation.Job{ID: id, User: "ann", State: federation.Completed, Spec: array.Spec, Start: w.now, End: w.now, Site: "alpha",
						Part: &federation.ArrayPart{Array: array.ID, Index: from + i, Count: tasks, Max: tasks - 1, Step: 1}}
					if j.Part.Index%(tasks/20) == 17 {
						j.State, j.ExitStatus = federation.Failed, 2<<8
					}
					b.Create = append(b.Create, j)
					b.Moves = append(b.Moves, journal.Move{Job: id, Task: -1, What: journal.MoveEnd, State: j.State, Exit: j.ExitStatus, Site: "alpha"})
				}
				w.must(w.st.Commit(t.Context(), b))
			}
			w.must(w.run())
			w.ends(array, federation.Failed, 2<<8)
			w.must(w.run())
			if got := w.box.Subjects(); len(got) != want {
				t.Fatalf("%d mails, want %d: %v", len(got), want, got)
			}
			last := w.box.Mails()[want-1]
			if want := fmt.Sprintf("Slurm Array Summary Job_id=%d_* (%d) Name=train Ended, Mixed, ExitCode [0-2]", array.ID, array.ID); last.Subject != want {
				t.Errorf("%s, want %s", last.Subject, want)
			}
			for _, want := range []string{fmt.Sprintf("%d COMPLETED, 20 FAILED", tasks-20), "The first 10 of 20 tasks that failed", fmt.Sprintf("%d_17  FAILED, exit code 2 at alpha", array.ID), fmt.Sprintf("_%d ", 9*tasks/20+17)} {
				if !strings.Contains(last.Text, want) {
					t.Errorf("the mail lacks %q:\n%s", want, last.Text)
				}
			}
			if want == 2 && w.box.Mails()[0].Subject != fmt.Sprintf("Slurm %d events of your jobs", MostTasks) {
				t.Errorf("%s", w.box.Mails()[0].Subject)
			}
		})
	}
}

// Tasks of an array have mails of their own where ARRAY_TASKS asks for it, and say how many do.
func TestArrayTasks(t *testing.T) {
	w := newWorld(t)
	for _, types := range []string{"FAIL", "FAIL,ARRAY_TASKS"} {
		for _, index := range []int{5, 500} {
			array := w.job(types, func(j *federation.Job) {
				j.Whole = &federation.ArrayWhole{Count: 1000, Max: 999, Step: 1, Spread: true}
			})
			part := w.job(types, func(j *federation.Job) {
				j.Part = &federation.ArrayPart{Array: array.ID, Index: index, Count: 1000, Max: 999, Step: 1}
			})
			w.starts(part)
			w.ends(part, federation.Failed, 1<<8)
		}
	}
	w.must(w.run())
	if got := w.box.Subjects(); len(got) != 1 || !strings.Contains(got[0], "Slurm Array Task Job_id=") || !strings.Contains(got[0], "_5 (") {
		t.Fatalf("%v", got)
	}
	if text := w.box.Mails()[0].Text; !strings.Contains(text, "the first 100 have mails of their own") {
		t.Error(text)
	}
}

// No name of a job, and no address, adds a header or a recipient.
func TestInjection(t *testing.T) {
	w := newWorld(t)
	j := w.job("END", func(j *federation.Job) {
		j.Spec.Name = "x\r\nBcc: eve@evil.com\r\n\r\nbody"
		j.Spec.MailUser = "ann"
	})
	w.starts(j)
	w.ends(j, federation.Completed, 0)
	evil := w.job("END", func(j *federation.Job) { j.Spec.MailUser = "ann@example.org\r\nBcc: eve@evil.com" })
	w.starts(evil)
	w.ends(evil, federation.Completed, 0)
	w.must(w.run())
	if len(w.box.Mails()) != 1 {
		t.Fatalf("%d mails", len(w.box.Mails()))
	}
	if m := w.box.Mails()[0]; len(m.To) != 1 || !strings.Contains(m.Subject, `Name=x\u000d\nBcc: eve`) {
		t.Errorf("%q to %v", m.Subject, m.To)
	}
}

func TestRules(t *testing.T) {
	r := &Rules{Domains: []string{"example.org", "lab.example.org"}}
	for _, c := range []struct {
		rules *Rules
		user  string
		want  string // recipients, or a part of the note
	}{
		{r, "", "ann@example.org"},
		{r, "bob", "bob@example.org"},
		{r, "bob@lab.example.org, ann@EXAMPLE.org", "bob@lab.example.org ann@EXAMPLE.org"},
		{r, "bob@evil.com", "no mail will come: this federation sends mail to example.org, lab.example.org only, not to bob@evil.com"},
		{r, "bob%evil.com@example.org", "is no address"},
		{r, "a,b,c,d,e,f", "more than 5 addresses"},
		{r, "-x", "is no address"},
		{nil, "", "no mail will come: the federation has no mail server"},
	} {
		j := &federation.Job{User: "ann", Spec: &sbatch.Spec{MailType: "END", MailUser: c.user}}
		to, _ := c.rules.Recipients(j)
		note := c.rules.Note(j)
		if got := strings.Join(to, " "); got != c.want && (note == "" || !strings.Contains(note, c.want)) {
			t.Errorf("--mail-user=%q: %q, %q, want %q", c.user, got, note, c.want)
		}
		if j.Spec.MailType = "NONE"; c.rules.Note(j) != "" {
			t.Errorf("a job that asks for no mail: %s", c.rules.Note(j))
		}
	}
}

// Where no mail is sent for a while, nobody hears later of what happened meanwhile.
func TestForget(t *testing.T) {
	w := newWorld(t)
	w.must(Forget(t.Context(), w.st))
	w.starts(w.job("BEGIN"))
	w.start(w.st)
	w.must(w.run())
	w.wants()
	w.starts(w.job("BEGIN"))
	w.must(w.run())
	if len(w.box.Subjects()) != 1 {
		t.Errorf("%v", w.box.Subjects())
	}
}
