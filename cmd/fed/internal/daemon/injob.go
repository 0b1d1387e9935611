package daemon

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/sbatch"
)

// tokenBeyond is how long a token in a job's environment is valid beyond the job's time limit: jobs
// wait, and may be requeued. It ends with its job in any case, which the daemon looks up at each call.
const tokenBeyond = 30 * 24 * time.Hour

// inJob gives jobs what the commands inside them need: at sites that have the commands they come
// first in PATH, and find the daemon and a token.
type inJob struct {
	commands map[federation.SiteName]string
	socket   map[federation.SiteName]func() string // where the daemon is, as the site's nodes see it: a path, or addresses for which they need a token
	remote   *remote                               // nil: there is no remote listener
	now      func() time.Time
}

func newInJob(c *config.Config, d *remote) *inJob {
	in := &inJob{commands: map[federation.SiteName]string{}, socket: map[federation.SiteName]func() string{}, remote: d, now: time.Now}
	for _, s := range c.Sites {
		if s.Commands == "" {
			continue
		}
		in.commands[s.Name] = s.Commands
		switch {
		case filepath.IsAbs(s.Daemon):
			in.socket[s.Name] = func() string { return s.Daemon }
		case d == nil:
			in.socket[s.Name] = func() string { return c.Socket }
		case s.Daemon != "":
			in.socket[s.Name] = func() string { return d.at(strings.Split(s.Daemon, ",")...) }
		default:
			in.socket[s.Name] = d.everywhere
		}
	}
	return in
}

// defaultPath is the PATH of a shell that has none in its environment.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Environment returns the environment of a job at a site. env is not changed.
func (in *inJob) Environment(site federation.SiteName, j *federation.Job, env []string) []string {
	dir := in.commands[site]
	if dir == "" {
		return env
	}
	path := defaultPath
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
			return true
		}
		return strings.HasPrefix(e, "FSUB_SOCKET=") || strings.HasPrefix(e, "FSUB_TOKEN=")
	})
	socket := in.socket[site]()
	env = append(env, "PATH="+dir+":"+path, "FSUB_SOCKET="+socket)
	if !filepath.IsAbs(socket) {
		until := in.now().Add(tokenBeyond)
		if limit := j.Spec.TimeLimit; limit != sbatch.Unlimited {
			until = until.Add(limit)
		} else {
			until = until.AddDate(1, 0, 0)
		}
		claim := identity.JobClaim{Job: uint32(j.ID), Attempt: j.Attempt, Site: string(site)}
		if j.Attempt == 0 { // an array, some of whose tasks share a job there
			claim.Site = ""
		}
		env = append(env, "FSUB_TOKEN="+in.remote.tokens.MakeFor(j.User, &claim, until))
	}
	return env
}
