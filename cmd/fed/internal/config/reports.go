package config

import (
	"fmt"
	netmail "net/mail"
	"slices"
	"strings"

	"fsub/federation/reports/mail"
)

// Reports says where reports go that are saved with a schedule.
type Reports struct {
	// Directory of those that become files: each in one of its user's name, which only that user may read. Not set: they are mailed only.
	Directory string `yaml:"directory,omitempty"`
	// Mail server that takes the others. Not set: mail.
	Mail Mail `yaml:"mail,omitempty"`
}

// Mail is a mail server.
type Mail struct {
	// HOST:PORT that speaks SMTP. Not set: no mail is sent.
	Server string `yaml:"server,omitempty"`
	// Address that mail comes from.
	From string `yaml:"from,omitempty"`
	// User that the mail server knows. Not set: no login.
	User string `yaml:"user,omitempty"`
	// File with the password, mode 0600. It is read for each mail.
	PasswordFile string `yaml:"password_file,omitempty"`
	// starttls (the default), implicit, or none, which is for a server on this machine and has no login.
	TLS string `yaml:"tls,omitempty"`
	// Domains that users may send mail to; operators may send reports anywhere. Not set: that of from. A --mail-user without a domain is of the first.
	Domains []string `yaml:"domains,omitempty"`
}

func (m *Mail) check(key string) error {
	if m.Server == "" {
		if m.From != "" || m.User != "" || m.PasswordFile != "" || m.TLS != "" || m.Domains != nil {
			return fmt.Errorf("%s: server is missing: HOST:PORT of a mail server", key)
		}
		return nil
	}
	if _, err := hostPort(m.Server); err != nil {
		return fmt.Errorf("%s: invalid server %q: want HOST:PORT, such as smtp.example.org:587", key, m.Server)
	}
	if a, err := netmail.ParseAddress(m.From); err != nil || a.Address != m.From {
		return fmt.Errorf("%s: invalid from %q: want an address, such as fsub@example.org", key, m.From)
	}
	switch {
	case !slices.Contains([]string{"", mail.STARTTLS, mail.Implicit, mail.Plain}, m.TLS):
		return fmt.Errorf("%s: invalid tls %q: want starttls, implicit or none", key, m.TLS)
	case (m.User == "") != (m.PasswordFile == ""):
		return fmt.Errorf("%s: user and password_file go together", key)
	case m.User != "" && m.TLS == mail.Plain:
		return fmt.Errorf("%s: tls is none: the password would be sent in the clear", key)
	}
	return nil
}

// MailServer is the mail server of reports: their own, or that of the daemon.
func (c *Config) MailServer() (m *Mail, key string) {
	if c.Reports.Mail.Server != "" {
		return &c.Reports.Mail, "reports: mail"
	}
	return &c.Mail, "mail"
}

// MailDomains are those that users may send mail to.
func (m *Mail) MailDomains() (out []string) {
	all := m.Domains
	if all == nil && m.From != "" {
		all = []string{m.From[strings.LastIndexByte(m.From, '@')+1:]}
	}
	for _, d := range all {
		out = append(out, strings.ToLower(d))
	}
	return out
}
