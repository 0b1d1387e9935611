package slurm

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/health"
	"fsub/slurm/wire"
)

// checks are the results of a walk over all that is needed of a site. What depends on something that failed is skipped.
type checks struct {
	d    *Driver
	list []driver.SiteCheck
	stop string // what failed: the rest cannot be tried
}

func (k *checks) add(name string, r driver.CheckResult, advice, format string, args ...any) {
	k.list = append(k.list, driver.SiteCheck{Name: name, Result: r, Detail: fmt.Sprintf(format, args...), Advice: advice})
}

// fails adds a failure, after which the rest cannot be tried.
func (k *checks) fails(name, advice string, err error) {
	k.add(name, driver.CheckFailed, advice, "%v", err)
	k.stop = name
}

// Check implements [driver.Checker]. Nothing is changed at the site: what it is asked to do it must refuse.
func (d *Driver) Check(ctx context.Context) []driver.SiteCheck {
	k := &checks{d: d}
	for _, c := range []struct {
		name string
		try  func(context.Context)
	}{
		{"address", k.address}, {"TLS", k.tls}, {"token", k.token}, {"version", k.version}, {"clock", k.clock}, {"job IDs", k.jobIDs},
		{"node updates", k.nodeUpdates}, {"slurmdbd", k.slurmdbd},
	} {
		if k.stop != "" {
			k.add(c.name, driver.CheckSkipped, "", "%s failed", k.stop)
			continue
		}
		c.try(ctx)
	}
	return k.list
}

func (k *checks) address(ctx context.Context) {
	network, addr := "tcp", ""
	if path, ok := strings.CutPrefix(k.d.cfg.URL, "unix:"); ok {
		network, addr = "unix", path
	} else if u, err := url.Parse(k.d.cfg.URL); err == nil {
		if addr = u.Host; u.Port() == "" {
			addr = net.JoinHostPort(u.Hostname(), map[string]string{"https": "443"}[u.Scheme])
			if u.Scheme != "https" {
				addr = net.JoinHostPort(u.Hostname(), "80")
			}
		}
	}
	if k.d.cfg.Transport != nil {
		k.add("address", driver.CheckSkipped, "", "%s is reached in another way", k.d.cfg.URL)
		return
	}
	began := time.Now()
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, addr)
	if err != nil {
		k.fails("address", "does slurmrestd run there, and may this machine reach it? systemctl status slurmrestd; the port is that of url", err)
		return
	}
	conn.Close()
	k.add("address", driver.CheckOK, "", "%s is reached in %v", addr, time.Since(began).Round(10*time.Microsecond))
}

func (k *checks) tls(ctx context.Context) {
	u, err := url.Parse(k.d.cfg.URL)
	if err != nil || u.Scheme != "https" {
		host := ""
		if u != nil {
			host = u.Hostname()
		}
		ip := net.ParseIP(host)
		if strings.HasPrefix(k.d.cfg.URL, "unix:") || host == "localhost" || ip != nil && ip.IsLoopback() {
			k.add("TLS", driver.CheckOK, "", "not needed: nothing leaves this machine")
		} else {
			k.add("TLS", driver.CheckWarning, "use https:// (a proxy before slurmrestd), or a network that nobody else reads", "the token travels in the clear")
		}
		return
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "443")
	}
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}}).DialContext(ctx, "tcp", host)
	if err != nil {
		k.fails("TLS", "the certificate must be valid, for this name, and of an authority that this machine trusts", err)
		return
	}
	defer conn.Close()
	until := conn.(*tls.Conn).ConnectionState().PeerCertificates[0].NotAfter
	if left := time.Until(until); left < 14*24*time.Hour {
		k.add("TLS", driver.CheckWarning, "renew the certificate", "the certificate ends at %s", until.UTC().Format(time.RFC3339))
		return
	}
	k.add("TLS", driver.CheckOK, "", "the certificate is good until %s", until.UTC().Format(time.DateOnly))
}

func (k *checks) token(ctx context.Context) {
	src := k.d.c.tokens
	_, token, err := src.get(k.d.c.now())
	if err != nil {
		k.fails("token", "", err)
		return
	}
	until, known := expiry(token)
	left := until.Sub(k.d.c.now())
	renew := "run: scontrol token username=... lifespan=... > the file; or set key_file, from which tokens are made"
	if known && left <= 0 {
		k.fails("token", renew, fmt.Errorf("the %s expired at %s", src.describe(), until.UTC().Format(time.RFC3339)))
		return
	}
	if err := k.d.Ping(ctx); err != nil {
		switch {
		case errors.Is(err, federation.ErrDenied):
			k.fails("token", "is it the key of this cluster (AuthAltParameters=jwt_key), of a user whom slurmctld knows, and are the clocks equal?", err)
		default:
			k.fails("token", "does slurmctld run? scontrol ping", err)
		}
		return
	}
	if known && src.file != "" && left < 24*time.Hour {
		k.add("token", driver.CheckWarning, renew, "taken; the %s expires in %v", src.describe(), left.Round(time.Minute))
		return
	}
	k.add("token", driver.CheckOK, "", "taken: %s", src.describe())
}

