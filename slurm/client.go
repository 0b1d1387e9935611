package slurm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-resty/resty/v2"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/slurm/wire"
)

// maxAnswer bounds the memory that one answer may take: 30,000 jobs with all their details.
const maxAnswer = 256 << 20

// client makes the calls. It knows nothing of jobs.
type client struct {
	cfg    Config
	http   *resty.Client
	tokens *tokens
	users  *userTokens // nil: one token is for all
	leased leased
	budget *budget
	api    atomic.Pointer[translation] // nil until negotiated
	// release is that of the slurmrestd that answered last: "22.05.8".
	release atomic.Value
	now     func() time.Time
	// noAccounting: the last call to slurmdbd had no answer.
	noAccounting atomic.Bool
}

// request is one call. Op names it in metrics and errors.
type request struct {
	op     string
	method string
	db     bool   // a slurmdbd operation
	path   string // below the version
	query  url.Values
	body   any
	raw    bool    // body holds guarded bytes
	as     string  // user to name as the caller, if not the token's
	with   *tokens // what the call was made with, once it was
	// reduce leaves out of a response what is known already; nil: nothing is.
	reduce func(body []byte) []byte
	// most bounds the answer in bytes; 0: maxAnswer. A call with such a bound is not tried a second time: it is heavy for slurmrestd.
	most int
}

// answer is any response shape of package wire.
type answer interface{ Head() *wire.Reply }

func newClient(cfg Config) (*client, error) {
	c := &client{
		cfg:    cfg,
		tokens: &tokens{user: cfg.User, key: cfg.KeyFile, file: cfg.TokenFile, command: expand(cfg.TokenCommand, cfg.User)},
		budget: newBudget(cfg.RPS, cfg.Burst),
		now:    time.Now,
	}
	if EachUser(cfg.TokenCommand) {
		c.users = &userTokens{command: cfg.TokenCommand, by: map[string]*tokens{}}
	}
	if c.tokens.user == "" && cfg.KeyFile != "" {
		c.tokens.user = "slurm"
	}
	if _, _, err := c.tokens.get(c.now()); err != nil && len(cfg.TokenCommand) == 0 { // what a command needs may come up later
		return nil, fmt.Errorf("site %s: %w", cfg.Name, err)
	}
	base, transport, err := endpoint(cfg)
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", cfg.Name, err)
	}
	c.http = resty.New().SetTransport(wholeBody{transport}).SetBaseURL(base).SetDoNotParseResponse(true).
		SetRedirectPolicy(resty.NoRedirectPolicy()). // the token would go with it
		SetLogger(silent{}).SetRetryCount(2).SetRetryWaitTime(100 * time.Millisecond).SetRetryMaxWaitTime(time.Second).
		AddRetryCondition(mayRetry)
	return c, nil
}

// endpoint gives the base URL and the transport for it.
func endpoint(cfg Config) (string, http.RoundTripper, error) {
	path, isSocket := strings.CutPrefix(cfg.URL, "unix:")
	base := cfg.URL
	if isSocket {
		base = "http://localhost" // the Host header; the socket is what is dialled
	}
	if cfg.Transport != nil {
		return base, cfg.Transport, nil
	}
	secure, err := cfg.tlsConfig()
	if err != nil {
		return "", nil, err
	}
	dialer := &net.Dialer{Timeout: min(5*time.Second, cfg.Timeout)}
	dial := dialFunc(func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dialTCP(ctx, dialer, network, addr)
	})
	if isSocket {
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) }
	}
	return base, &http.Transport{DialContext: dial.until(cfg.Lease), TLSClientConfig: secure, TLSHandshakeTimeout: dialer.Timeout,
		MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: false}, nil
}

// dialTCP makes connections that take what was not delivered yet with them when they are closed. Otherwise a submission that we
// gave up on a cut link would be delivered by the kernel when the link heals, minutes later.
func dialTCP(ctx context.Context, dialer *net.Dialer, network, addr string) (net.Conn, error) {
	conn, err := dialer.DialContext(ctx, network, addr)
	if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
		err = tcp.SetLinger(0)
	}
	return conn, err
}

