package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fsub/cloud/agentapi"
)

// etcGroup is a group of /etc/group.
type etcGroup struct {
	name string
	gid  uint32
}

// fitGroups leaves out the user's groups whose numbers mean another group of this machine's system,
// and returns which: number 6 may be disk here, 27 sudo. If the user's first group is one, that is
// an error. Numbers without a known name come from the site's operator, and stay.
func fitGroups(etc string, u agentapi.User) (fit agentapi.User, left []string, err error) {
	if u.UID == 0 {
		return u, nil, nil
	}
	have, err := groupsOf(etc)
	if err != nil {
		return u, nil, err
	}
	limit := firstGID(etc)
	other := func(gid uint32, name string) string {
		i := slices.IndexFunc(have, func(g etcGroup) bool { return g.gid == gid })
		if gid >= limit || i < 0 || have[i].name == madeUp(gid) || slices.Contains(have, etcGroup{name, gid}) {
			return ""
		}
		return have[i].name
	}
	if is := other(u.GID, u.Group); u.Group != "" && is != "" {
		return u, nil, fmt.Errorf("%s's group %s (%d) is %s on this machine, a group of its system: %s", u.Name, u.Group, u.GID, is, cure)
	}
	if len(u.GroupNames) != len(u.Groups) {
		return u, nil, nil
	}
	fit = u
	fit.Groups, fit.GroupNames = nil, nil
	for i, gid := range u.Groups {
		if is := other(gid, u.GroupNames[i]); is != "" {
			left = append(left, fmt.Sprintf("%s (%d): here it is %s", u.GroupNames[i], gid, is))
			continue
		}
		fit.Groups, fit.GroupNames = append(fit.Groups, gid), append(fit.GroupNames, u.GroupNames[i])
	}
	return fit, left, nil
}

// madeUp is what a group is called that has no name.
func madeUp(gid uint32) string { return fmt.Sprintf("g%d", gid) }

// ownName returns the name, unless another group of this machine has it.
func ownName(etc, name string, gid uint32) (string, error) {
	have, err := groupsOf(etc)
	if slices.ContainsFunc(have, func(g etcGroup) bool { return g.name == name && g.gid != gid }) {
		return madeUp(gid), err
	}
	return name, err
}

func groupsOf(etc string) (all []etcGroup, err error) {
	text, err := os.ReadFile(filepath.Join(etc, "group"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 3 {
			continue
		}
		if gid, err := strconv.ParseUint(f[2], 10, 32); err == nil {
			all = append(all, etcGroup{f[0], uint32(gid)})
		}
	}
	return all, nil
}

// firstGID is the number below which groups are the system's: GID_MIN of login.defs.
func firstGID(etc string) uint32 {
	const usual = 1000
	text, err := os.ReadFile(filepath.Join(etc, "login.defs"))
	if err != nil {
		return usual
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "GID_MIN" {
			if n, err := strconv.ParseUint(f[1], 10, 32); err == nil {
				return uint32(n)
			}
		}
	}
	return usual
}
