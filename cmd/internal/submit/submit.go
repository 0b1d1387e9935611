// Package submit is the command sbatch: it reads options, script and environment by sbatch's rules
// (package sbatch), hands the job to the daemon in one request and prints what sbatch prints.
package submit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// Main runs fsub; it returns the exit code.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return called(args, env, stdout, stderr, c, true)
}

// Sbatch runs sbatch, which says nothing that Slurm's does not.
func Sbatch(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return called(args, env, stdout, stderr, c, false)
}

func called(args, env []string, stdout, stderr io.Writer, c *conn.Conn, more bool) int {
	in, err := caller(args, env)
	if err != nil {
		say(stderr, "sbatch: error: "+err.Error())
		return 1
	}
	if file, rest, is := batchFile(args); is && more {
		in.Args = rest
		return submitBatch(file, in, stdout, stderr, c)
	}
	return run(in, stdout, stderr, c, more)
}

// run submits a job. more: what sbatch has no word for is told, too.
func run(in sbatch.Input, stdout, stderr io.Writer, c *conn.Conn, more bool) int {
	req, err := parse(in, c)
	if err != nil {
		var exit *sbatch.Exit
		errors.As(err, &exit)
		io.WriteString(stdout, exit.Stdout)
		say(stderr, exit.Stderr...)
		return exit.Code
	}
	say(stderr, req.Warnings...)
	req.Spec.SubmitLine = submitLine("sbatch", in.Args)
	req.Spec.Dependency = show.OwnDependency(in.Env, req.Spec.Dependency)
	if word, ok := notText(&req.Spec); ok {
		say(stderr, "sbatch: error: "+strconv.Quote(word)+" is not valid UTF-8 and would reach the site changed; only scripts, "+
			"arguments and environments may have such bytes")
		return req.ExitError
	}
	id, cluster, lines, ok := send(in.Host, req, c, more, func(line string) { say(stderr, line) })
	say(stderr, lines...)
	if !ok {
		return req.ExitError
	}
	if req.TestOnly {
		return 0
	}
	if err := announce(stdout, req, id, cluster); err != nil {
		say(stderr, "sbatch: error: job "+id+" is submitted, but its number cannot be written: "+err.Error())
		return req.ExitError
	}
	if req.Wait {
		return wait(id, stderr, c)
	}
	return 0
}

// submitLine is the call as sacct shows it, in one line. A script given by --wrap may be long: its
// beginning is enough.
func submitLine(name string, args []string) string {
	const most = 1024
	line := name
	for _, a := range args {
		if len(line) >= most {
			break
		}
		line += " " + a[:min(len(a), most)]
	}
	oneLine := func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}
	return strings.Map(oneLine, strings.ToValidUTF8(line[:min(len(line), most)], ""))
}

func say(w io.Writer, lines ...string) {
	for _, l := range lines {
		io.WriteString(w, l+"\n")
	}
}

// announce prints the number as sbatch does: programs read it from this line. cluster is "" without --clusters.
func announce(w io.Writer, req *sbatch.Request, id, cluster string) (err error) {
	switch {
	case req.Quiet:
	case req.Parsable && cluster != "":
		_, err = io.WriteString(w, id+";"+cluster+"\n")
	case cluster != "":
		_, err = io.WriteString(w, "Submitted batch job "+id+" on cluster "+cluster+"\n")
	case req.Parsable:
		_, err = io.WriteString(w, id+"\n")
	default:
		_, err = io.WriteString(w, "Submitted batch job "+id+"\n")
	}
	return err
}

// notText finds an option whose value is not valid UTF-8.
func notText(s *sbatch.Spec) (word string, found bool) {
	for _, w := range append(s.Options(), s.Command) {
		if !utf8.ValidString(w) {
			return w, true
		}
	}
	for i := range s.Het {
		if w, found := notText(&s.Het[i]); found {
			return w, true
		}
	}
	return "", false
}

const failed = "sbatch: error: Batch job submission failed: "

// send submits the job. If ok, id is the number of a durable job, or 0 because of --test-only.
// lines are for stderr in any case; without ok they say why there is no job, or that it is not
// known whether there is one.
func send(host string, req *sbatch.Request, c *conn.Conn, more bool, say func(line string)) (id, cluster string, lines []string, ok bool) {
	s := sender{conn: c, key: req.Key, body: appendSubmit(make([]byte, 0, roomFor(req)), host, req), say: say}
	status, reply, err := s.send()
	if err != nil {
		return "", "", failure(err), false
	}
	if id, ok := jobID(reply); ok && !req.TestOnly {
		return id, "", nil, true
	}
	var resp v1.SubmitResponse
	err = json.Unmarshal(reply, &resp)
	for _, w := range resp.Warnings {
		lines = append(lines, "sbatch: error: "+w)
	}
	switch {
	case err == nil && req.TestOnly && resp.Message != "":
		if !req.Quiet {
			lines = append(lines, "sbatch: "+resp.Message)
			if more && resp.Place != "" {
				lines = append(lines, "fsub: "+resp.Place)
			}
		}
		for line := range strings.Lines(resp.Explanation) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
		return "", "", lines, true
	case err == nil && resp.JobID != 0 && !req.TestOnly:
		if resp.Note != "" && !req.Quiet {
			lines = append(lines, "sbatch: "+resp.Note)
		}
		return resp.JobID.String(), resp.Cluster, lines, true
	case err == nil && resp.Error != nil && resp.Error.Text != "":
		return "", "", append(lines, refusal(resp.Error, req.TestOnly)...), false
	}
	return "", "", []string{failed + "Unspecified error", "sbatch: error: the daemon answered with HTTP status " + strconv.Itoa(status) +
		" and no job; it may be of another version than this command, or its log tells more"}, false
}

// errInvalidGRES is the one refusal that sbatch prints without saying that the submission failed.
const errInvalidGRES = 2072

// refusal is what sbatch prints of e, and one line more that says what to look at.
func refusal(e *v1.Error, testOnly bool) []string {
	var lines []string
	for said := range strings.Lines(e.Said) {
		lines = append(lines, "sbatch: error: "+strings.TrimSuffix(said, "\n"))
	}
	switch {
	case e.Number == errInvalidGRES || e.Alone:
		lines = append(lines, "sbatch: error: "+e.Text)
	case testOnly:
		lines = append(lines, "allocation failure: "+e.Text)
	default:
		lines = append(lines, failed+e.Text)
	}
	for why := range strings.Lines(e.Detail) {
		lines = append(lines, "sbatch: error: "+strings.TrimSuffix(why, "\n"))
	}
	return lines
}

// jobID reads the usual answer, {"job_id":N}, without encoding/json.
func jobID(reply []byte) (id string, ok bool) {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(reply), []byte(`{"job_id":`))
	if !ok {
		return "", false
	}
	rest, ok = bytes.CutSuffix(rest, []byte{'}'})
	n, err := strconv.ParseUint(string(rest), 10, 32)
	return string(rest), ok && err == nil && n != 0
}

// failure is a call that got no answer, with Slurm's sentence first: programs know it and try again.
func failure(err error) []string {
	lines := []string{failed + err.Error()}
	if e := (*conn.Error)(nil); errors.As(err, &e) {
		lines = append(lines, "sbatch: error: "+e.Detail)
	}
	return lines
}
