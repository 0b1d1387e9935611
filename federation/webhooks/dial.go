package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Allowed are the hosts and networks that events may be posted to.
type Allowed struct {
	hosts    []string
	networks []netip.Prefix
	resolver *net.Resolver // nil: the system's
}

// ReadAllowed reads what an operator allows: names of hosts, "*." and what names end with, addresses, and networks as ADDRESS/BITS.
func ReadAllowed(list []string) (*Allowed, error) {
	a := &Allowed{}
	for _, text := range list {
		if p, err := netip.ParsePrefix(text); err == nil {
			a.networks = append(a.networks, p.Masked())
		} else if ip, err := netip.ParseAddr(text); err == nil {
			ip = ip.Unmap()
			a.networks = append(a.networks, netip.PrefixFrom(ip, ip.BitLen()))
		} else if validHost(strings.TrimPrefix(text, "*.")) {
			a.hosts = append(a.hosts, strings.ToLower(text))
		} else {
			return nil, fmt.Errorf("invalid host %q: want a name, *.DOMAIN, an address or a network such as 10.1.0.0/16", text)
		}
	}
	return a, nil
}

func validHost(name string) bool {
	return name != "" && !strings.ContainsAny(name, "/:@*? ") && strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
}

// Any reports whether anything is allowed.
func (a *Allowed) Any() bool { return a != nil && len(a.hosts)+len(a.networks) > 0 }

// named reports whether a host is allowed by its name.
func (a *Allowed) named(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.ContainsFunc(a.hosts, func(h string) bool {
		suffix, wild := strings.CutPrefix(h, "*")
		return h == host || wild && strings.HasSuffix(host, suffix) && len(host) > len(suffix)
	})
}

// listed reports whether an address is in one of the networks.
func (a *Allowed) listed(ip netip.Addr) bool {
	return slices.ContainsFunc(a.networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// CheckURL says what is wrong with the address of an endpoint. What its host is when it is dialled is looked at again then.
func (a *Allowed) CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.Fragment != "" || len(text) > 2000 {
		return fmt.Errorf("invalid URL %.200q: want https://HOST[:PORT]/PATH", text)
	}
	host := u.Hostname()
	ip, isIP := netip.ParseAddr(host)
	switch {
	case u.Scheme == "http" && (isIP != nil || !ip.Unmap().IsLoopback()):
		return fmt.Errorf("invalid URL %.200q: http is for addresses of this machine alone: want https", text)
	case isIP == nil && !a.listed(ip.Unmap()) || isIP != nil && !a.named(host) && len(a.networks) == 0:
		return fmt.Errorf("webhooks to %s are not allowed: an operator must list it (webhooks: allow in the daemon's configuration)", host)
	case isIP != nil && !validHost(host):
		return fmt.Errorf("invalid host %q: want a name or an address", host)
	}
	return nil
}

// errForbidden is of an address that is not dialled.
var errForbidden = errors.New("the address is not allowed (webhooks: allow in the daemon's configuration)")

type namedKey struct{}

// transport connects to what is allowed, and to nothing else. What counts is the address that is dialled: a name may mean another one by now.
func (a *Allowed) transport() http.RoundTripper {
	d := &net.Dialer{Timeout: 10 * time.Second, Resolver: a.resolver, ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		named, _ := ctx.Value(namedKey{}).(bool)
		return a.mayDial(address, named)
	}}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return d.DialContext(context.WithValue(ctx, namedKey{}, a.named(host)), network, address)
		},
		MaxIdleConns: 1000, MaxIdleConnsPerHost: 50, IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: postTime,
		MaxResponseHeaderBytes: 16 << 10, DisableCompression: true, ForceAttemptHTTP2: true,
	}
}

// mayDial says whether an address is dialled. named: its host is allowed by its name, which is for addresses that may be anybody's: this machine, its link and what is nobody's have to be
// listed as networks.
func (a *Allowed) mayDial(address string, named bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errForbidden
	}
	ip := at.Addr().Unmap().WithZone("")
	if a.listed(ip) || named && ip.IsGlobalUnicast() {
		return nil
	}
	return errForbidden
}
