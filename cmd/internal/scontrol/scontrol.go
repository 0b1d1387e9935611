// Package scontrol shows and changes what the federation has as Slurm's scontrol does for a
// cluster: its verbs, its layout of records, sentences and exit codes. Host lists are read right
// here, without the daemon; for all else it is the daemon that knows, and that decides who may do what.
package scontrol

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/show"
)

// Main is the command scontrol.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	leave(args, env, c)
	return run(args, env, os.Stdin, stdout, stderr, c, time.Now())
}

// command is one call of scontrol.
type command struct {
	options
	printer
	env      []string
	caller   show.Caller
	root     bool // root calls, whom Slurm would let do it
	clusters clusters
}

func run(args, env []string, stdin io.Reader, stdout, stderr io.Writer, caller show.Caller, now time.Time) int {
	opts, exit, done := parse(args, env, stdout, stderr)
	if done {
		return exit
	}
	out := bufio.NewWriter(stdout)
	cmd := &command{options: opts, env: env, caller: caller, root: os.Geteuid() == 0, clusters: clusters{named: opts.clusters},
		printer: printer{stdout: out, stderr: stderr, times: show.NewTimes(env, now), oneLine: opts.oneLine, details: opts.details}}
	if cmd.quiet {
		cmd.stderr = io.Discard
	}
	if len(cmd.words) == 0 {
		exit = cmd.interactive(stdin, out)
	} else {
		exit = cmd.do(cmd.words)
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintf(stderr, "scontrol: error: %s\n", err)
		return 1
	}
	return exit
}

// interactive carries out what is read line by line. The line itself is shown after the prompt, as
// it is not typed there.
func (c *command) interactive(stdin io.Reader, out *bufio.Writer) (exit int) {
	lines := bufio.NewScanner(stdin)
	io.WriteString(out, "scontrol: ")
	out.Flush()
	for lines.Scan() {
		fmt.Fprintln(out, lines.Text())
		if words := strings.Fields(lines.Text()); len(words) > 0 {
			if is(words[0], "exit", 2) || is(words[0], "quit", 4) {
				return exit
			}
			exit = c.do(words)
		}
		io.WriteString(out, "scontrol: ")
		out.Flush()
	}
	fmt.Fprintln(out)
	return exit
}

// verb is the first word of a command. It takes least to most words after it; most < 0 is any number.
type verb struct {
	name        string
	short       int // letters that must be there
	least, most int
	run         func(c *command, words []string) int
}

// verbs in the order in which an abbreviation is looked for.
func verbs() []verb {
	return []verb{
		{"all", 2, 0, 0, quietly},
		{"completing", 2, 0, 0, quietly},
		{"cluster", 2, 0, 1, quietly},
		{"details", 1, 0, 0, quietly},
		{"errnumstr", 2, 1, 1, (*command).errnumstr},
		{"exit", 2, 0, 0, quietly},
		{"help", 2, 0, 0, func(c *command, _ []string) int { io.WriteString(c.stdout, optionSet.Help()); return 0 }},
		{"hide", 2, 0, 0, quietly},
		{"hold", 4, 1, -1, func(c *command, w []string) int { return c.holdJobs("hold", w) }},
		{"holdu", 5, 1, -1, func(c *command, w []string) int { return c.holdJobs("uhold", w) }},
		{"uhold", 2, 1, -1, func(c *command, w []string) int { return c.holdJobs("uhold", w) }},
		{"listpids", 1, 0, 2, (*command).listPIDs},
		{"oneliner", 1, 0, 0, quietly},
		{"ping", 3, 0, 0, (*command).ping},
		{"quiet", 5, 0, 0, quietly},
		{"quit", 4, 0, 0, quietly},
		{"cancel_reboot", 3, 0, -1, (*command).cancelReboot},
		{"reboot_nodes", 3, 0, -1, (*command).reboot},
		{"release", 3, 1, -1, func(c *command, w []string) int { return c.holdJobs("release", w) }},
		{"requeue", 3, 1, -1, func(c *command, w []string) int { return c.requeue("requeue", w) }},
		{"requeuehold", 8, 1, -1, func(c *command, w []string) int { return c.requeue("requeuehold", w) }},
		{"resume", 3, 1, -1, func(c *command, w []string) int { return c.actOn("resume", w) }},
		{"show", 3, 1, 2, (*command).show},
		{"suspend", 2, 1, -1, func(c *command, w []string) int { return c.actOn("suspend", w) }},
		{"top", 3, 1, -1, func(c *command, w []string) int { return c.actOn("top", w) }},
		{"update", 1, 1, -1, (*command).update},
		{"verbose", 4, 0, 0, quietly},
		{"version", 4, 0, 0, func(c *command, _ []string) int { fmt.Fprintln(c.stdout, show.Version); return 0 }},
		{"wait_job", 2, 1, 1, (*command).waitJob},
		{"write", 5, 2, 3, (*command).write},
	}
}

// quietly is what switches a mode of an interactive session, which ends with this command.
func quietly(*command, []string) int { return 0 }

// is reports whether word is name or its first letters, short of them at least, in any case.
func is(word, name string, short int) bool {
	return len(word) >= short && len(word) <= len(name) && strings.EqualFold(word, name[:len(word)])
}

// do carries out one command and returns its exit code.
func (c *command) do(words []string) int {
	word, rest := words[0], words[1:]
	for _, v := range verbs() {
		if !is(word, v.name, v.short) {
			continue
		}
		if len(rest) < v.least || v.most >= 0 && len(rest) > v.most {
			return c.wrongNumber(word, v, len(rest) < v.least)
		}
		if !local(words) && c.clusters.check(c) != nil {
			return 1
		}
		return v.run(c, rest)
	}
	if said, ok := refusedVerb(word, c.root); ok {
		return c.fail("%s", said)
	}
	return c.fail("invalid keyword: %s", word)
}

func (c *command) wrongNumber(word string, v verb, few bool) int {
	how := "many"
	if few {
		how = "few"
	}
	if v.name == "update" || v.name == "verbose" {
		return c.fail("too %s arguments for %s keyword", how, word)
	}
	return c.fail("too %s arguments for keyword:%s", how, word)
}
