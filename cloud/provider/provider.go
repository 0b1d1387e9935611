// Package provider is the contract between the driver of rented machines and what rents them from one cloud: a [Provider] lists [Offering]s and creates
// [Instance]s, and refuses with an [Error] of a kind and a scope. [Wrap] gives any of them a rate limit, few retries and metrics. Every cloud is a small
// package that implements it (local, aws); package providertest is what each must keep.
package provider

import (
	"context"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/driver"
	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// Provider rents machines from one cloud. Methods may be called from several goroutines; each makes as few calls as the cloud allows, tries each once
// and returns an *[Error] for whatever the cloud refused. Retry, rate limit, cool-down and metrics are the caller's (see [Wrap]).
type Provider interface {
	// Offerings returns what can be rented, with prices: every type, zone and market that the provider was configured for. What is out of stock just now
	// is among them: only Create finds that out.
	Offerings(ctx context.Context) ([]Offering, error)

	// Create starts Count machines or none. It is idempotent by Request.Token: asked again with an equal request it returns the machines of
	// the first time, whatever became of them; KindConflict if they have all ended and the cloud does not show them any more. If it fails with
	// KindUnavailable or KindThrottled, machines may exist: ask again or List. After KindPending the cloud has queued the request, and may make its machines
	// hours later: asked again under the token, by whichever daemon, it answers the same until they are there or it refuses. After any other error none of this
	// request exists or will.
	Create(ctx context.Context, r Request) ([]Instance, error)

	// Withdraw takes back a request that is pending, so that it makes no machines any more. One that the cloud does not know, or that nobody queues, is no error; what
	// it has made meanwhile List shows.
	Withdraw(ctx context.Context, token string) error

	// List returns every machine of this federation's site: those with the tags, in any state that is not ended, and those ended
	// that the cloud still shows. One listing, paged as the cloud wants it; a part that cannot be read makes it an error. A machine that Create has just
	// returned may be missing for some seconds.
	List(ctx context.Context) ([]Instance, error)

	// Delete ends machines. One that is ended, or that the cloud does not know (any more), is no error. It is done when List
	// shows them ended or not at all, not before.
	Delete(ctx context.Context, ids []InstanceID) error
}

// Topologist is a Provider that can tell how near to each other its machines are.
type Topologist interface {
	// Topology returns for running machines the groups that each is in, widest first: ["nn-1", "nn-17", "nn-204"]. Machines that share the last are
	// nearest. A machine of which nothing is known is not in the result.
	Topology(ctx context.Context, ids []InstanceID) (map[InstanceID][]string, error)
}

// Consoler is a Provider that can show what a machine writes on its console, which tells why one does not come up.
type Consoler interface {
	// Console returns the last that a machine has written, oldest first; "" where the cloud has nothing of it. A machine that has ended may have some still.
	Console(ctx context.Context, id InstanceID) (string, error)
}

// Checker is a Provider that can try what it needs of its cloud: rights, networks, quotas. Nothing is changed by that.
type Checker interface {
	Check(ctx context.Context) []driver.SiteCheck
}

// InstanceID is the provider's name of a machine: "i-0abc...".
type InstanceID string

// Market is how a machine is paid for.
type Market string

const (
	OnDemand Market = "on-demand"
	Spot     Market = "spot"     // may be taken back
	Reserved Market = "reserved" // a capacity reservation that is paid for anyhow
	Block    Market = "block"    // a capacity block: reserved for a time, paid in advance
	Flex     Market = "flex"     // queued until the cloud has it, and then for a bounded time: Google's flex-start
)

// Offering is one kind of machine in one zone and market, at a price.
type Offering struct {
	ID          string // "g6.xlarge/us-east-2a/spot": unique at its provider, and the same at every look
	Type        string
	Region      string
	Zone        string
	Market      Market
	Reservation string // the cloud's name of it, for Reserved and Block

	// Hosts is how many machines make one of it: a slice, whose hosts come and go together. 0: one. Everything else is told of one machine; Request.Count is a
	// multiple of it, and Delete of one of a slice ends them all.
	Hosts int

	CPUs    int
	Mem     sbatch.MemMiB
	GPUs    int
	GPUType string // "h100", as in the prices of sites
	// GRES are the other generic resources of a machine: tpu, fpga. Each name once.
	GRES []gres.Resource
	// Features are what --constraint can ask for: "spot", "efa", the type's name.
	Features []string
	Arch     string // "x86_64", "arm64"

	Price      decision.Dollars // per hour of one machine
	Least      time.Duration    // what a machine is charged for at least, however soon it ends
	PricedAt   time.Time        // when the price was learnt
	PriceFrom  string           // where: "pricing API", "table of 2026-07-20", "configuration"
	Interrupts float64          // expected interruptions per hour; 0 where there are none
	Boot       time.Duration    // from Create to the agent's first word, as expected; the cloud's queue included
	// Queue is for how long the cloud may queue a request (KindPending) before it is given up; 0: it answers at once.
	Queue time.Duration
	Max   int // machines at one time, 0: no bound is known
	// Run is the longest time for which the cloud rents such machines, and takes them back after: 0: they stay until they are deleted. See [Request].Run.
	Run time.Duration
	// Quota names the account's quota that the machines count to with their CPUs, of those of the region and market: "G and VT". "": one of its type alone.
	Quota string
	// MaxGang is the most machines that Create can put near to each other; 0: no such placement.
	MaxGang int
	Until   time.Time // when a capacity block ends; zero: open
}

// Request asks for a gang of machines.
type Request struct {
	Token    string // names the gang: at most 64 letters, digits and '-'. Equal tokens come with equal requests
	Site     federation.SiteName
	Offering Offering
	Count    int
	Names    []string      // host names, one for each machine
	Near     bool          // put them near to each other (placement group)
	Run      time.Duration // of an offering with a Run: for how long they are wanted, whole minutes, at most that; 0: as long as that. No part of what makes requests equal
	Boot     agentapi.Boot // what they are started with
	Resume   string        // Error.Resume of the last answer, by whichever daemon it was kept; no part of what makes requests equal
}

// InstanceState is the life of a machine in the cloud's eyes.
type InstanceState string

const (
	InstancePending InstanceState = "pending"
	InstanceRunning InstanceState = "running"
	InstanceEnding  InstanceState = "ending"
	InstanceEnded   InstanceState = "ended" // nothing is paid for any more
)

// Instance is a machine as the cloud shows it.
type Instance struct {
	ID       InstanceID
	Token    string // of the Request that made it, from its tag
	Name     string // one of Request.Names, from its tag or its place in the gang; "" where the cloud does not tell
	State    InstanceState
	Reason   string // the cloud's words on why it ended: "Server.SpotInstanceTermination"
	Offering string // Offering.ID, as far as the cloud tells
	Addr     string // IP address within the cloud; "" while it has none
	GPUs     []int  // numbers that its GPUs have there, where it shares a host's with other machines; nil: from 0 up
	Launched time.Time
	Ended    time.Time // when the cloud stopped charging for it, where it tells; zero: that is not known
	// Refused is why a machine that ended before it came up could not: a mistake that was found after Create had answered, and counts like a refusal of it. nil: none is known.
	Refused *Error
}
