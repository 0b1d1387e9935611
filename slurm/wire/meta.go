package wire

import "strings"

// Reply is the part that every answer has. Errors do not mean that nothing was done, an empty list does not mean that
// all was: see each operation.
type Reply struct {
	Meta     Meta          `json:"meta"`
	Errors   List[Error]   `json:"errors"`
	Warnings List[Warning] `json:"warnings"`
}

// Meta says who answered.
type Meta struct {
	Plugin  Plugin  `json:"plugin"`
	Client  Client  `json:"client"`
	Command Strings `json:"command"`
	Slurm   Release `json:"slurm"`
}

type Plugin struct {
	Type              string `json:"type"`
	Name              string `json:"name"`
	DataParser        string `json:"data_parser"` // "data_parser/v0.0.42"
	AccountingStorage string `json:"accounting_storage"`
}

type Client struct {
	Source string `json:"source"`
	User   string `json:"user"`
	Group  string `json:"group"`
}

// Release is the version of the slurmrestd that answered, and the name of its cluster.
type Release struct {
	Version Version `json:"version"`
	Release string  `json:"release"` // "24.11.5"
	Cluster string  `json:"cluster"`
}

type Version struct {
	Major Text `json:"major"`
	Micro Text `json:"micro"`
	Minor Text `json:"minor"`
}

// Error is one refusal. Number is Slurm's error number, Text its sentence for that number, Description what was wrong.
type Error struct {
	Description string `json:"description"`
	Number      int    `json:"error_number"`
	Text        string `json:"error"`
	Source      string `json:"source"`
}

// Warning is a remark. "Ignoring unknown field" in one means that part of the request was dropped.
type Warning struct {
	Description string `json:"description"`
	Source      string `json:"source"`
}

// NewMeta is the Meta of an answer to user from a server of the given release ("24.11.5") and cluster name.
func NewMeta(release, cluster, user string) Meta {
	v := strings.SplitN(release+"..", ".", 4)
	return Meta{
		Plugin: Plugin{Type: "openapi/slurmctld", Name: "Slurm OpenAPI slurmctld", DataParser: "data_parser/" + Base,
			AccountingStorage: "accounting_storage/slurmdbd"},
		Client: Client{User: user},
		Slurm:  Release{Version: Version{Major: Text(v[0]), Minor: Text(v[1]), Micro: Text(v[2])}, Release: release, Cluster: cluster},
	}
}

// Head gives the common part of any answer.
func (r *Reply) Head() *Reply { return r }
