package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
)

// Web is the listener for browsers: see docs/web.md.
type Web struct {
	// HOST:PORT to listen on. Not set: there is no page. Without a certificate, an address of this machine alone: 127.0.0.1:8443.
	Listen string `yaml:"listen,omitempty"`
	// Where browsers find it: https://HOST, or https://HOST:PORT. Not set: that of listen. With https and no certificate, a proxy before it speaks TLS.
	Address string `yaml:"address,omitempty"`
	// PEM file with a certificate that browsers trust.
	Cert string `yaml:"cert_file,omitempty"`
	// PEM file with its key.
	Key string `yaml:"key_file,omitempty"`
	// Users may also sign in by the provider of oidc, which the page calls by this name: University account. Not set: by tickets alone.
	SignInWith string `yaml:"sign_in_with,omitempty"`
	// A proxy on this machine that identifies users itself. Not set: no header of any proxy is read.
	Proxy WebProxy `yaml:"proxy,omitempty"`
}

// WebProxy is a proxy that says in a header who asks for the page, on a socket that only the proxy's user may open.
type WebProxy struct {
	// Unix socket that the daemon makes for it.
	Socket string `yaml:"socket,omitempty"`
	// User whom the proxy runs as: www-data.
	User string `yaml:"user,omitempty"`
	// Header with the name of the user who asks. Remote-User if not set.
	Header string `yaml:"header,omitempty"`
}

// Named is the name of the header.
func (p *WebProxy) Named() string { return cmp.Or(p.Header, "Remote-User") }

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

func (p *WebProxy) check() error {
	switch {
	case *p == (WebProxy{}):
		return nil
	case p.Socket == "":
		return errors.New("web: proxy: socket is missing: the path of a unix socket")
	case p.User == "":
		return errors.New("web: proxy: user is missing: whom the proxy runs as")
	case !headerName.MatchString(p.Named()):
		return fmt.Errorf("web: proxy: invalid header %q: want letters, digits and dashes, as Remote-User", p.Header)
	}
	return nil
}

func (w *Web) check(o *OIDC) error {
	if err := w.Proxy.check(); err != nil {
		return err
	}
	if w.Listen == "" {
		if *w != (Web{Proxy: w.Proxy}) {
			return errors.New("web: listen is missing: HOST:PORT")
		}
		return nil
	}
	host, err := hostPort(w.Listen)
	if err != nil {
		return fmt.Errorf("web: invalid listen %q: want HOST:PORT", w.Listen)
	}
	if (w.Cert == "") != (w.Key == "") {
		return errors.New("web: cert_file and key_file go together")
	}
	if w.Cert == "" && !loopback(host) {
		return fmt.Errorf("web: listen %q is open to other machines, and sessions would go in clear text: set cert_file and key_file, or listen on 127.0.0.1", w.Listen)
	}
	if w.SignInWith != "" && o.Issuer == "" {
		return fmt.Errorf("web: sign_in_with %q: there is no provider: set oidc", w.SignInWith)
	}
	if w.Address == "" {
		return nil
	}
	u, err := url.Parse(w.Address)
	if err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return fmt.Errorf("web: invalid address %q: want https://HOST or https://HOST:PORT", w.Address)
	}
	return nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// Secure reports whether browsers reach it by TLS.
func (w *Web) Secure() bool {
	u, err := url.Parse(w.Address)
	return w.Cert != "" || err == nil && u.Scheme == "https"
}

// At is where browsers find it; "": nowhere.
func (w *Web) At() string {
	if w.Listen == "" {
		return ""
	}
	scheme := "http://"
	if w.Secure() {
		scheme = "https://"
	}
	return cmp.Or(w.Address, scheme+w.Listen)
}

// hostPort splits HOST:PORT. The port is a number or the name of a service.
func hostPort(addr string) (host string, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	return host, err
}
