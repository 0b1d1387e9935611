// Command gen writes table.txt of package model from botocore's service-2.json of EC2 (plain or gzip), which is Amazon's own model of the API:
//
//	go run ./testbed/ec2/model/gen botocore/data/ec2/2016-11-15/service-2.json.gz "botocore 1.44.5" > testbed/ec2/model/table.txt
//
// It keeps the actions named in actions, with every shape that they reach, and leaves the documentation out.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const actions = `RunInstances TerminateInstances DescribeInstances CreateTags
DescribeInstanceTypes DescribeInstanceTypeOfferings DescribeSpotPriceHistory
DescribeSubnets DescribeRouteTables DescribeSecurityGroups DescribeImages GetConsoleOutput
CreatePlacementGroup DescribePlacementGroups DeletePlacementGroup DescribeInstanceTopology
DescribeCapacityReservations
CreateLaunchTemplate DeleteLaunchTemplate DescribeLaunchTemplates CreateFleet`

type ref struct {
	Shape        string `json:"shape"`
	LocationName string `json:"locationName"`
	QueryName    string `json:"queryName"`
}

type service struct {
	Operations map[string]struct{ Input, Output ref }
	Shapes     map[string]*struct {
		Type     string
		Members  map[string]ref
		Member   ref
		Required []string
		Enum     []string
		Min, Max *json.Number
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen service-2.json[.gz] ORIGIN")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(path, origin string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if zip, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		if data, err = io.ReadAll(zip); err != nil {
			return err
		}
	}
	var s service
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	w := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(w, "# Amazon's model of the EC2 API (2016-11-15), cut down to some actions. Origin: %s, Apache-2.0. Written by gen.\n", origin)
	seen := map[string]bool{}
	for _, a := range strings.Fields(actions) {
		op, ok := s.Operations[a]
		if !ok {
			return fmt.Errorf("the model has no action %s", a)
		}
		fmt.Fprintf(w, "op %s %s %s\n", a, dash(op.Input.Shape), dash(op.Output.Shape))
		s.walk(op.Input.Shape, seen)
		s.walk(op.Output.Shape, seen)
	}
	for _, name := range sorted(seen) {
		s.print(w, name)
	}
	return w.Flush()
}

// walk adds name and all that it reaches to seen.
func (s *service) walk(name string, seen map[string]bool) {
	if name == "" || seen[name] {
		return
	}
	seen[name] = true
	shape := s.Shapes[name]
	for _, m := range shape.Members {
		s.walk(m.Shape, seen)
	}
	s.walk(shape.Member.Shape, seen)
}

// print writes one shape. A member's line: its name, its name in requests, in answers, its shape, "!" where it is required.
func (s *service) print(w io.Writer, name string) {
	shape := s.Shapes[name]
	fmt.Fprintf(w, "%s %s", shape.Type, name)
	if shape.Min != nil {
		fmt.Fprintf(w, " min=%s", *shape.Min)
	}
	if shape.Max != nil {
		fmt.Fprintf(w, " max=%s", *shape.Max)
	}
	if shape.Type == "list" {
		fmt.Fprintf(w, " %s %s", or(shape.Member.LocationName, "member"), shape.Member.Shape)
	}
	for _, v := range shape.Enum {
		fmt.Fprintf(w, " %s", strings.ReplaceAll(v, " ", `\s`))
	}
	fmt.Fprintln(w)
	for _, member := range sorted(shape.Members) {
		m := shape.Members[member]
		in := or(m.QueryName, upper(or(m.LocationName, member)))
		fmt.Fprintf(w, " %s %s %s %s", member, in, or(m.LocationName, member), m.Shape)
		if slices.Contains(shape.Required, member) {
			fmt.Fprint(w, " !")
		}
		fmt.Fprintln(w)
	}
}

func sorted[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func dash(s string) string { return or(s, "-") }

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
