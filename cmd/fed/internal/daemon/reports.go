package daemon

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"

	"fsub/accounting/report/format"
	"fsub/cmd/fed/internal/config"
	"fsub/federation/records"
	"fsub/federation/reports"
	"fsub/federation/reports/mail"
	"fsub/federation/secret"
)

// newReports makes what delivers saved reports. It lacks who makes them.
func newReports(c *config.Config, st records.Store, log *slog.Logger) (*reports.Runner, error) {
	m, key := c.MailServer()
	r := reports.Config{Saved: reports.In(st), Write: format.Write, Ending: format.Ending, Letter: format.Letter, Federation: c.Federation, Files: c.Reports.Directory, Domains: m.MailDomains(), Host: mailHost(c), Logger: log}
	sender, err := newSender(m, key)
	if err != nil {
		return nil, err
	}
	if sender != nil {
		r.Mail = sender
	}
	return reports.New(r), nil
}

// newSender makes what sends mail by a mail server; nil: there is none. key is where it stands in the configuration.
func newSender(m *config.Mail, key string) (*mail.Sender, error) {
	if m.Server == "" {
		return nil, nil
	}
	if m.PasswordFile != "" {
		if err := secret.Check(m.PasswordFile); err != nil {
			return nil, fmt.Errorf("%s: password_file: %w", key, err)
		}
	}
	return &mail.Sender{Server: m.Server, From: m.From, User: m.User, PasswordFile: m.PasswordFile, TLS: m.TLS}, nil
}

// mailHost is what IDs of messages end with.
func mailHost(c *config.Config) string {
	host, _ := os.Hostname()
	return cmp.Or(host, c.Federation)
}
