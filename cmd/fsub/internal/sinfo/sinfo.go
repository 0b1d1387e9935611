// Package sinfo shows the partitions and nodes of all sites as Slurm's sinfo shows a cluster's: rows of nodes that are alike
// in everything that is asked for. The daemon says what there is.
package sinfo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/fsub/internal/conn"
	"fsub/cmd/fsub/internal/show"
	"fsub/slurm/wire"
)

// Main is the command sinfo.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, env, stdout, stderr, c, time.Now())
}

// The formats of sinfo. The two of --Node are for names of at most eight characters; see [command.nodeFormat].
const (
	shortFormat      = "%9P %.5a %.10l %.6D %.6t %N"
	longFormat       = "%9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %.11i %N"
	summaryFormat    = "%9P %.5a %.10l %.16F %N"
	reasonsFormat    = "%20E %9u %19H %N"
	reasonLongFormat = "%20E %12U %19H %6t %N"
)

// command is one call of sinfo.
type command struct {
	options
	times          show.Times
	stdout, stderr io.Writer
	caller         show.Caller
}

func run(args, env []string, stdout, stderr io.Writer, c show.Caller, now time.Time) int {
	opts, exit, done := parse(args, env, stdout, stderr)
	if done {
		return exit
	}
	var out bytes.Buffer // nothing is printed of a listing that failed half-way
	cmd := &command{options: opts, times: show.NewTimes(env, now), stdout: &out, stderr: stderr, caller: c}
	if err := cmd.list(); err != nil {
		fmt.Fprintf(stderr, "%s\n", err)
		return 1
	}
	if _, err := stdout.Write(out.Bytes()); err != nil {
		fmt.Fprintf(stderr, "sinfo: error: %s\n", err)
		return 1
	}
	return 0
}

func (c *command) list() error {
	var parts wire.PartitionsResponse
	if err := show.Get(c.caller, wire.Slurm("v0.0.43", wire.PathPartitions), &parts); err != nil {
		return fmt.Errorf("slurm_load_partitions: %w", err)
	}
	var nodes wire.NodesResponse
	if err := show.Get(c.caller, wire.Slurm("v0.0.43", wire.PathNodes), &nodes); err != nil {
		return fmt.Errorf("slurm_load_node: %w", err)
	}
	cells, err := c.cells(parts.Partitions, nodes.Nodes)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(cells, parts.Reply)
	}
	if c.clusters != "" && !c.noHeader {
		fmt.Fprintf(c.stdout, "CLUSTER: %s\n", parts.Meta.Slurm.Cluster)
	}
	c.print(cells)
	return nil
}

// print writes the rows that the cells make under the format.
func (c *command) print(cells []cell) {
	layout := c.layout(cells)
	if c.long {
		fmt.Fprintln(c.stdout, c.times.Now().Local().Format("Mon Jan 02 15:04:05 2006"))
	}
	rows := c.group(cells, layout)
	if !c.noHeader {
		fmt.Fprintln(c.stdout, layout.Header())
	}
	for _, r := range rows {
		fmt.Fprintln(c.stdout, layout.Row(r))
	}
}

// layout reads the format, and complains about what it does not know.
func (c *command) layout(cells []cell) show.Layout[group] {
	letters, names := c.fields()
	var layout show.Layout[group]
	var unknown []string
	if c.format2 != "" {
		layout, unknown = show.LongFormat(c.format2, names)
	} else {
		layout, unknown = show.Format(c.oneFormat(cells), letters)
	}
	for _, u := range unknown {
		fmt.Fprintf(c.stderr, "sinfo: error: Invalid node format specification: %s\n", u)
	}
	return layout
}

func (c *command) oneFormat(cells []cell) string {
	switch {
	case c.format != "":
		return c.format
	case c.reasons && c.long:
		return reasonLongFormat
	case c.reasons:
		return reasonsFormat
	case c.summary:
		return summaryFormat
	case c.nodes:
		return c.nodeFormat(cells)
	case c.long:
		return longFormat
	}
	return shortFormat
}

// nodeFormat is the format of --Node, whose first columns are as wide as the names need.
func (c *command) nodeFormat(cells []cell) string {
	name, part := 9, 9
	for _, x := range cells {
		if x.node != nil {
			name = max(name, len(x.node.Name)+1)
		}
		part = max(part, len(x.part.Name)+1)
	}
	head := "%" + strconv.Itoa(name) + "N %.6D %." + strconv.Itoa(part) + "P "
	if c.long {
		return head + "%.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
	}
	return head + "%6t"
}

// printJSON writes one entry for each group of nodes that are alike, in the main keys of sinfo --json.
func (c *command) printJSON(cells []cell, reply wire.Reply) error {
	letters, _ := c.fields()
	layout, _ := show.Format("%P%a%l%T%c%m%f%G%z%w%E", letters)
	type counts struct {
		Allocated int      `json:"allocated"`
		Idle      int      `json:"idle"`
		Other     int      `json:"other"`
		Total     int      `json:"total"`
		Nodes     []string `json:"nodes"`
	}
	type entry struct {
		Node struct {
			State wire.Strings `json:"state"`
		} `json:"node"`
		Nodes     counts         `json:"nodes"`
		CPUs      counts         `json:"cpus"`
		Partition wire.Partition `json:"partition"`
		GRES      struct {
			Total string `json:"total"`
			Used  string `json:"used"`
		} `json:"gres"`
		Features struct {
			Total string `json:"total"`
		} `json:"features"`
		Reason struct {
			Description string `json:"description"`
		} `json:"reason"`
		Cluster string `json:"cluster"`
	}
	out := struct {
		Sinfo []entry `json:"sinfo"`
		wire.Reply
	}{Sinfo: []entry{}, Reply: reply}
	for _, g := range c.group(cells, layout) {
		e := entry{Partition: *g.part, Nodes: counts{Nodes: []string{}}}
		e.Nodes.Allocated, e.Nodes.Idle, e.Nodes.Other, e.Nodes.Total = g.nodeCounts()
		e.CPUs.Allocated, e.CPUs.Idle, e.CPUs.Other, e.CPUs.Total = g.cpuCounts()
		e.CPUs.Nodes = []string{}
		for _, n := range g.nodes {
			e.Nodes.Nodes = append(e.Nodes.Nodes, n.Name)
		}
		if n := g.first(); n != nil {
			e.Node.State, e.GRES.Total, e.GRES.Used, e.Reason.Description, e.Cluster = n.State, n.GRES, n.GRESUsed, n.Reason, n.ClusterName
			e.Features.Total = strings.Join(n.Features, ",")
		}
		out.Sinfo = append(out.Sinfo, e)
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	c.stdout.Write(append(b, '\n'))
	return nil
}
