package daemon

import (
	"context"

	"golang.org/x/sync/errgroup"

	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/jobmail"
	"fsub/federation/staging"
	"fsub/federation/staging/home"
)

// mailRules say to whom mail of jobs may go; nil: no mail is sent.
func mailRules(c *config.Config) *jobmail.Rules {
	if c.Mail.Server == "" {
		return nil
	}
	return &jobmail.Rules{Domains: c.Mail.MailDomains()}
}

// runJobMail has mail sent that jobs ask for. Several daemons that share a store have one that does: the leader.
func (p *parts) runJobMail(ctx context.Context, g *errgroup.Group) error {
	c := p.config
	sender, err := newSender(&c.Mail, "mail")
	if err != nil {
		return err
	}
	if sender == nil {
		return jobmail.Forget(ctx, p.store)
	}
	facts := api.NewJobFacts(p.api)
	files := home.Spawner{Command: []string{"/proc/self/exe", asUser}}
	facts.Tail = func(ctx context.Context, j *federation.Job, file string, most int64) ([]byte, error) {
		return files.Tail(ctx, staging.User{Name: j.User, UID: j.UID, GID: j.GID, Umask: 0o077}, file, most)
	}
	facts.Coordinators = p.books.CoordinatorsOf
	var page func(federation.JobID) string
	if at := c.Web.At(); at != "" {
		page = func(id federation.JobID) string { return at + "/job/" + id.String() }
	}
	m := jobmail.New(jobmail.Config{Store: p.store, Facts: facts, Rules: mailRules(c), Send: sender, Page: page, Host: mailHost(c), Logger: p.logOf("mail"), Registerer: p.reg})
	g.Go(func() error { return m.Run(ctx) })
	return nil
}
