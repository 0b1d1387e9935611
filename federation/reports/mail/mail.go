// Package mail sends reports by SMTP. [Sender] is all there is.
package mail

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"fsub/federation"
	"fsub/federation/reports"
)

// How the connection to the mail server is made safe.
const (
	STARTTLS = "starttls" // required, not just tried
	Implicit = "implicit"
	Plain    = "none"
)

// Sender sends mail by one server. It implements [reports.Mailer].
type Sender struct {
	Server       string // HOST:PORT
	From         string
	User         string      // "": without a login
	PasswordFile string      // read anew for each mail
	TLS          string      // STARTTLS, Implicit or Plain
	Roots        *tls.Config // nil: the system's
}

const timeout = 30 * time.Second

// Send sends one mail. What the mail server will never take is ErrInvalid.
func (s *Sender) Send(ctx context.Context, m *reports.Message) error {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := msg.From(s.From); err != nil {
		return err
	}
	if err := msg.To(m.To...); err != nil {
		return err
	}
	msg.Subject(m.Subject)
	msg.SetMessageIDWithValue(m.ID)
	msg.SetDate()
	msg.SetBodyString(mail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		msg.AddAlternativeString(mail.TypeTextHTML, m.HTML)
	}
	if m.Picture != nil {
		if err := msg.EmbedReader(m.Name, bytes.NewReader(m.Picture)); err != nil {
			return err
		}
	}
	if m.File != "" {
		if err := msg.AttachReader(m.File, bytes.NewReader(m.Content)); err != nil {
			return err
		}
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	if err := c.DialAndSendWithContext(ctx, msg); err != nil {
		if refused(err) {
			err = fmt.Errorf("%w: %w", federation.ErrInvalid, err)
		}
		return fmt.Errorf("mail server %s: %w", s.Server, err)
	}
	return nil
}

// refused reports whether the mail server will never take this mail: it says so of a recipient or of the text, with a number of 500 or more.
func refused(err error) bool {
	var e *mail.SendError
	return errors.As(err, &e) && !e.IsTemp() && (e.Reason == mail.ErrSMTPRcptTo || e.Reason == mail.ErrSMTPData || e.Reason == mail.ErrSMTPDataClose) && e.ErrorCode() >= 500
}

func (s *Sender) client() (*mail.Client, error) {
	host, portText, err := net.SplitHostPort(s.Server)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, err
	}
	options := []mail.Option{mail.WithPort(port), mail.WithTimeout(timeout)}
	switch s.TLS {
	case Implicit:
		options = append(options, mail.WithSSL())
	case Plain:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if s.Roots != nil {
		options = append(options, mail.WithTLSConfig(s.Roots))
	}
	if s.User != "" {
		password, err := os.ReadFile(s.PasswordFile)
		if err != nil {
			return nil, err
		}
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(s.User), mail.WithPassword(strings.TrimRight(string(password), "\r\n")))
	}
	return mail.NewClient(host, options...)
}