// changePatience is how many times Config.Timeout a call that changes something may take. slurmrestd must give up before us: what it
// still tries after we have gone, it may carry out (26.05 tries for 20 s to reach a slurmctld that is down).
const changePatience = 3

// mayRetry allows a second try of reads whose connection failed at once. Nothing else: a submission whose reply was
// lost may have been acted on, and a site that hangs should not be waited for three times.
func mayRetry(r *resty.Response, err error) bool {
	var timeout net.Error
	return err != nil && r != nil && r.Request.Method == http.MethodGet && r.Request.Context().Value(mostKey{}) == nil &&
		!errors.Is(err, driver.ErrTooLong) && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, context.DeadlineExceeded) && (!errors.As(err, &timeout) || !timeout.Timeout())
}

// do makes a call in the negotiated version and reads the response. It returns an error if there
// was no response, or one that proves nothing, or the credentials were refused. Refusals of the
// operation itself are in into.Head().Errors.
func (c *client) do(ctx context.Context, r request, into answer) error {
	tr, err := c.negotiated(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", r.op, err)
	}
	prefix := wire.Slurm
	if r.db {
		prefix = wire.SlurmDB
	}
	if r.with, err = c.tokensFor(ctx); err != nil {
		return fmt.Errorf("site %s: %s: %w", c.cfg.Name, r.op, err)
	}
	status, text, err := c.send(ctx, r, prefix(tr.version, r.path))
	if err == nil {
		news := text
		if status == http.StatusOK && r.reduce != nil {
			news = r.reduce(text)
		}
		err = c.judge(r, tr, status, news, into)
		done(text)
	}
	if r.db {
		c.noAccounting.Store(errors.Is(err, federation.ErrUnavailable) && !errors.Is(err, errNoEndpoint))
	}
	if errors.Is(err, errUnspecified) && !r.db {
		err = c.whyUnspecified(ctx, r, err)
	}
	if errors.Is(err, errNoEndpoint) && !r.db {
		c.api.Store(nil) // slurmrestd was exchanged for another version: ask again next time
	}
	if err != nil {
		return fmt.Errorf("site %s: %s: %w", c.cfg.Name, r.op, err)
	}
	return nil
}

