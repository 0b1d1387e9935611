// Package submit is the command sbatch: it reads options, script and environment by sbatch's rules (package sbatch),
// hands the job to the daemon in one request and prints what sbatch prints.
package submit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"fsub/cmd/fsub/internal/conn"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// Main runs the command; it returns the exit code.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	in, err := caller(args, env)
	if err != nil {
		say(stderr, "sbatch: error: "+err.Error())
		return 1
	}
	return run(in, stdout, stderr, c)
}

func run(in sbatch.Input, stdout, stderr io.Writer, c *conn.Conn) int {
	req, err := sbatch.Parse(in)
	if err != nil {
		var exit *sbatch.Exit
		errors.As(err, &exit)
		io.WriteString(stdout, exit.Stdout)
		say(stderr, exit.Stderr...)
		return exit.Code
	}
	say(stderr, req.Warnings...)
	if name, ok := notText(&req.Payload); ok {
		say(stderr, "sbatch: error: "+name+" is not valid UTF-8 and would reach the site changed; fsub cannot carry it yet")
		return req.ExitError
	}
	id, lines := send(in.Host, req, c)
	if len(lines) > 0 {
		say(stderr, lines...)
		return req.ExitError
	}
	if err := announce(stdout, req, id); err != nil {
		say(stderr, "sbatch: error: job "+id+" is submitted, but its number cannot be written: "+err.Error())
		return req.ExitError
	}
	if req.Wait {
		return wait(id, stderr, c)
	}
	return 0
}

func say(w io.Writer, lines ...string) {
	for _, l := range lines {
		io.WriteString(w, l+"\n")
	}
}

// announce prints the number as sbatch does: programs read it from this line.
func announce(w io.Writer, req *sbatch.Request, id string) (err error) {
	switch {
	case req.Quiet:
	case req.Parsable:
		_, err = io.WriteString(w, id+"\n")
	default:
		_, err = io.WriteString(w, "Submitted batch job "+id+"\n")
	}
	return err
}

// notText finds what JSON cannot carry unchanged: bytes that are no UTF-8.
func notText(p *sbatch.Payload) (name string, found bool) {
	if !utf8.ValidString(p.Script) {
		return "the script", true
	}
	for _, a := range p.Argv {
		if !utf8.ValidString(a) {
			return "the argument " + strconv.Quote(a), true
		}
	}
	for _, e := range p.Environment {
		if !utf8.ValidString(e) {
			return "the variable " + strconv.Quote(e), true
		}
	}
	return "", false
}

const failed = "sbatch: error: Batch job submission failed: "

// send hands the job over. Either id is the number of a durable job, or lines say why there is none, or why nobody knows.
func send(host string, req *sbatch.Request, c *conn.Conn) (id string, lines []string) {
	body := appendSubmit(nil, host, req)
	status, reply, err := c.Do("POST", "/fed/v1/job", body)
	if err != nil {
		return "", failure(err)
	}
	if id, ok := jobID(reply); ok {
		return id, nil
	}
	var resp v1.SubmitResponse
	err = json.Unmarshal(reply, &resp)
	switch {
	case err == nil && resp.JobID != 0:
		return resp.JobID.String(), nil
	case err == nil && resp.Error != nil && resp.Error.Text != "":
		return "", refusal(resp.Error)
	}
	return "", []string{failed + "Unspecified error", "sbatch: error: the daemon answered with HTTP status " + strconv.Itoa(status) +
		" and no job; it may be of another version than this command, or its log tells more"}
}

// errInvalidGRES is the one refusal that sbatch prints without saying that the submission failed.
const errInvalidGRES = 2072

// refusal is what sbatch prints of e, and one line more that says what to look at.
func refusal(e *v1.Error) []string {
	var lines []string
	if e.Said != "" {
		lines = append(lines, "sbatch: error: "+e.Said)
	}
	if e.Number == errInvalidGRES {
		lines = append(lines, "sbatch: error: "+e.Text)
	} else {
		lines = append(lines, failed+e.Text)
	}
	if e.Detail != "" {
		lines = append(lines, "sbatch: error: "+e.Detail)
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
