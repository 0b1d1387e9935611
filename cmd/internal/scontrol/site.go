package scontrol

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/refusal"
	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// leave makes this process the site's own scontrol where that is the better one, and returns
// otherwise. Within a job that is for a requeue of the very job, which only the site can do at once
// and on the spot, and for whatever needs a daemon that cannot be reached from there.
func leave(args, env []string, c show.Caller) {
	if show.Env(env, "SLURM_JOB_ID") == "" {
		return
	}
	instead := siteArgs(args, env, func() bool {
		_, _, err := c.Do("GET", wire.Slurm(wire.Base, wire.PathPing), nil)
		return !errors.Is(err, conn.ErrConnect)
	})
	if instead == nil {
		return
	}
	next := refusal.Next("scontrol", show.Env(env, "PATH"), func() (os.FileInfo, error) { return os.Stat("/proc/self/exe") })
	if next != "" {
		syscall.Exec(next, append([]string{"scontrol"}, instead...), env) // if that fails, what follows says why nothing works
	}
}

// siteArgs are the words for the site's scontrol, nil if ours is to do it. The job is named to the
// site by the site's own number.
func siteArgs(args, env []string, reachable func() bool) []string {
	words, _, err := optionSet.Parse(new(options), args, io.Discard)
	if err != nil || len(words) == 0 {
		return nil
	}
	verb := words[0]
	own := ""
	if (is(verb, "requeue", 3) || is(verb, "requeuehold", 8)) && len(words) == 2 {
		own = ownAtSite(words[1], env)
	}
	switch {
	case is(verb, "listpids", 1) && show.Env(env, "FSUB_STEPS") == "": // a node of a site
		return args
	case local(words):
		return nil
	case own != "":
		return []string{verb, own}
	case reachable():
		return nil
	}
	return args
}

// local reports whether a command needs neither daemon nor site.
func local(words []string) bool {
	verb := words[0]
	if is(verb, "show", 3) && len(words) > 1 {
		name, _, _ := strings.Cut(words[1], "=")
		return is(name, "hostlistsorted", 5) || is(name, "hostnames", 5)
	}
	return is(verb, "version", 4) || is(verb, "help", 2) || is(verb, "errnumstr", 2) || is(verb, "listpids", 1)
}

// ownAtSite is the site's name for id where that is the job, or the task of an array, that this
// process is a part of; "" otherwise.
func ownAtSite(id string, env []string) string {
	job, fed := show.Env(env, "SLURM_JOB_ID"), show.Env(env, "FSUB_JOB_ID") // the latter where the site gives numbers of its own
	array, task := show.Env(env, "SLURM_ARRAY_JOB_ID"), show.Env(env, "SLURM_ARRAY_TASK_ID")
	switch {
	case show.Env(env, "FSUB_RESTARTS") != "": // the site would count its restarts from one again
	case array != "" && id == array+"_"+task:
		if job == array { // the number of a real array's last task, but first of all the whole array's
			return id
		}
		return job
	case id == job, id == fed && task == "":
		return job
	}
	return ""
}