// send makes one HTTP exchange within the RPC budget.
func (c *client) send(ctx context.Context, r request, path string) (status int, text []byte, err error) {
	if err := c.budget.wait(ctx); err != nil {
		return 0, nil, err
	}
	user, token, err := cmp.Or(r.with, c.tokens).get(c.now())
	if err == nil && c.leases(&r) {
		token, err = c.leasedToken(ctx, user, token)
	}
	if err != nil {
		return 0, nil, err
	}
	timeout := c.cfg.Timeout
	if r.method != http.MethodGet {
		timeout *= changePatience
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if r.most > 0 {
		ctx = context.WithValue(ctx, mostKey{}, r.most)
	}
	req := c.http.R().SetContext(ctx).SetQueryParamsFromValues(r.query).SetHeader("Accept", "application/json")
	if r.as != "" {
		user = r.as
	}
	if token != "" {
		req.SetHeader(wire.HeaderUser, user).SetHeader(wire.HeaderToken, token)
	}
	if r.body != nil {
		raw, err := json.Marshal(r.body)
		if err != nil {
			return 0, nil, fmt.Errorf("%w: %v", federation.ErrInvalid, err)
		}
		if r.raw {
			raw = unguard(raw)
		}
		req.SetHeader("Content-Type", "application/json").SetBody(raw)
	}
	resp, err := req.Execute(r.method, path)
	if errors.Is(err, driver.ErrTooLong) {
		return 0, nil, fmt.Errorf("%w: %w", federation.ErrUnavailable, err)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %v", federation.ErrUnavailable, err)
	}
	if b, ok := resp.RawBody().(*body); ok {
		return resp.StatusCode(), b.text, nil
	}
	text, err = readBody(resp.RawBody(), longest(ctx))
	return resp.StatusCode(), text, err
}

// judge says what a response means. The HTTP status alone says little: 24.11 sends 500 for every
// refusal, and 200 for a refused DELETE.
func (c *client) judge(r request, tr *translation, status int, body []byte, into answer) (err error) {
	if c.leases(&r) {
		defer func() { err = c.refusedLeased(err) }()
	}
	if status == http.StatusUnauthorized {
		return c.refusedToken(&r, "Authentication failure")
	}
	if status == http.StatusNotModified {
		return errNotModified
	}
	if err := tr.decode(body, into); err != nil {
		if status == http.StatusNotFound {
			return errNoEndpoint
		}
		if status == http.StatusNetworkAuthenticationRequired {
			return c.refusedToken(&r, wire.Strerror(wire.ErrAuth))
		}
		return fmt.Errorf("%w: HTTP status %d and a response that is not slurmrestd's: %.80q", federation.ErrUnavailable, status, body)
	}
	head := into.Head()
	if head.Meta.Slurm.Release != "" {
		c.release.Store(head.Meta.Slurm.Release)
	}
	for _, e := range head.Errors {
		switch {
		case e.Number == wire.ErrAuth && r.op == "update" && r.as != "": // it may be the name that is not known there
			return fmt.Errorf("%w: slurmctld does not let us act for %s: %s", federation.ErrInvalid, r.as, e.Text)
		case e.Number == wire.ErrAuth:
			return c.refusedToken(&r, e.Text)
		case e.Number == errNoSuchURL:
			return errNoEndpoint
		case e.Number == unspecified38 && r.method == http.MethodGet:
			return fmt.Errorf("%w: %s: %s", errUnspecified, e.Text, e.Description)
		case unavailable(e.Number):
			return slurmError(federation.ErrUnavailable, e, "")
		}
	}
	switch {
	case status == http.StatusNetworkAuthenticationRequired: // /partitions/ has no errors[] then
		return c.refusedToken(&r, wire.Strerror(wire.ErrAuth))
	case status/100 == 2 && head.Meta.Plugin.DataParser == "" && head.Meta.Slurm.Release == "":
		return fmt.Errorf("%w: HTTP status %d and a response that is not slurmrestd's: %.80q", federation.ErrUnavailable, status, body)
	case status >= 500 && len(head.Errors) == 0:
		return fmt.Errorf("%w: HTTP status %d without a reason", federation.ErrUnavailable, status)
	}
	return nil
}

// refusedToken is the error for credentials that the site does not take. Of a user's old token it is no last word.
func (c *client) refusedToken(r *request, text string) error {
	with, kind := cmp.Or(r.with, c.tokens), federation.ErrDenied
	if with.refused(c.now()) && with.only {
		kind = federation.ErrUnavailable
	}
	return &federation.SlurmError{Kind: kind, Number: wire.ErrAuth, Text: text, Detail: fmt.Sprintf(
		"the site refuses the %s: it must fit the cluster's jwt_key, name a user whom the controller knows, and not be expired (are the clocks equal?)", with.describe())}
}

// errUnspecified: a slurmrestd of v0.0.38 has no answer from slurmctld.
var errUnspecified = fmt.Errorf("%w: slurmctld does not answer, or refuses the token", federation.ErrUnavailable)

// whyUnspecified finds out which of the two it is from slurmdbd, which takes the same tokens and says what it has against one.
func (c *client) whyUnspecified(ctx context.Context, r request, err error) error {
	tr := c.api.Load()
	if tr == nil { // still to be negotiated
		tr = versions[len(versions)-1]
	}
	q := request{op: "tres", method: http.MethodGet, db: true, path: wire.PathDBTRES, as: r.as, with: r.with}
	status, body, dbErr := c.send(ctx, q, wire.SlurmDB(tr.version, q.path))
	if dbErr == nil {
		dbErr = c.judge(q, tr, status, body, new(wire.WCKeysResponse))
	}
	if errors.Is(dbErr, federation.ErrDenied) {
		return dbErr
	}
	return err
}

// errNotModified: nothing has changed since the time that was named in the request.
var errNotModified = errors.New("not modified")

// silent keeps resty from writing to stderr; what failed is returned.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}
