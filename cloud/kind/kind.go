// Package kind is the contract between the configuration of a site and the clouds: [Settings] is the section of one kind of site, which its
// package defines, checks and opens. Package clouds lists the kinds; nothing else names them.
package kind

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"fsub/cloud/agentapi"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/decision"
)

// Settings is what a site's configuration says of one kind: which machines to rent, where, and at what price. It is a pointer to a struct
// with yaml tags, whose comments become docs/configuration.md.
type Settings interface {
	// Missing is the error where a site of this kind lacks the section; "": it can do without. It may be called on an empty section.
	Missing() string
	// Check says what is wrong, beginning with the name of the section. It calls nobody. address is where the daemon tells machines to reach it,
	// "" if they need no network for that.
	Check(address string) error
	// Paths are the names of files with secrets, which are relative to the configuration's.
	Paths() []*string
	// Facts are what the daemon needs to know before the first machine is rented. The section has been checked.
	Facts() Facts
	// Open opens the provider, and returns what its machines need to boot. It calls nobody, but for what the SDK asks about the machine it runs on.
	Open(ctx context.Context, s Setup) (provider.Provider, agentapi.Boot, error)
}

// Facts are what a kind of site is like.
type Facts struct {
	Here  bool   // machines are processes of this one: they see its files, no call leaves it, and while idle they cost nothing
	Nodes int    // with Here: how many there are
	Host  string // with Here: name of the daemon on whose machine they are; "": there is one daemon
	Place string // where data lies there, as in "aws:us-east-1"; "gcp:" alone: each machine's zone says in which region; "": in no cloud

	DiskGiB      int              // size of each machine's disk; 0: not known, as with images of one's own
	DiskGiBMonth decision.Dollars // list price of a GiB of it per month; 0: it is part of the machine's price, or something stands in for the cloud

	List *List // price list that has its machines; nil: none, or the provider asks for itself
}

// List is what a site wants of a price list.
type List struct {
	Cloud   string   // which one, as in prices.Key
	Regions []string // whose prices are wanted
	Types   []string // beyond those with accelerators that the table knows
	StandIn bool     // something stands in for the cloud, and has no prices
	Named   bool     // the site names a file with its credentials, which go before those that SDKs find elsewhere
	// Client opens a client for the list with the site's credentials; nil: the list needs none.
	Client func(ctx context.Context, endpoint string) (*http.Client, error)
}

// Setup is what the daemon gives a provider.
type Setup struct {
	Site       federation.SiteName
	Federation string // the tag by which our machines are known from others': not empty
	// Installation is a tag of this daemon's machines, by which it knows them from those of another one with the same names.
	Installation string
	Agent        string                    // path of the agent's program
	Dir          string                    // directory for what lies beside the daemon's state, for this site alone; it need not exist
	Settle       func(dir string) []string // command that calls local.Settle for a directory
	Prices       *prices.Catalogue
	Logger       *slog.Logger
}

// CheckAddress refuses an address that machines outside cannot use: this machine's short name means nothing to their name servers.
func CheckAddress(address string) error {
	host, _, _ := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	if host == "" || host == "localhost" || ip == nil && !strings.Contains(host, ".") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return fmt.Errorf("agents: address: machines of a cloud cannot reach %q: give an IP address or a name that is known there, with its domain", host)
	}
	return nil
}
