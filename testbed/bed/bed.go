package bed

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultCache holds the packed root filesystems, which all beds of a machine share.
const DefaultCache = "/var/cache/fsub-bed"

// Options say which bed to work with. The zero value is the machine's default bed.
type Options struct {
	Dir    string // state of the bed; DefaultDir when empty
	Cache  string // packed root filesystems; DefaultCache when empty
	Mirror string // Debian mirror; from the machine's apt configuration when empty
	Subnet string // an unused IPv4 /24; derived from Dir when empty. Remembered by the bed until it is wiped

	// Share are directories of the host that are seen at every site as well, read-only and under the same path, such as one with
	// programs that jobs run. Taken when a site starts.
	Share []string

	// Temporary says that the bed, with all that is in Dir, belongs to the process that makes it: once that has ended it is one of
	// [Abandoned]. Taken when the bed is made.
	Temporary bool

	MinJobAge time.Duration // how long slurmctld remembers an ended job; 2 minutes when 0. Taken when a site starts
	Flat      bool          // sites know of no switches (topology/default). Taken when a site starts
	GRES      []string      // what each node has beside its GPUs: "tpu:v5p:4", "fpga::2". Taken when a site starts
	Nodes     int           // of each site; the table's when 0. The same for all who work with the bed
	Conf      []string      // more lines of slurm.conf. Taken when a site starts
}

// ErrNotRoot is what New returns to everybody but root.
var ErrNotRoot = errors.New("the bed needs root: it makes namespaces, mounts and network links (try sudo)")

// Bed is a directory with real Slurm sites. All methods may be called from several programs at once; Up and Down take turns.
type Bed struct {
	opts Options
}

// Open returns the bed in dir with default options. Nothing needs to be there yet.
func Open(dir string) (*Bed, error) { return New(Options{Dir: dir}) }

// New returns the bed that o describes. It changes nothing on the machine. Callers that are not root get ErrNotRoot.
func New(o Options) (*Bed, error) {
	if os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	o.Dir, o.Cache = firstOf(o.Dir, DefaultDir), firstOf(o.Cache, DefaultCache)
	for _, dir := range []*string{&o.Dir, &o.Cache} {
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return nil, err
		}
		*dir = abs
	}
	if o.MinJobAge == 0 {
		o.MinJobAge = 2 * time.Minute
	}
	if o.Subnet != "" {
		if _, err := parseSubnet(o.Subnet); err != nil {
			return nil, err
		}
	}
	return &Bed{opts: o}, nil
}

// Dir is the directory of the bed.
func (b *Bed) Dir() string { return b.opts.Dir }

// FedDir is a directory for the daemon, at the same path on the host, in the login and, read-only, at every site.
func (b *Bed) FedDir() string { return filepath.Join(b.opts.Dir, "fed") }

// SocketFile is where the login's commands look for the daemon, unless the caller's environment says otherwise (FSUB_SOCKET).
func (b *Bed) SocketFile() string { return filepath.Join(b.FedDir(), "fsub.sock") }

// BinDir is first in the login's PATH, and every site sees it under the same path. It is for fsub's commands, and for programs that lie where the
// bed's users cannot read them.
func (b *Bed) BinDir() string { return filepath.Join(b.opts.Dir, "bin") }

// Home returns a user's home directory, which has the same path on the host, in the login and at every site.
func (b *Bed) Home(user string) string { return filepath.Join(b.homeDir(), user) }

func (b *Bed) homeDir() string             { return filepath.Join(b.opts.Dir, "home") }
func (b *Bed) loginDir() string            { return filepath.Join(b.opts.Dir, "login") }
func (b *Bed) siteDir(name string) string  { return filepath.Join(b.opts.Dir, "sites", name) }
func (b *Bed) rootDir(suite string) string { return filepath.Join(b.opts.Dir, "roots", suite) }
func (b *Bed) keyFile(name string) string {
	return filepath.Join(b.siteDir(name), "etc", "jwt_hs256.key")
}

// state is what a bed remembers of itself, in bed.json.
type state struct {
	Subnet netip.Prefix `json:"subnet"`
	Owner  *procID      `json:"owner,omitempty"` // of a temporary bed
}

// siteState is what a bed remembers of a started site, in site.json.
type siteState struct {
	Holder procID `json:"holder"`
}

func (b *Bed) loadState() (state, error) {
	var st state
	err := readJSON(filepath.Join(b.opts.Dir, "bed.json"), &st)
	return st, err
}

// holder returns the process that keeps the site's namespaces. ok is false when the site is down.
func (b *Bed) holder(site string) (p procID, ok bool) {
	var st siteState
	if err := readJSON(filepath.Join(b.siteDir(site), "site.json"), &st); err != nil {
		return procID{}, false
	}
	return st.Holder, st.Holder.alive()
}

// errDown says that something was asked of a site that does not run.
func errDown(site string) error {
	return fmt.Errorf("site %s is not up: run: bin/bed up %s", site, site)
}

// lock lets one Up or Down work on the bed at a time. It waits for the other one.
func (b *Bed) lock() (unlock func(), err error) {
	return lockFile(filepath.Join(b.opts.Dir, "lock"))
}

// lockFile takes a lock that ends with the process at the latest. A file that its last holder removed is made again.
func lockFile(path string) (unlock func(), err error) {
	for {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		mine, err1 := f.Stat()
		now, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(mine, now) {
			return func() { f.Close() }, nil
		}
		f.Close()
	}
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFile(path, append(data, '\n'), 0o644)
}

// writeFile replaces a file as a whole: a reader sees the old one or the new one.
func writeFile(path string, data []byte, mode os.FileMode) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, data, mode); err != nil {
		return err
	}
	if err := os.Chmod(tmp, mode); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
