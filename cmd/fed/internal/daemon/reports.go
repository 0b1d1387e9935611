package daemon

import (
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
	m := &c.Reports.Mail
	r := reports.Config{Saved: reports.In(st), Write: format.Write, Ending: format.Ending, Letter: format.Letter, Federation: c.Federation, Files: c.Reports.Directory, Domains: m.MailDomains(), Logger: log}
	if r.Host, _ = os.Hostname(); r.Host == "" {
		r.Host = c.Federation
	}
	if m.Server != "" {
		if m.PasswordFile != "" {
			if err := secret.Check(m.PasswordFile); err != nil {
				return nil, fmt.Errorf("reports: mail: password_file: %w", err)
			}
		}
		r.Mail = &mail.Sender{Server: m.Server, From: m.From, User: m.User, PasswordFile: m.PasswordFile, TLS: m.TLS}
	}
	return reports.New(r), nil
}
