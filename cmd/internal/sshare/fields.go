package sshare

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"fsub/cmd/internal/assoc"
	v1 "fsub/federation/api/v1"
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
	{Name: "EffectvUsage", Header: "EffectvUsage", Width: 13, Value: usage(func(u *v1.ShareUsage) float64 { return u.Effective })},
	{Name: "FairShare", Header: "FairShare", Width: 10, Value: fairShare},
	{Name: "GrpTRESMins", Header: "GrpTRESMins", Width: 30, Value: notComputed},
	{Name: "GrpTRESRaw", Header: "GrpTRESRaw", Width: 30, Value: notComputed},
	{Name: "ID", Header: "ID", Width: 6, Value: func(n *node) string { return assoc.ID(n.ID) }},
	{Name: "LevelFS", Header: "LevelFS", Width: 10, Value: levelFS},
	{Name: "NormShares", Header: "NormShares", Width: 11, Value: normShares},
	{Name: "NormUsage", Header: "NormUsage", Width: 11, Value: usage(func(u *v1.ShareUsage) float64 { return u.Norm })},
	{Name: "Partition", Header: "Partition", Width: 12, Value: func(n *node) string { return n.Partition }},
	{Name: "RawShares", Header: "RawShares", Width: 10, Value: shares},
	{Name: "RawUsage", Header: "RawUsage", Width: 11, Value: rawUsage},
	{Name: "TRESRunMins", Header: "TRESRunMins", Width: 30, Value: notComputed},
	{Name: "User", Header: "User", Width: 10, Value: func(n *node) string { return n.User }},
}

func account(n *node) string { return strings.Repeat(" ", n.depth) + n.Account }

func shares(n *node) string {
	if len(n.Above) == 0 && n.User == "" {
		return "" // root has all
	}
	if n.Shares == math.MaxInt32 {
		return "parent"
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

// usage is a column of what was used; nothing where that is not told.
func usage(of func(*v1.ShareUsage) float64) func(*node) string {
	return func(n *node) string {
		if n.Usage == nil {
			return notComputed(n)
		}
		return sixDigits(of(n.Usage))
	}
}

func sixDigits(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }

func rawUsage(n *node) string {
	if n.Usage == nil {
		return notComputed(n)
	}
	return strconv.FormatFloat(math.Trunc(n.Usage.Raw), 'f', 0, 64)
}

func normShares(n *node) string {
	if n.Usage != nil {
		return sixDigits(n.Usage.NormShares)
	}
	return sixDigits(n.Norm)
}

// fairShare is of users alone.
func fairShare(n *node) string {
	if n.Usage == nil || n.User == "" {
		return ""
	}
	return sixDigits(n.Usage.FairShare)
}

// levelFS has no meaning for the root, nor for who has no shares of his own.
func levelFS(n *node) string {
	switch {
	case n.Usage == nil || n.User == "" && n.ParentAccount == "" || n.Shares == math.MaxInt32:
		return ""
	case n.Usage.LevelFS < 0:
		return "inf"
	}
	return sixDigits(n.Usage.LevelFS)
}
