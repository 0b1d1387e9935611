package scontrol

import (
	"bytes"
	"fmt"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// restVersion is the API version that records are asked for in; the JSON that users see is of
// wire.Base, as 24.11 prints it.
const restVersion = "v0.0.43"

// entity is what can be shown. id is the ID, "" for all; given tells an empty one from none.
type entity struct {
	name  string
	short int
	path  string // of the JSON, without the ID; "": it has none
	print func(c *command, id string, given bool) int
}

// entities in the order in which an abbreviation is looked for.
func entities() []entity {
	nothing := func(*command, string, bool) int { return 0 }
	return []entity{
		{"aliases", 1, "", nothing},
		{"assoc_mgr", 2, "", nothing},
		{"bbstat", 2, "", nothing},
		{"burstbuffer", 2, "", nothing},
		{"config", 1, "", (*command).showConfig},
		{"daemons", 1, "", nothing},
		{"dwstat", 2, "", nothing},
		{"federation", 1, "", nothing},
		{"frontend", 2, "", func(c *command, _ string, _ bool) int { fmt.Fprintln(c.stdout, "No nodes in the system"); return 0 }},
		{"hostlist", 5, "", func(c *command, id string, _ bool) int { return c.hostlist(id, false) }},
		{"hostlistsorted", 9, "", func(c *command, id string, _ bool) int { return c.hostlist(id, true) }},
		{"hostnames", 5, "", (*command).hostnames},
		{"jobs", 1, wire.PathJobs, (*command).showJob},
		{"jobid", 4, wire.PathJobs, (*command).showJob},
		{"licenses", 2, wire.PathLicenses, (*command).showLicenses},
		{"nodes", 1, wire.PathNodes, (*command).showNodes},
		{"partitions", 2, wire.PathPartitions, (*command).showPartitions},
		{"reservations", 1, wire.PathReservations, (*command).showReservations},
		{"steps", 2, "", (*command).showSteps},
		{"topology", 1, "", (*command).showTopology},
	}
}

// show is "show ENTITY[=ID] [ID]".
func (c *command) show(words []string) int {
	name, id, given := strings.Cut(words[0], "=")
	if len(words) > 1 {
		id, given = words[1], true
	}
	for _, e := range entities() {
		if !is(name, e.name, e.short) {
			continue
		}
		if c.json && e.path != "" {
			return c.printJSON(&e, id)
		}
		return e.print(c, id, given)
	}
	return c.fail("invalid entity:%s for keyword:%s ", name, "show")
}

// load asks the daemon for a listing, and reports a failure in Slurm's words.
func (c *command) load(what, path string, out any) error {
	err := show.Get(c.caller, path, out)
	if err != nil {
		c.fail("%s error: %s", what, err)
	}
	return err
}

// printJSON prints what the daemon says of an entity, as JSON or YAML. A job that is not there is
// an empty list.
func (c *command) printJSON(e *entity, id string) int {
	path := wire.Slurm(wire.Base, e.path)
	if e.path == wire.PathJobs && id != "" {
		var q show.Query
		q.Add("job_id", show.OwnTask(c.env, id))
		path += q.String()
	} else if id != "" {
		path = wire.Slurm(wire.Base, strings.TrimSuffix(e.path, "s/")+"/") + id
	}
	var raw []byte
	if err := show.Get(c.caller, path, &raw); err != nil {
		return c.fail("slurm_load_%s error: %s", e.name, err)
	}
	if err := show.Copy(c.stdout, bytes.NewReader(asScontrol(raw, e)), c.yaml); err != nil {
		return c.fail("slurm_load_%s error: %s", e.name, err)
	}
	if !c.yaml {
		fmt.Fprintln(c.stdout)
	}
	return 0
}

// asScontrol says that it was scontrol, not slurmrestd, that wrote a document.
func asScontrol(doc []byte, e *entity) []byte {
	doc = bytes.Replace(doc, []byte(`"type":"openapi/slurmctld","name":"Slurm OpenAPI slurmctld"`), []byte(`"type":"","name":""`), 1)
	if e.path == wire.PathJobs {
		doc = bytes.Replace(doc, []byte(`"command":[]`), []byte(`"command":["show","job"]`), 1)
	}
	return doc
}
