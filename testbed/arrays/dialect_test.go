package arrays

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Our commands speak as those of 24.11 do, at all sites. Where other versions have other words for the same, this file says which.

var (
	inBrackets = regexp.MustCompile(`NUMBER_\[([^]]*)\]: `)
	highExit   = regexp.MustCompile(`\|(1[3-9]\d|2\d\d):0`)
	nothing    = regexp.MustCompile(`(?m)^(\(null\): No error|scancel: error: Kill job error on job id NUMBER: Invalid job id specified)\n`)
)

// today is what a site's own command says in the words of 24.11.
func (s *side) today(text string) string {
	switch s.site {
	case "gamma": // 26.05 writes brackets around one task, too, and leaves an exit code above 128 as it is
		text = highExit.ReplaceAllStringFunc(inBrackets.ReplaceAllString(text, "NUMBER_$1: "), func(m string) string {
			code, _ := strconv.Atoi(m[1:4])
			return fmt.Sprintf("|%d:0", code-128)
		})
		text = strings.ReplaceAll(text, "slurm_suspend error:Invalid", "slurm_suspend error: Invalid")
	case "delta": // 22.05 fails where there is nothing to do, after it has done the rest
		text = nothing.ReplaceAllString(text, "")
	}
	return text
}

// nameless is a line of 22.05's sacct for tasks that were cancelled while they waited, and have no name any more.
var nameless = regexp.MustCompile(`^. NUMBER\|(.*\|)?CANCELLED`)

// columns are options of sacct without the columns that differ at a site: 22.05 does not know restarts, and counts the CPUs of what never had any.
func (s *side) columns(options []string) []string {
	if s.site != "delta" {
		return options
	}
	last := len(options) - 1
	known := slices.DeleteFunc(strings.Split(options[last], ","), func(c string) bool {
		return slices.Contains([]string{"restarts", "alloccpus", "ncpus"}, c)
	})
	return append(slices.Clone(options[:last]), strings.Join(known, ","))
}

// at is a plan without what cannot be done at a site. The API of 22.05 changes no job that has started and signals no script alone, its scontrol update knows no lists of tasks, and
// its scancel -t PENDING of one task cancels all of the array.
func (p *plan) at(site string) *plan {
	if site != "delta" {
		return p
	}
	started := false
	p.steps = slices.DeleteFunc(p.steps, func(step string) bool {
		started = started || step == "settle"
		return strings.HasPrefix(step, "scontrol update jobid=%A") && (started || strings.Contains(step, "[")) ||
			strings.HasPrefix(step, "scancel -t PENDING %A_") || strings.HasPrefix(step, "scancel -b")
	})
	return p
}
