package daemon

import (
	"context"
	"strings"

	"fsub/federation"
	"fsub/federation/staging"
	"fsub/federation/staging/home"
)

// packFiles are the files that jobs of several tasks and the daemon share (package federation/pack), as their owners.
type packFiles struct{ files home.Spawner }

func newPackFiles() packFiles {
	return packFiles{home.Spawner{Command: []string{"/proc/self/exe", asUser}}}
}

// mostStatus bounds what is read at once: a task writes two lines.
const mostStatus = 16 << 20

func ownerOf(j *federation.Job) staging.User {
	return staging.User{Name: j.User, UID: j.UID, GID: j.GID, Umask: 0o077}
}

func (p packFiles) Write(ctx context.Context, owner *federation.Job, name string, appendTo bool, text string) error {
	return p.files.Write(ctx, ownerOf(owner), name, appendTo, strings.NewReader(text))
}

func (p packFiles) Read(ctx context.Context, owner *federation.Job, names []string) ([][]byte, error) {
	return p.files.Read(ctx, ownerOf(owner), names, mostStatus)
}

func (p packFiles) Remove(ctx context.Context, owner *federation.Job, names []string) error {
	return p.files.Remove(ctx, ownerOf(owner), names)
}
