package sshare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// shareList is slurmrestd's list of them, each as it came.
type shareList struct {
	Shares struct {
		Shares []json.RawMessage `json:"shares"`
	} `json:"shares"`
	wire.Reply
}

// document is --json and --yaml, in slurmrestd's shape. As to Slurm's, -U and the columns mean nothing to it.
func (o *options) document(c show.Caller, stdout, stderr io.Writer, args []string) error {
	clusters, complaint, err := show.Clusters(c, "sshare", o.clusters)
	switch {
	case errors.As(err, new(*show.Failure)):
		return fmt.Errorf("sshare: error: %w", err)
	case err != nil:
		return err
	}
	io.WriteString(stderr, complaint)
	if len(clusters) == 0 {
		clusters = []show.Cluster{{}}
	}
	var doc shareList
	list := []json.RawMessage{} // never null
	for _, one := range clusters {
		path := wire.Slurm(wire.Base, "/shares")
		if one.Site != "" {
			path += "?" + url.Values{"cluster": {string(one.Site)}}.Encode()
		}
		doc = shareList{}
		if err := show.Get(c, path, &doc); err != nil {
			return fmt.Errorf("sshare: error: %w", err)
		}
		for _, raw := range doc.Shares.Shares {
			shown, err := o.showsShare(raw, doc.Meta.Client.User)
			if err != nil {
				return fmt.Errorf("sshare: error: the daemon's answer cannot be read: %w", err)
			}
			if shown {
				list = append(list, raw)
			}
		}
	}
	doc.Shares.Shares = list
	return show.Document(stdout, &doc, &doc.Reply, "sshare", args, o.yaml)
}

// showsShare is shows for an entry of slurmrestd's.
func (o *options) showsShare(raw json.RawMessage, caller string) (bool, error) {
	var e struct {
		Name, Parent string
		Type         []string
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return false, err
	}
	if !slices.Contains(e.Type, "USER") {
		return o.selects(e.Name, "", "", false), nil
	}
	uid, _ := show.UserID(e.Name)
	return o.selects(e.Parent, e.Name, uid, e.Name == caller), nil
}
