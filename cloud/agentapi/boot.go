package agentapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Boot is the data that a machine is started with: enough to fetch its agent and to register, and
// no credential. The one-time token works once for each machine of its gang, for a limited time,
// and for [Hello] only. Jobs can read it on the machine, so none starts there before all machines of the
// gang have registered or were given up: it is good for nothing by then.
//
// It depends on the gang's record and the daemon's key alone, so that a repeated request for a gang
// has the same content.
type Boot struct {
	// URL of the agent server: "https://HOST:PORT", or "unix:/PATH" for machines that see the daemon's file system. Where several daemons share a database, those
	// of all, with commas between them: one answers, that of the daemon that leads.
	URL     string
	Pin     string    // base64 of the SHA-256 of the server's public key (as curl's --pinnedpubkey takes it); "" for a unix socket
	Token   string    // the one-time token
	Expires time.Time // of the token
	Agent   string    // hex SHA-256 of the agent's binary, which is fetched below URL; "" where the machine has it
	Path    string    // of the agent's binary where the machine has it
	Lease   time.Duration
	// Metadata is where the machine learns its own ID and its announced end: "ec2", "azure", "gce", "file:PATH" of
	// a file that is there once the end is announced and holds a [Notice] in JSON, or "" where the
	// provider passes them otherwise.
	Metadata string
	// Instance is the machine's ID where the provider knows it before the machine starts.
	Instance string
	// PowerOff: the machine is alone for the gang: it is switched off when the agent ends. Its host
	// name, users and /etc/hosts are the agent's to set.
	PowerOff bool
	// Addr is the IP address where the machine's gang reaches it, for a machine that shares its
	// network with others; "" where the agent finds it out.
	Addr string
	// Hosts is the machine's own hosts file where it is the agent's to write although the machine
	// is not alone: in place, since it is a mount.
	Hosts string
	// Users is a directory with the machine's own passwd and group, which are the agent's to write
	// likewise; "": the users are the host's.
	Users string
}

// Lines is the boot data as "fed-agent -boot FILE" reads it: one key=value a line. A value with a
// control character, or one that begins with a quote, is quoted as in Go.
func (b Boot) Lines() []byte {
	var out strings.Builder
	for _, f := range b.fields() {
		if value := f.get(); value != "" {
			if value[0] == '"' || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				value = strconv.Quote(value)
			}
			out.WriteString(f.key + "=" + value + "\n")
		}
	}
	return []byte(out.String())
}

// ParseBoot reads what Lines has written. Empty lines and those that begin with # are passed over;
// a key that it does not know is an error, since a misspelt one would start a machine that nobody can reach.
func ParseBoot(text []byte) (Boot, error) {
	var b Boot
	fields := b.fields()
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return Boot{}, fmt.Errorf("boot data, line %d: no key=value", n+1)
		}
		if err := setField(fields, key, value); err != nil {
			// The value is not shown: it may be the token.
			return Boot{}, fmt.Errorf("boot data, line %d: %w", n+1, err)
		}
	}
	return b, nil
}

func setField(fields []bootField, key, value string) error {
	i := slices.IndexFunc(fields, func(f bootField) bool { return f.key == key })
	if i < 0 {
		return fmt.Errorf("unknown key %.40q", key)
	}
	if strings.HasPrefix(value, `"`) {
		var err error
		if value, err = strconv.Unquote(value); err != nil {
			return fmt.Errorf("%s is badly quoted", key)
		}
	}
	if fields[i].set(value) != nil {
		return fmt.Errorf("%s has a bad value", key)
	}
	return nil
}

// Servers are the addresses in the boot data's URL.
func (b Boot) Servers() []string { return strings.Split(b.URL, ",") }

// bootField is one line of the boot data. An empty value is not written.
type bootField struct {
	key string
	get func() string
	set func(string) error
}

func (b *Boot) fields() []bootField {
	text := func(key string, p *string) bootField {
		return bootField{key, func() string { return *p }, func(s string) error { *p = s; return nil }}
	}
	return []bootField{
		text("url", &b.URL),
		text("pin", &b.Pin),
		text("token", &b.Token),
		{"expires", b.expires, b.setExpires},
		text("agent", &b.Agent),
		text("path", &b.Path),
		{"lease", b.lease, b.setLease},
		text("metadata", &b.Metadata),
		text("instance", &b.Instance),
		{"poweroff", b.powerOff, b.setPowerOff},
		text("addr", &b.Addr),
		text("hosts", &b.Hosts),
		text("users", &b.Users),
	}
}

func (b *Boot) expires() string {
	if b.Expires.IsZero() {
		return ""
	}
	return b.Expires.UTC().Format(time.RFC3339Nano)
}

func (b *Boot) setExpires(s string) (err error) {
	b.Expires, err = time.Parse(time.RFC3339Nano, s)
	return err
}

func (b *Boot) lease() string {
	if b.Lease == 0 {
		return ""
	}
	return b.Lease.String()
}

func (b *Boot) setLease(s string) (err error) {
	b.Lease, err = time.ParseDuration(s)
	return err
}

func (b *Boot) powerOff() string {
	if !b.PowerOff {
		return ""
	}
	return "yes"
}

func (b *Boot) setPowerOff(s string) error {
	if s != "yes" {
		return strconv.ErrSyntax
	}
	b.PowerOff = true
	return nil
}
