package hosted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"fsub/cloud/provider"
	"fsub/federation"
)

// Client is the provider.Provider of a site whose machines are another daemon's. While that one does not answer, each call fails with [provider.ErrAway].
type Client struct {
	Site   federation.SiteName
	Daemon string // name of the one that has the machines
	// Address is where it answers, HOST:PORT; "": it is not known.
	Address func() string
	Epoch   int64        // of the lease under which this daemon leads
	HTTP    *http.Client // makes connections that the handler's side takes
}

var _ provider.Provider = (*Client)(nil)

// Note is what operators are told of the machines.
func (c *Client) Note() string { return "nodes on the machine of daemon " + c.Daemon }

// Offerings implements provider.Provider.
func (c *Client) Offerings(ctx context.Context) (all []provider.Offering, err error) {
	return all, c.ask(ctx, callOfferings, nil, &all)
}

// Create implements provider.Provider.
func (c *Client) Create(ctx context.Context, r provider.Request) (made []provider.Instance, err error) {
	return made, c.ask(ctx, callCreate, r, &made)
}

// Withdraw implements provider.Provider.
func (c *Client) Withdraw(ctx context.Context, token string) error {
	return c.ask(ctx, callWithdraw, token, nil)
}

// List implements provider.Provider.
func (c *Client) List(ctx context.Context) (all []provider.Instance, err error) {
	return all, c.ask(ctx, callList, nil, &all)
}

// Delete implements provider.Provider.
func (c *Client) Delete(ctx context.Context, ids []provider.InstanceID) error {
	return c.ask(ctx, callDelete, ids, nil)
}

// ask makes a call. result nil: the answer says no more than that it is done.
func (c *Client) ask(ctx context.Context, call string, body, result any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return provider.Invalid("%s: %v", call, err)
	}
	at := c.Address()
	if at == "" {
		return c.away(errors.New("no daemon of that name has ever shared the database, or not for a week"))
	}
	u := url.URL{Scheme: "https", Host: at, Path: Path + string(c.Site) + "/" + call}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(text))
	if err != nil {
		return c.away(err)
	}
	req.Header.Set(headerEpoch, strconv.FormatInt(c.Epoch, 10))
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return c.away(shortest(err))
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	switch {
	case err != nil:
		return c.away(err)
	case resp.StatusCode == http.StatusConflict:
		return c.refused(answer)
	case resp.StatusCode != http.StatusOK:
		return c.away(fmt.Errorf("it answers %s: it may lead itself by now, or be of another version", resp.Status))
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return c.away(fmt.Errorf("its answer cannot be read: %w", err))
	}
	return nil
}

// refused is the error that the other daemon has answered with.
func (c *Client) refused(answer []byte) error {
	var e refusal
	if err := json.Unmarshal(answer, &e); err != nil || e.Kind == "" {
		return c.away(fmt.Errorf("its answer cannot be read: %q", answer))
	}
	if e.Kind == provider.KindUnavailable && e.Scope == provider.ScopeCloud {
		return c.away(errors.New(e.Text))
	}
	return &provider.Error{Kind: e.Kind, Scope: e.Scope, Code: e.Code, Text: e.Text}
}

// away is the error of a call of which nothing is known.
func (c *Client) away(why error) error {
	return &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Err: provider.ErrAway,
		Text: fmt.Sprintf("daemon %s, on whose machine the nodes are, does not answer for them: %v", c.Daemon, why)}
}

// shortest is what is wrong with a connection, without the URL.
func shortest(err error) error {
	if at, ok := errors.AsType[*net.OpError](err); ok {
		return at
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}