// expiry is when a token expires, if it says so.
func expiry(token string) (at time.Time, known bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return at, false
	}
	var claims struct {
		Exp int64 `json:"exp"`
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(raw, &claims) != nil || claims.Exp == 0 {
		return at, false
	}
	return time.Unix(claims.Exp, 0), true
}

func (k *checks) version(ctx context.Context) {
	tr, err := k.d.c.negotiated(ctx)
	if err != nil {
		k.fails("version", "slurmrestd of 22.05, or of 24.11 and newer, is needed", err)
		return
	}
	release, _ := k.d.c.release.Load().(string)
	if tr.old {
		k.add("version", driver.CheckWarning, "24.11 or newer can have pinned IDs, heterogeneous jobs and node updates", "Slurm %s, API %s", release, tr.version)
		return
	}
	k.add("version", driver.CheckOK, "", "Slurm %s, API %s", release, tr.version)
}

// maxSkew is how far the clocks may be apart before tokens and times of jobs suffer.
const maxSkew = 30 * time.Second

func (k *checks) clock(ctx context.Context) {
	before := k.d.c.now()
	diag, err := k.d.diag(ctx)
	at := unix(diag.ReqTime.Value())
	switch {
	case err != nil:
		k.add("clock", driver.CheckFailed, "does slurmctld run? scontrol ping", "%v", err)
	case at.IsZero():
		k.add("clock", driver.CheckSkipped, "", "this version does not tell the time")
	default:
		skew := at.Sub(before.Truncate(time.Second))
		if skew.Abs() > maxSkew {
			k.add("clock", driver.CheckFailed, "set both clocks by NTP", "slurmctld's clock is %v off ours", skew)
			return
		}
		k.add("clock", driver.CheckOK, "", "slurmctld's clock is within %v of ours", max(skew.Abs(), time.Second))
	}
}

func (k *checks) jobIDs(ctx context.Context) {
	st, err := k.d.rights.probe(ctx)
	switch {
	case err != nil:
		k.add("job IDs", driver.CheckFailed, "use a token of SlurmUser, or mode: mapped", "%v", err)
	case st.each:
		k.add("job IDs", driver.CheckOK, "", "mapped: the site numbers the jobs; each is submitted by its user's own token, and %s reads for all", k.d.cfg.User)
	case st.onlyUser != "":
		k.add("job IDs", driver.CheckWarning, "use SlurmUser's token or key for jobs of all", "the token acts for %s only: mapped", st.onlyUser)
	case st.mapped:
		k.add("job IDs", driver.CheckOK, "", "mapped: the site numbers the jobs; they run as their own users")
	default:
		k.add("job IDs", driver.CheckOK, "", "pinned: jobs run as their own users under the federation's numbers")
	}
}

// nodeUpdates has the site refuse an update of a node that cannot exist: by what it says first, rights or name, it shows whether it would take one.
func (k *checks) nodeUpdates(ctx context.Context) {
	const name = "fsub-no-such-node"
	tr, err := k.d.c.negotiated(ctx)
	if err == nil && tr.old && len(k.d.cfg.NodeCommand) == 0 {
		k.add("node updates", driver.CheckWarning, "set node_command in the site's configuration", "API %s has no word for them: fed node drain does nothing at the site", tr.version)
		return
	}
	if err == nil {
		err = k.d.nodes.updateNodesAtOnce(ctx, []string{name}, health.Undrain, "")
	}
	switch {
	case errors.Is(err, federation.ErrNotFound) || err == nil:
		k.add("node updates", driver.CheckOK, "", "allowed")
	case errors.Is(err, federation.ErrDenied):
		k.add("node updates", driver.CheckWarning, "use a token of SlurmUser, root or an operator (sacctmgr modify user ... set adminlevel=operator)", "refused: fed node drain does nothing at the site: %v", err)
	default:
		k.add("node updates", driver.CheckWarning, "", "not known: %v", err)
	}
}

func (k *checks) slurmdbd(ctx context.Context) {
	if k.d.cfg.NoAssociations {
		k.add("slurmdbd", driver.CheckSkipped, "", "no_associations is set")
		return
	}
	var a wire.WCKeysResponse
	err := k.d.c.do(ctx, request{op: "tres", method: http.MethodGet, db: true, path: wire.PathDBTRES}, &a)
	switch {
	case errors.Is(err, errNoEndpoint):
		k.add("slurmdbd", driver.CheckWarning, "start slurmrestd with -s slurmctld,slurmdbd", "slurmrestd does not serve it: the fate of lost jobs and their usage stay unknown")
	case err == nil && len(a.Errors) > 0:
		err = slurmError(federation.ErrUnavailable, a.Errors[0], "")
		fallthrough
	case err != nil:
		k.add("slurmdbd", driver.CheckFailed, "does slurmdbd run, and its database? sacctmgr ping", "%v", err)
	default:
		k.add("slurmdbd", driver.CheckOK, "", "answers")
	}
}
