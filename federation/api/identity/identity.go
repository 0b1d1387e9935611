// Package identity tells who calls the daemon. On a unix socket that is the kernel's word; over TLS it is a token that the daemon has made: each way to say who calls is a file of its own.
// [Identity] is what the API asks; it also knows the names of this machine's users, and who of them is more than a user.
package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fsub/federation/api/identity/oidc"
)

// Identity tells who calls: by the kernel's word on a unix socket, by a token over TLS.
type Identity struct {
	Users  *Names
	roles  *roles
	coords Coordinators // may be nil
	tokens *Tokens
	log    *slog.Logger

	issuedTokens IssuedTokens
	munge        *Munge
	siteTokens   *SiteTokens
	provider     *oidc.Verifier
}

// Config is what an Identity is made of.
type Config struct {
	Users        Users
	Operators    []string       // user names, decimal uids, or groups: "%wheel"
	Self         uint32         // the daemon's own: an administrator, as root is
	Coordinators Coordinators   // nil: no account has any
	Tokens       *Tokens        // nil: nobody calls over TLS
	Issued       IssuedTokens   // nil: there are none
	Munge        *Munge         // nil: no site's munge key is here
	SiteTokens   *SiteTokens    // nil: no site's tokens are taken
	Provider     *oidc.Verifier // nil: no OpenID provider's are
	Logger       *slog.Logger
	Now          func() time.Time
}

// New returns an Identity.
func New(c Config) *Identity {
	names := newNames(c.Users, c.Now)
	return &Identity{Users: names, roles: newRoles(c.Operators, c.Self, names.inGroup), coords: c.Coordinators, tokens: c.Tokens, issuedTokens: c.Issued, munge: c.Munge, siteTokens: c.SiteTokens, provider: c.Provider, log: c.Logger}
}

// Caller is who stands at the other end of a connection, by the word of the kernel.
type Caller struct {
	Name string
	UID  uint32
	GID  uint32 // the effective group of the process
	Role Role
	From string // how the call came: socket, TLS (from inside a job), "token NAME", "munge SITE", "site SITE" (its token), "oidc" or web
	// Scope limits what the caller may do; "": nothing beyond Role and Claim does. Expires is when the caller's token does; zero: there is none.
	Scope   Scope
	Expires time.Time
	// Claim is the job that the caller's token was made for; nil: it is no job's. Who answers sets Reach, which says what of its user's jobs it may
	// act on: itself, and those that were submitted from inside it. nil: whatever its user may.
	Claim *JobClaim
	Reach func(job uint32) bool

	coords Coordinators // nil: the caller coordinates nothing
}

// Role is a caller's admin level, in Slurm's words.
type Role int

const (
	RoleNone Role = iota
	RoleOperator
	RoleAdministrator
)

func (r Role) String() string {
	switch r {
	case RoleOperator:
		return "Operator"
	case RoleAdministrator:
		return "Administrator"
	}
	return "None"
}

// Owns reports whether c may act on what belongs to uid.
func (c Caller) Owns(uid uint32) bool { return c.UID == uid || c.Role >= RoleOperator }

// Reaches reports whether c, if it calls from inside a job with that job's token, may act on a job, of which whole is the array or heterogeneous job
// that it is a part of, 0 for none.
func (c Caller) Reaches(job, whole uint32) bool {
	return c.Reach == nil || c.Reach(job) || whole != 0 && c.Reach(whole)
}

// Coordinators knows who coordinates which account of the federation's tree.
type Coordinators interface {
	// Coordinates reports whether a user is a coordinator of an account or of one above it.
	Coordinates(user, account string) bool
	// CoordinatesAny reports whether a user is a coordinator of any account.
	CoordinatesAny(user string) bool
}

// CoordinatesAny reports whether c is a coordinator of any account. Whoever comes with a token is none.
func (c Caller) CoordinatesAny() bool { return c.coords != nil && c.coords.CoordinatesAny(c.Name) }

// Coordinates reports whether c is a coordinator of an account, or of one above it. Whoever comes with a token is none.
func (c Caller) Coordinates(account string) bool {
	return c.coords != nil && account != "" && c.coords.Coordinates(c.Name, account)
}

// MayActFor reports whether c may act on the jobs of uid that were submitted under an account of the tree ([federation.Job.TreeAccount]): they are
// the caller's own, or the caller coordinates the account or is an operator.
func (c Caller) MayActFor(uid uint32, treeAccount string) bool {
	return c.Owns(uid) || c.Coordinates(treeAccount)
}

