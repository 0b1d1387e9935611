package ec2

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"fsub/testbed/ec2/model"
)

// owner is the account that everything belongs to.
const owner = "123456789012"

// Cloud is one region of a simulated EC2. Its methods may be called from several goroutines.
type Cloud struct {
	cfg  Config
	ops  map[string]*model.Op
	made bool // the Cloud made Config.Dir

	mu        sync.Mutex
	types     map[string]*Type
	instances map[string]*instance
	order     []*instance // oldest first
	seq       int
	tokens    map[string]*answered
	tags      map[string]map[string]string // of everything but instances
	groups    map[string]*group
	reserved  []*reservation
	templates []*template
	faults    faults
	calls     []Call
	closed    bool
	stop      context.Context // done once the Cloud is closed
	stopped   context.CancelFunc
	work      sync.WaitGroup // goroutines that start or end instances
	servers   []*http.Server
	net       byte // second byte of the instances' addresses
	claim     net.Listener
}

// New makes a cloud without instances. Close it.
func New(cfg Config) *Cloud {
	cfg.defaults()
	c := &Cloud{
		cfg: cfg, ops: model.Load(), types: map[string]*Type{}, instances: map[string]*instance{}, tokens: map[string]*answered{},
		tags: map[string]map[string]string{}, groups: map[string]*group{}, net: 127,
	}
	c.stop, c.stopped = context.WithCancel(context.Background())
	if cfg.Process { // states share nothing with other clouds
		c.net, c.claim = takeNet()
	}
	for _, t := range cfg.Types {
		c.types[t.Name] = t
	}
	return c
}

// AccessKey and SecretKey are the credentials that are good here.
func (c *Cloud) AccessKey() string { return c.cfg.AccessKey }

// SecretKey belongs to AccessKey.
func (c *Cloud) SecretKey() string { return c.cfg.SecretKey }

// Region is the cloud's only region.
func (c *Cloud) Region() string { return c.cfg.Region }

// Start serves the cloud on addr, "127.0.0.1:0" if it is empty, and returns its URL. It can be called again, for another address.
func (c *Cloud) Start(addr string) (string, error) {
	str(&addr, "127.0.0.1:0")
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers = append(c.servers, s)
	c.work.Go(func() { s.Serve(l) })
	return "http://" + l.Addr().String(), nil
}

// Close ends everything at once: the server, the instances' processes, their metadata services and directories. It returns when nothing is left.
func (c *Cloud) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.stopped()
	c.mu.Unlock()
	if c.claim != nil {
		c.claim.Close()
	}
	for _, s := range c.servers {
		s.Close()
	}
	c.work.Wait() // an instance that was just starting has its machine now
	var err error
	for _, in := range c.order {
		if in.machine != nil {
			in.machine.End(0)
			in.machine.Remove()
		}
	}
	if c.made {
		err = errors.Join(err, os.RemoveAll(c.cfg.Dir))
	}
	return err
}

// later does fn after d, with the lock held, unless the cloud is closed by then.
func (c *Cloud) later(d time.Duration, fn func()) {
	time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closed {
			fn()
		}
	})
}

// dir returns the directory of one instance, made. The lock is held.
func (c *Cloud) dir(id string) (string, error) {
	if c.cfg.Dir == "" {
		dir, err := os.MkdirTemp("", "fsub-ec2-")
		if err != nil {
			return "", err
		}
		c.cfg.Dir, c.made = dir, true
		if err := os.Chmod(dir, 0o755); err != nil { // the instances' users must get through
			return "", err
		}
	}
	dir := filepath.Join(c.cfg.Dir, id)
	return dir, os.MkdirAll(dir, 0o755)
}

// newID returns an ID such as Amazon's: a prefix and 17 hexadecimal digits.
func newID(prefix string) string { return prefix + "-0" + randomHex(16) }

// takeNet finds the second byte of the addresses of a cloud's instances, which no other cloud on this machine has while claim is open. If all are taken, or
// nothing can listen, chance must do.
func takeNet() (net2 byte, claim net.Listener) {
	var first int
	fmt.Sscanf(randomHex(2), "%x", &first)
	for i := range 128 {
		net2 = byte(64 + (first+i)%128)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.%d.0.1:18169", net2)); err == nil {
			return net2, l
		}
	}
	return net2, nil
}

func itoa(n int) string { return strconv.Itoa(n) }
