package mail_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/federation/reports"
	"fsub/federation/reports/mail"
)

// server is a mail server that keeps what it is told. password is that of user fsub; "": it asks for none.
type server struct {
	net.Listener
	password string
	told     chan string // the text of each mail
}

func (s *server) serve() {
	for {
		c, err := s.Accept()
		if err != nil {
			return
		}
		go s.talk(c)
	}
}

func (s *server) talk(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	say := func(text string) { fmt.Fprintf(c, "%s\r\n", text) }
	say("220 mail.example.org ESMTP")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		switch word := strings.ToUpper(strings.Fields(line + " x")[0]); word {
		case "EHLO":
			if s.password != "" {
				say("250-mail.example.org\r\n250 AUTH PLAIN")
			} else {
				say("250 mail.example.org")
			}
		case "AUTH":
			text, _ := base64.StdEncoding.DecodeString(strings.Fields(line)[2])
			if string(text) != "\x00fsub\x00"+s.password {
				say("535 wrong password")
				continue
			}
			say("235 welcome")
		case "DATA":
			say("354 go on")
			var b strings.Builder
			for {
				line, err := in.ReadString('\n')
				if err != nil || line == ".\r\n" {
					break
				}
				b.WriteString(line)
			}
			s.told <- b.String()
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func listen(t *testing.T, config *tls.Config, password string) *server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	t.Cleanup(func() { l.Close() })
	s := &server{Listener: l, password: password, told: make(chan string, 1)}
	go s.serve()
	return s
}

var message = reports.Message{ID: "cost.ann.5@fed", To: []string{"ann@example.org", "bob@example.org"}, Subject: "Cost by user", Text: "USER  COST\n", File: "cost.csv", Content: []byte("user,cost\n")}

func TestSend(t *testing.T) {
	s := listen(t, nil, "")
	sender := mail.Sender{Server: s.Addr().String(), From: "fsub@example.org", TLS: mail.Plain}
	if err := sender.Send(t.Context(), &message); err != nil {
		t.Fatal(err)
	}
	text := <-s.told
	for _, want := range []string{"Message-ID: <cost.ann.5@fed>", "Subject: Cost by user", "<ann@example.org>", "<bob@example.org>", "USER  COST", `filename="cost.csv"`, base64.StdEncoding.EncodeToString(message.Content)} {
		if !strings.Contains(text, want) {
			t.Errorf("the mail lacks %q:\n%s", want, text)
		}
	}
	s.Close()
	if err := sender.Send(t.Context(), &message); err == nil || !strings.Contains(err.Error(), s.Addr().String()) {
		t.Errorf("nobody listens: %v", err)
	}
}

// A mail with HTML has the text as well, and the picture that the HTML shows stands in it, not among what is attached.
func TestSendHTML(t *testing.T) {
	s := listen(t, nil, "")
	sender := mail.Sender{Server: s.Addr().String(), From: "fsub@example.org", TLS: mail.Plain}
	m := message
	m.HTML, m.Name, m.Picture = `<h1>Cost</h1><img src="cid:chart.png">`, "chart.png", []byte("not really a picture")
	if err := sender.Send(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	text := <-s.told
	for _, want := range []string{"multipart/mixed", "multipart/related", "multipart/alternative", "text/plain", "text/html", "USER  COST", "Content-Id: <chart.png>", "Content-Disposition: inline", `filename="cost.csv"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the mail lacks %q:\n%s", want, text)
		}
	}
}

// A password goes over TLS only; a wrong one is an error that does not name it.
func TestLogin(t *testing.T) {
	certificate, roots := authority(t)
	s := listen(t, &tls.Config{Certificates: []tls.Certificate{certificate}}, "sesame")
	file := t.TempDir() + "/password"
	os.WriteFile(file, []byte("sesame\n"), 0o600)
	sender := mail.Sender{Server: s.Addr().String(), From: "fsub@example.org", User: "fsub", PasswordFile: file, TLS: mail.Implicit, Roots: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}}
	if err := sender.Send(t.Context(), &message); err != nil {
		t.Fatal(err)
	}
	<-s.told
	os.WriteFile(file, []byte("open\n"), 0o600)
	if err := sender.Send(t.Context(), &message); err == nil || strings.Contains(err.Error(), "open") {
		t.Errorf("wrong password: %v", err)
	}
	sender.Roots = nil
	if err := sender.Send(t.Context(), &message); err == nil {
		t.Error("a certificate that nobody knows is trusted")
	}
	plain := listen(t, nil, "sesame")
	sender.Server, sender.TLS = plain.Addr().String(), mail.STARTTLS
	if err := sender.Send(t.Context(), &message); err == nil {
		t.Error("a server without TLS gets the password")
	}
}

func authority(t *testing.T) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, _ := x509.ParseCertificate(raw)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, roots
}