// Users finds users of this machine.
type Users interface {
	// UserName is the name of uid. An error means that there is no such user.
	UserName(uid uint32) (string, error)
	// UserIDs are the uid and primary gid of a name or decimal uid.
	UserIDs(name string) (uid, gid uint32, err error)
	// GroupName is the name of gid.
	GroupName(gid uint32) (string, error)
}

// Grouper is what Users may also be: it tells the names of all groups of a user. Without it no user is in any.
type Grouper interface {
	Groups(user string) ([]string, error)
}

// SystemUsers is the system's own user database.
type SystemUsers struct{}

// Groups implements Grouper.
func (SystemUsers) Groups(name string) (names []string, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	ids, err := u.GroupIds()
	for _, id := range ids {
		if g, err := user.LookupGroupId(id); err == nil {
			names = append(names, g.Name)
		}
	}
	return names, err
}

// UserName implements Users.
func (SystemUsers) UserName(uid uint32) (string, error) {
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

// UserIDs implements Users.
func (SystemUsers) UserIDs(name string) (uint32, uint32, error) {
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return 0, 0, err
		}
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return uint32(uid), uint32(gid), errors.Join(err1, err2)
}

// GroupName implements Users.
func (SystemUsers) GroupName(gid uint32) (string, error) {
	g, err := user.LookupGroupId(strconv.FormatUint(uint64(gid), 10))
	if err != nil {
		return "", err
	}
	return g.Name, nil
}

type peerKey struct{}

// peer is what the kernel said of a connection, or why it could not.
type peer struct {
	cred  *unix.Ucred
	err   error
	names bool // another daemon's: each request says who calls
}

// HeaderCaller names the caller of a request that another daemon passes on: UID:GID, or web:UID of a browser. It counts on such connections only.
const HeaderCaller = "X-Fsub-Caller"

// ConnContext asks the kernel who is at the other end of c and keeps it for the requests of that connection. It is
// for http.Server.ConnContext.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if _, names := c.(interface{ NamesCaller() }); names {
		return context.WithValue(ctx, peerKey{}, peer{names: true})
	}
	cred, err := peerCred(c)
	return context.WithValue(ctx, peerKey{}, peer{cred: cred, err: err})
}

// HeaderPage is where browsers find the page of the daemon that passes a request on. It counts on such connections only.
const HeaderPage = "X-Fsub-Page"

// CallerOf is the value of [HeaderCaller] for the sender of the request that ctx belongs to, if the kernel or a session of a browser has said who that is.
func CallerOf(ctx context.Context) (caller string, known bool) {
	if b, ok := ctx.Value(webKey{}).(browser); ok {
		return b.String(), true
	}
	p, ok := ctx.Value(peerKey{}).(peer)
	if !ok || p.cred == nil {
		return "", false
	}
	return fmt.Sprintf("%d:%d", p.cred.Uid, p.cred.Gid), true
}

// LocalUID is the uid of who sent the request that ctx belongs to, if it came over a unix socket, from no browser, and the kernel has said who that is.
func LocalUID(ctx context.Context) (uid uint32, known bool) {
	if _, web := ctx.Value(webKey{}).(browser); web {
		return 0, false
	}
	p, ok := ctx.Value(peerKey{}).(peer)
	if !ok || p.cred == nil {
		return 0, false
	}
	return p.cred.Uid, true
}

// ByDaemon reports whether the request that ctx belongs to has come from another daemon that shares the store.
func ByDaemon(ctx context.Context) bool {
	p, ok := ctx.Value(peerKey{}).(peer)
	return ok && p.names
}

// passedOn is who sent a request that another daemon passes on.
func passedOn(caller string) (*unix.Ucred, error) {
	uid, gid, _ := strings.Cut(caller, ":")
	u, err1 := strconv.ParseUint(uid, 10, 32)
	g, err2 := strconv.ParseUint(gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("%s %q: want UID:GID", HeaderCaller, caller)
	}
	return &unix.Ucred{Uid: uint32(u), Gid: uint32(g)}, nil
}

