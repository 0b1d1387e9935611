package sshare

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"fsub/cmd/internal/assoc"
)

// node is one row: its depth is the number of accounts above it that have a row too.
type node struct {
	assoc.Node
	depth int
}

// fields are sshare's columns, in the order of its --helpformat.
var fields = []assoc.Field[node]{
	{Name: "Account", Header: "Account", Width: -20, Value: account},
	{Name: "Cluster", Header: "Cluster", Width: 10, Value: func(n *node) string { return n.Cluster }},
	{Name: "EffectvUsage", Header: "EffectvUsage", Width: 13, Value: notComputed},
	{Name: "FairShare", Header: "FairShare", Width: 10, Value: notComputed},
	{Name: "GrpTRESMins", Header: "GrpTRESMins", Width: 30, Value: notComputed},
	{Name: "GrpTRESRaw", Header: "GrpTRESRaw", Width: 30, Value: notComputed},
	{Name: "ID", Header: "ID", Width: 6, Value: func(n *node) string { return assoc.ID(n.ID) }},
	{Name: "LevelFS", Header: "LevelFS", Width: 10, Value: notComputed},
	{Name: "NormShares", Header: "NormShares", Width: 11, Value: func(n *node) string { return strconv.FormatFloat(n.Norm, 'f', 6, 64) }},
	{Name: "NormUsage", Header: "NormUsage", Width: 11, Value: notComputed},
	{Name: "Partition", Header: "Partition", Width: 12, Value: func(n *node) string { return n.Partition }},
	{Name: "RawShares", Header: "RawShares", Width: 10, Value: shares},
	{Name: "RawUsage", Header: "RawUsage", Width: 11, Value: notComputed},
	{Name: "TRESRunMins", Header: "TRESRunMins", Width: 30, Value: notComputed},
	{Name: "User", Header: "User", Width: 10, Value: func(n *node) string { return n.User }},
}

func account(n *node) string { return strings.Repeat(" ", n.depth) + n.Account }

func shares(n *node) string {
	if len(n.Above) == 0 && n.User == "" {
		return "" // root has all
	}
	return strconv.FormatInt(n.Shares, 10)
}

// notComputed is what follows from use: nothing rather than a number that would not be true.
func notComputed(*node) string { return "" }

// printFields is --helpformat: the names, four in a line.
func printFields(w io.Writer) {
	for i, f := range fields {
		fmt.Fprintf(w, "%-17s%s", f.Name, map[bool]string{true: "\n", false: " "}[i%4 == 3 || i == len(fields)-1])
	}
}
