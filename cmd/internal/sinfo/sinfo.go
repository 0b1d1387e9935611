// Package sinfo shows the partitions and nodes of all sites as Slurm's sinfo shows a cluster's:
// rows of nodes that are alike in everything that is asked for. The daemon says what there is.
package sinfo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/show"
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
	// "%all" stands for all letters.
	allFormat = "%a|%b|%c|%d|%e|%f|%g|%h|%i|%l|%m|%n|%o|%p|%r|%s|%t|%u|%v|%w|%z|" +
		"%A |%B |%C |%D |%E |%F |%G |%H |%I |%L |%M |%N |%O |%P |%R |%S |%T |%U |%V |%X |%Y |%Z |"
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
	for {
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
		if opts.iterate == 0 {
			return 0
		}
		time.Sleep(time.Duration(opts.iterate) * time.Second)
		now = time.Now()
	}
}

// list is one listing, with --clusters one for each. Its error is a whole line for stderr.
func (c *command) list() error {
	clusters, complaint, err := show.Clusters(c.caller, "sinfo", c.clusters)
	switch {
	case errors.As(err, new(*show.Failure)):
		return fmt.Errorf("slurm_load_partitions: %w", err)
	case err != nil:
		return err
	}
	io.WriteString(c.stderr, complaint)
	if (c.long || c.iterate > 0) && !c.noHeader && !c.json && !c.yaml {
		fmt.Fprintln(c.stdout, c.times.Now().Local().Format("Mon Jan 02 15:04:05 2006"))
	}
	if len(clusters) == 0 {
		clusters = []show.Cluster{{}}
	}
	for _, one := range clusters {
		if c.clusters != "" && !c.noHeader && !c.json && !c.yaml {
			fmt.Fprintf(c.stdout, "CLUSTER: %s\n", one.Name)
		}
		if err := c.listSite(one.Site); err != nil {
			return err
		}
	}
	if c.iterate > 0 {
		fmt.Fprintln(c.stdout)
	}
	return nil
}

// listSite is the listing of a site, or of all ("").
func (c *command) listSite(site string) error {
	var q show.Query
	q.Add("cluster", site)
	q.Add("sparse", "1")
	if c.reservations {
		return c.listReservations(q.String())
	}
	var parts wire.PartitionsResponse
	if err := show.Get(c.caller, wire.Slurm("v0.0.43", wire.PathPartitions)+q.String(), &parts); err != nil {
		return fmt.Errorf("slurm_load_partitions: %w", err)
	}
	var nodes wire.NodesResponse
	if err := show.Get(c.caller, wire.Slurm("v0.0.43", wire.PathNodes)+q.String(), &nodes); err != nil {
		return fmt.Errorf("slurm_load_node: %w", err)
	}
	cells, err := c.cells(parts.Partitions, nodes.Nodes)
	if err != nil {
		return err
	}
	if c.json || c.yaml {
		return c.printDocument(cells, parts.Reply)
	}
	c.print(cells)
	return nil
}

// print writes the rows that the cells make under the format.
func (c *command) print(cells []cell) {
	layout := c.layout(cells)
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
	if c.format2 != "" {
		var layout show.Layout[group]
		for item := range strings.SplitSeq(c.format2, ",") {
			columns, unknown := show.LongFormat(item, names)
			for _, u := range unknown {
				fmt.Fprintf(c.stderr, "sinfo: error: Invalid job format specification: %s\n", u) // a node format; sinfo says so
				if strings.EqualFold(u, "all") {                                                 // which it complains of, and knows all the same
					columns, _ = show.Format(allFormat, letters)
				}
			}
			layout = append(layout, columns...)
		}
		return layout
	}
	layout, unknown := show.Format(c.oneFormat(cells), letters)
	for _, u := range unknown {
		fmt.Fprintf(c.stderr, "Invalid node format specification: %s\n", u)
	}
	return layout
}

func (c *command) oneFormat(cells []cell) string {
	switch {
	case c.format == "%all":
		return allFormat
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