func peerCred(c net.Conn) (*unix.Ucred, error) {
	if counted, ok := c.(*userConn); ok {
		return counted.cred, nil
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("%s connection: only a unix socket tells who calls", c.RemoteAddr().Network())
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	return cred, errors.Join(err, credErr)
}

// peer is who sent a request on a connection.
func (i *Identity) peer(p peer) (Caller, error) {
	if p.err != nil {
		return Caller{}, noCaller(p.err.Error())
	}
	name, err := i.Users.UserName(p.cred.Uid)
	if err != nil {
		return Caller{}, noCaller(fmt.Sprintf("uid %d is not a user of this machine", p.cred.Uid))
	}
	c := Caller{Name: name, UID: p.cred.Uid, GID: p.cred.Gid, From: "socket", coords: i.coords}
	c.Role = i.roles.of(c)
	return c, nil
}

// User is a user of this machine as a caller, for what is done in the user's name later.
func (i *Identity) User(uid uint32) (Caller, error) {
	name, err := i.Users.UserName(uid)
	if err != nil {
		return Caller{}, noCaller(fmt.Sprintf("uid %d is not a user of this machine", uid))
	}
	c := Caller{Name: name, UID: uid, From: "daemon", coords: i.coords}
	c.Role = i.roles.of(c)
	return c, nil
}

// roles tells who is more than a user.
type roles struct {
	self      uint32
	operators atomic.Pointer[operators]
	inGroup   func(user, group string) bool
}

// operators are those that the configuration names.
type operators struct {
	users  map[string]bool // names and decimal uids
	groups []string
}

func newRoles(names []string, self uint32, inGroup func(user, group string) bool) *roles {
	r := &roles{self: self, inGroup: inGroup}
	r.set(names)
	return r
}

func (r *roles) set(names []string) {
	o := &operators{users: map[string]bool{}}
	for _, name := range names {
		if group, is := strings.CutPrefix(name, "%"); is {
			o.groups = append(o.groups, group)
		} else {
			o.users[name] = true
		}
	}
	r.operators.Store(o)
}

// SetOperators names the operators anew, from the next request on.
func (i *Identity) SetOperators(names []string) { i.roles.set(names) }

func (r *roles) of(c Caller) Role {
	o := r.operators.Load()
	switch {
	case c.UID == 0 || c.UID == r.self:
		return RoleAdministrator
	case o.users[c.Name] || len(o.users) > 0 && o.users[strconv.FormatUint(uint64(c.UID), 10)]:
		return RoleOperator
	case slices.ContainsFunc(o.groups, func(g string) bool { return r.inGroup(c.Name, g) }):
		return RoleOperator
	}
	return RoleNone
}

// Names is Users that remembers the names of users and groups for a while: a look-up may go over the network, and every request needs one.
type Names struct {
	Users
	now    func() time.Time
	mu     sync.RWMutex
	names  map[uint32]cachedName
	groups map[uint32]cachedName
	member map[string]membership // by user
}

// membership is which groups a user is in.
type membership struct {
	groups []string
	until  time.Time
}

type cachedName struct {
	name  string
	err   error
	until time.Time
}

// How long a name stays known. A user that is not there is asked for again soon: it may just have been added.
const (
	nameLife   = time.Minute
	noNameLife = 2 * time.Second
)

// mostNames are remembered, and then all are forgotten: whoever asks for the jobs of some uid has it looked up, whether there is such a user or not.
const mostNames = 1 << 16

func newNames(u Users, now func() time.Time) *Names {
	return &Names{Users: u, now: now, names: map[uint32]cachedName{}, groups: map[uint32]cachedName{}, member: map[string]membership{}}
}

// UserName is Users.UserName from memory where possible.
func (c *Names) UserName(uid uint32) (string, error) {
	return c.cached(c.names, uid, c.Users.UserName)
}

// GroupName is Users.GroupName from memory where possible.
func (c *Names) GroupName(gid uint32) (string, error) {
	return c.cached(c.groups, gid, c.Users.GroupName)
}

func (c *Names) cached(in map[uint32]cachedName, id uint32, ask func(uint32) (string, error)) (string, error) {
	now := c.now()
	c.mu.RLock()
	n, ok := in[id]
	c.mu.RUnlock()
	if ok && now.Before(n.until) {
		return n.name, n.err
	}
	name, err := ask(id)
	life := nameLife
	if err != nil {
		life = noNameLife
	}
	c.mu.Lock()
	if len(in) >= mostNames {
		clear(in)
	}
	in[id] = cachedName{name, err, now.Add(life)}
	c.mu.Unlock()
	return name, err
}

// inGroup reports whether a user is in a group, from memory where possible.
func (c *Names) inGroup(user, group string) bool {
	now := c.now()
	c.mu.RLock()
	m, known := c.member[user]
	c.mu.RUnlock()
	if !known || !now.Before(m.until) {
		m = membership{until: now.Add(nameLife)}
		if g, can := c.Users.(Grouper); can {
			var err error
			if m.groups, err = g.Groups(user); err != nil {
				m.until = now.Add(noNameLife)
			}
		}
		c.mu.Lock()
		if len(c.member) >= mostNames {
			clear(c.member)
		}
		c.member[user] = m
		c.mu.Unlock()
	}
	return slices.Contains(m.groups, group)
}
