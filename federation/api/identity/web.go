package identity

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// FromWeb is [Caller.From] of a browser that has signed in.
const FromWeb = "web"

type webKey struct{}

// browser is who has signed in at a browser.
type browser struct {
	uid    uint32
	raised bool
}

// ByBrowser is ctx for the requests of a page: uid has signed in at the browser that asks for it. Such a caller is a user and no more, as one with a token is, but sees
// what coordinators may see, and acts on jobs as they may. Raised, he is what he is on the socket, though no administrator.
func ByBrowser(ctx context.Context, uid uint32, raised bool) context.Context {
	return context.WithValue(ctx, webKey{}, browser{uid, raised})
}

// Browser is who has signed in at the browser for which ctx is, if it is for one.
func Browser(ctx context.Context) (uid uint32, ok bool) {
	b, ok := ctx.Value(webKey{}).(browser)
	return b.uid, ok
}

// The value of [HeaderCaller] for a browser: "web:UID", or "web:UID:raised".
const (
	webPrefix    = FromWeb + ":"
	raisedSuffix = ":raised"
)

func (b browser) String() string {
	text := webPrefix + strconv.FormatUint(uint64(b.uid), 10)
	if b.raised {
		text += raisedSuffix
	}
	return text
}

func readBrowser(caller string) (browser, error) {
	uid, raised := strings.CutSuffix(strings.TrimPrefix(caller, webPrefix), raisedSuffix)
	n, err := strconv.ParseUint(uid, 10, 32)
	if err != nil {
		return browser{}, fmt.Errorf("%s %q: want web:UID or web:UID:raised", HeaderCaller, caller)
	}
	return browser{uint32(n), raised}, nil
}

// operations is the one route by which a page acts on jobs.
const operations = "/fed/v1/operations"

// browser is who sent a request through a page.
func (i *Identity) browser(b browser, r *http.Request) (Caller, error) {
	name, err := i.Users.UserName(b.uid)
	if err != nil {
		return Caller{}, noCaller(fmt.Sprintf("uid %d is not a user of this machine", b.uid))
	}
	uid, gid, err := i.Users.UserIDs(name)
	if err != nil || uid != b.uid {
		return Caller{}, noCaller(fmt.Sprintf("%s is not a user of this machine", name))
	}
	c := Caller{Name: name, UID: uid, GID: gid, From: FromWeb}
	if b.raised || r.Method == http.MethodGet || r.URL.Path == operations {
		c.coords = i.coords
	}
	if b.raised {
		c.Role = min(i.roles.of(c), RoleOperator)
	}
	return c, nil
}
