// Package sweep removes the files that clients of PMIx have named to their server ([pmix.Cleaner]):
// of a task when it has ended, of a step when that has, and of a step whose daemon was killed when
// anybody looks again ([Stale]). It works with the rights of its own process, which is the user's:
// it follows no link that it finds, leaves what another user owns, and does not go into other file systems.
//
// A [Sweeper] belongs to a folder, the step's on its node. A note in it says what is still to be
// removed; as long as the step daemon lives it holds a lock on the note.
package sweep
