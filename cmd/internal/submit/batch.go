package submit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// batchOption begins a call that submits the jobs of a file together. sbatch has a --batch, which means something else.
const batchOption = "--fed-batch"

// batchFile is the file that a call names whose first word is that option, and the words after it; the file is "-" for stdin.
func batchFile(args []string) (file string, rest []string, is bool) {
	switch {
	case len(args) > 1 && args[0] == batchOption:
		return args[1], args[2:], true
	case len(args) > 0 && strings.HasPrefix(args[0], batchOption+"="):
		return args[0][len(batchOption)+1:], args[1:], true
	}
	return "", nil, false
}

// Bounds of a file of jobs, and of the wait for the daemon's answer to it.
const (
	maxBatchFile = 64 << 20
	batchTimeout = 10 * time.Minute
)

// batch is a call that submits the jobs of a file.
type batch struct {
	in       sbatch.Input // with the words that are for all jobs
	conn     *conn.Conn
	body     []byte
	names    []string // of the jobs, "" for those that were given none
	shared   map[string]sharedPayload
	quiet    bool
	parsable bool
	key      string
	fails    int // exit code
	say      func(line string)
}

// sharedPayload is a job whose script or environment later ones have, too.
type sharedPayload struct {
	name        string
	environment []string
}

// submitBatch submits the jobs of a file, all or none.
func submitBatch(file string, in sbatch.Input, stdout, stderr io.Writer, c *conn.Conn) int {
	b := &batch{in: in, conn: c, shared: map[string]sharedPayload{}, fails: 1, say: func(line string) { say(stderr, line) }}
	text, err := b.read(file)
	if err != nil {
		b.say("sbatch: error: Unable to open file " + file + ": " + err.Error())
		return 1
	}
	for n, line := range lines(text) {
		if code := b.add(n, line); code != 0 {
			return code
		}
	}
	if len(b.names) == 0 {
		b.say("sbatch: error: " + file + " has no job: want one in each line, NAME: [OPTIONS] SCRIPT [ARGUMENTS]")
		return 1
	}
	return b.send(stdout)
}

func (b *batch) read(file string) (string, error) {
	text, err := []byte(nil), error(nil)
	if file == "-" {
		text, err = readAll(0, maxBatchFile+1)
	} else {
		text, err = b.in.Files.Read(file, maxBatchFile+1)
	}
	if err == nil && len(text) > maxBatchFile {
		err = errors.New("it has more than " + strconv.Itoa(maxBatchFile) + " bytes: submit several batches")
	}
	return string(text), err
}

// lines are the lines of a file with their numbers, but for empty ones and comments.
func lines(text string) func(yield func(n int, line string) bool) {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range strings.Lines(text) {
			n++
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' && !yield(n, line) {
				return
			}
		}
	}
}

// add adds the job of a line. It returns the exit code of a line that is wrong.
func (b *batch) add(n int, line string) int {
	at := "line " + strconv.Itoa(n)
	words, err := split(line)
	if err != nil {
		b.say("sbatch: error: " + at + ": " + err.Error())
		return 1
	}
	name := ""
	if first, is := strings.CutSuffix(words[0], ":"); is {
		name, words = first, words[1:]
		at += " (" + name + ")"
	}
	in := b.in
	in.Args = append(slices.Clone(b.in.Args), words...)
	in.Stdin = func() ([]byte, error) { return nil, errors.New("a line of a batch names its script, or has --wrap") }
	req, err := parse(in, b.conn)
	if exit := (*sbatch.Exit)(nil); errors.As(err, &exit) {
		for _, l := range exit.Stderr {
			b.say(at + ": " + l)
		}
		return max(exit.Code, 1)
	}
	for _, w := range req.Warnings {
		b.say(at + ": " + w)
	}
	req.Spec.SubmitLine = submitLine("sbatch", in.Args)
	req.Spec.Dependency = show.OwnDependency(in.Env, req.Spec.Dependency)
	b.fails = req.ExitError
	if word, bad := notText(&req.Spec); bad {
		b.say("sbatch: error: " + at + ": " + strconv.Quote(word) + " is not valid UTF-8")
		return b.fails
	}
	if req.Wait || req.TestOnly {
		b.say("sbatch: error: " + at + ": a batch cannot be waited for or only tried; after it: fed wait JOB..., or fed wait --group NAME")
		return b.fails
	}
	b.quiet, b.parsable = b.quiet || req.Quiet, b.parsable || req.Parsable
	if req.Key != "" {
		b.key = req.Key
	}
	b.append(n, name, req)
	return 0
}

