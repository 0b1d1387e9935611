package staging

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed wrapper.sh
var wrapperBody string

// Wrapper is the script that a site gets in place of the user's.
type Wrapper struct {
	Scratch   string         // directory of the nodes in which the job's own is made
	Blocks    map[int]string // addresses of the objects of addresses, by number of the block
	Sum       string         // SHA-256 of the archive that the job starts with, in hex
	Array     bool           // it runs as tasks of an array
	TwoFiles  bool           // standard error has a file of its own
	Max       int64          // bytes of a copy of what is kept
	MaxOne    int64          // bytes of each other archive that is sent back
	Piece     int64          // bytes of each piece of a copy but the last
	PutHeader string         // "Name: value" that a PUT must have
	Every     time.Duration  // between two copies of what is kept
	Plan      Plan
}

// Text is the script. It needs a POSIX shell, tar, sha256sum, and one of curl, python3 and wget.
func (w Wrapper) Text() string {
	var b strings.Builder
	header := w.PutHeader
	if header == "" { // a command line needs one; this one changes nothing
		header = "Accept: */*"
	}
	fmt.Fprintf(&b, "#!/bin/sh\n_fsub_scratch=%s _fsub_array=%d _fsub_two=%d _fsub_max=%d _fsub_one=%d _fsub_piece=%d _fsub_first=%d _fsub_pieces=%d _fsub_header=%s _fsub_sum=%s\n",
		quote(w.Scratch), bit(w.Array), bit(w.TwoFiles), w.Max, w.MaxOne, w.Piece, firstPiece, pieces, quote(header), quote(w.Sum))
	b.WriteString("_fsub_block() {\n")
	if !w.Array {
		fmt.Fprintf(&b, "\techo %s\n", quote(w.Blocks[0]))
	} else {
		fmt.Fprintf(&b, "\tcase $((_fsub_task / %d)) in\n", blockSize)
		for _, n := range slices.Sorted(maps.Keys(w.Blocks)) {
			fmt.Fprintf(&b, "\t%d) echo %s ;;\n", n, quote(w.Blocks[n]))
		}
		b.WriteString("\tesac\n")
	}
	b.WriteString("}\n")
	kept := make([]string, len(w.Plan.Keep))
	for i, name := range w.Plan.Keep {
		kept[i] = quote("./" + name)
	}
	every := 0
	if len(kept) > 0 {
		every = max(int(w.Every.Seconds()), 1)
	}
	fmt.Fprintf(&b, "_fsub_every=%d\n_fsub_kept() { \"$1\" %s; }\n", every, strings.Join(kept, " "))
	function(&b, "_fsub_in", "", w.Plan.InRemote, "_fsub_fetch")
	var out strings.Builder
	for i, it := range w.Plan.Out {
		fmt.Fprintf(&out, "\t_fsub_collect %s %s || _fsub_bad=1\n", strconv.Itoa(i), quote(it.From))
	}
	function(&b, "_fsub_results", out.String(), w.Plan.OutRemote, "_fsub_send")
	b.WriteString(wrapperBody)
	return b.String()
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// function writes a shell function that runs lines and then each remote copy; its status says whether all went well.
func function(b *strings.Builder, name, lines string, remotes []Remote, command string) {
	fmt.Fprintf(b, "%s() {\n\t_fsub_bad=0\n%s", name, lines)
	for _, r := range remotes {
		fmt.Fprintf(b, "\t%s %s %s || _fsub_bad=1\n", command, quote(r.Path), quote(r.URL))
	}
	b.WriteString("\treturn $_fsub_bad\n}\n")
}

// quote makes one word of text for a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
