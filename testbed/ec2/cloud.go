package ec2

import (
	"strconv"

	"fsub/testbed/ec2/model"
	"fsub/testbed/machines"
)

// owner is the account that everything belongs to.
const owner = "123456789012"

// Cloud is one region of a simulated EC2. Its methods may be called from several goroutines.
type Cloud struct {
	*machines.Host
	machines.Faults
	cfg Config
	ops map[string]*model.Op

	types     map[string]*Type
	instances map[string]*instance
	order     []*instance // oldest first
	seq       int
	tokens    map[string]*answered
	tags      map[string]map[string]string // of everything but instances
	groups    map[string]*group
	reserved  []*reservation
	templates []*template
}

// New makes a cloud without instances. Close it.
func New(cfg Config) *Cloud {
	cfg.defaults()
	c := &Cloud{
		cfg: cfg, ops: model.Load(), types: map[string]*Type{}, instances: map[string]*instance{}, tokens: map[string]*answered{},
		tags: map[string]map[string]string{}, groups: map[string]*group{}, Host: machines.NewHost(cfg.Dir, cfg.Process, cfg.Log),
	}
	c.Handler = c
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

// newID returns an ID such as Amazon's: a prefix and 17 hexadecimal digits.
func newID(prefix string) string { return prefix + "-0" + machines.RandomHex(16) }

func itoa(n int) string { return strconv.Itoa(n) }

// What goes wrong in clouds, and the calls that they get, is the same for all that are simulated.
type (
	Fault     = machines.Fault
	FaultKind = machines.FaultKind
	Pool      = machines.Pool
	Boot      = machines.Boot
	Call      = machines.Call
)

const (
	Refuse      = machines.Refuse
	LoseRequest = machines.LoseRequest
	LoseReply   = machines.LoseReply
	Hang        = machines.Hang
)
