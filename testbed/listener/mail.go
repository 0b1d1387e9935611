// Package listener takes in what the federation sends by itself, for one test: mail, and traces.
package listener

import (
	"io"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"

	"github.com/emersion/go-smtp"
)

// Mail is a mail as it came.
type Mail struct {
	ID, Subject, Text string
	To                []string
}

// Inbox is a mail server that keeps what it is sent.
type Inbox struct {
	Addr  string // HOST:PORT, once it listens
	Never string // a recipient that it refuses; set while it does not listen

	srv   *smtp.Server
	mu    sync.Mutex
	mails []Mail
}

// Listen begins to take mail at an address; port 0: any. It returns what ends that.
func (b *Inbox) Listen(addr string) (end func() error, err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	b.Addr, b.srv = l.Addr().String(), smtp.NewServer(b)
	go b.srv.Serve(l)
	return b.srv.Close, nil
}

// Mails are those that have come, in their order.
func (b *Inbox) Mails() []Mail {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.mails)
}

// Subjects are those of the mails.
func (b *Inbox) Subjects() (out []string) {
	for _, m := range b.Mails() {
		out = append(out, m.Subject)
	}
	return out
}

// NewSession implements [smtp.Backend].
func (b *Inbox) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{box: b}, nil }

type session struct {
	box *Inbox
	to  []string
}

func (s *session) Mail(string, *smtp.MailOptions) error { s.to = nil; return nil }
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.box.Never != "" && to == s.box.Never {
		return &smtp.SMTPError{Code: 550, Message: "no such user"}
	}
	s.to = append(s.to, to)
	return nil
}
func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

func (s *session) Data(r io.Reader) error {
	m, err := netmail.ReadMessage(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(m.Body)
	if err != nil {
		return err
	}
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.box.mails = append(s.box.mails, Mail{m.Header.Get("Message-ID"), m.Header.Get("Subject"), strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(string(text)), s.to})
	return nil
}