// append appends an entry. What an earlier one has, too, is not sent again: that must have a name, for which one is made up where none was given.
func (b *batch) append(n int, name string, req *sbatch.Request) {
	b.names = append(b.names, name)
	if name == "" {
		name = "line-" + strconv.Itoa(n)
	}
	o := object{b: append(b.body, '{'), first: true}
	o.text("name", name)
	script, of := req.Payload.Script, ""
	env := slices.DeleteFunc(req.Payload.Environment, ofDependency) // which the daemon adds, with numbers for names
	if same, known := b.shared[script]; !known {
		b.shared[script] = sharedPayload{name, env}
	} else {
		script, of = "", same.name
		if slices.Equal(same.environment, env) {
			env = nil
		}
	}
	o.text("payload_of", of)
	o.key("spec")
	o.b, o.first = append(o.b, '{'), true
	o.spec(&req.Spec)
	o.b, o.first = append(o.b, '}'), false
	o.key("payload")
	o.b, o.first = append(o.b, '{'), true
	o.text("script", script)
	if o.list("argv", req.Payload.Argv); len(req.Payload.Argv) == 0 && of != "" {
		o.key("argv") // else it would be that of the other
		o.b = append(o.b, "[]"...)
	}
	o.list("environment", env)
	o.b, o.first = append(o.b, '}'), false
	o.text("submit_host", b.in.Host)
	b.body = append(o.b, '}', '\n')
}

func ofDependency(e string) bool { return strings.HasPrefix(e, "SLURM_JOB_DEPENDENCY=") }

// send submits the batch, and prints the numbers of its jobs.
func (b *batch) send(stdout io.Writer) int {
	b.conn.SetTimeout(batchTimeout)
	s := sender{conn: b.conn, path: "/fed/v1/jobs/submit", key: b.key, body: b.body, say: b.say}
	status, reply, err := s.send()
	if err != nil {
		sayAll(b.say, failure(err))
		return b.fails
	}
	if status != 200 {
		b.refused(status, reply)
		return b.fails
	}
	jobs, whole := readJobs(reply, len(b.names))
	if !whole {
		b.say(failed + "Unspecified error")
		b.say("sbatch: error: the daemon's answer is not whole; the jobs may be submitted: repeat it with --fed-key=" + s.key + ", which submits nothing twice")
		return b.fails
	}
	var out bytes.Buffer
	for i := range jobs {
		j := &jobs[i]
		for _, w := range j.Warnings {
			b.say("sbatch: error: " + w)
		}
		id := j.JobID.String()
		switch {
		case b.quiet:
		case b.parsable:
			out.WriteString(strings.TrimSuffix(id+" "+b.names[i], " ") + "\n")
		case b.names[i] == "":
			out.WriteString("Submitted batch job " + id + "\n")
		default:
			out.WriteString("Submitted batch job " + id + " (" + b.names[i] + ")\n")
		}
	}
	if _, err := stdout.Write(out.Bytes()); err != nil {
		b.say("sbatch: error: the jobs are submitted, but their numbers cannot be written: " + err.Error())
		return b.fails
	}
	return 0
}

// refused says why a batch was refused: each of its lines that is wrong.
func (b *batch) refused(status int, reply []byte) {
	var resp v1.ErrorResponse
	if err := json.Unmarshal(reply, &resp); err != nil || resp.Error.Text == "" {
		b.say(failed + "Unspecified error")
		b.say("sbatch: error: the daemon answered with HTTP status " + strconv.Itoa(status) + "; it may be of another version than this command")
		return
	}
	e := &resp.Error
	if len(e.Lines) == 0 {
		sayAll(b.say, refusal(e, false))
		return
	}
	b.say(failed + e.Text)
	for _, l := range e.Lines {
		where := "entry " + strconv.Itoa(l.Line)
		if l.Name != "" {
			where = l.Name
		}
		why := l.Detail
		if why == "" {
			why = l.Text
		}
		b.say("sbatch: error: " + where + ": " + why)
	}
	b.say("sbatch: error: nothing of the batch is submitted")
}

// readJobs reads the answer to a batch of n jobs. It is whole if its last line says so.
func readJobs(reply []byte, n int) (jobs []v1.BatchJob, whole bool) {
	for line := range bytes.Lines(reply) {
		var j v1.BatchJob
		if json.Unmarshal(line, &j) != nil {
			return nil, false
		}
		if j.Jobs != 0 {
			return jobs, j.Jobs == len(jobs) && n == len(jobs)
		}
		jobs = append(jobs, j)
	}
	return nil, false
}

func sayAll(say func(string), lines []string) {
	for _, l := range lines {
		say(l)
	}
}
