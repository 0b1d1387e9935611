// Package staging runs jobs at sites that do not see the user's file system. [Stager] is the federation.Stager: it packs a
// job's script and files, as the user, into a store of objects (package blobs); gives the site a script in place of the
// user's ([Wrapper]) that fetches them with plain HTTP, runs the user's own script unchanged, sends its output while it runs
// and its results when it has ended; and brings both home, as the user, to where sbatch would have put them.
//
// What lies in the store, below a prefix of each attempt (prefixOf):
//
//	in.TRY.tar        slurm_script, stdin, and work/...: what the job starts with
//	urls.N            signed addresses for a block of an array's tasks; "task name address" in each line
//	TASK/out.K err.K  a piece of the output: it grows, and the next one begins where it is full (pieceStart)
//	TASK/state        how many bytes of output count, and how the script ended
//	TASK/files.I.tar  what stage-out directive I named
//	TASK/keep.TRY     which of the two copies of what --keep names counts: see mark
//	TASK/keep.TRY.N.I the two, a tar archive each, in pieces
//	lost              no copy was whole when the attempt began: later ones begin without those
//	TASK/home         all of it has been brought home
//
// TASK is the index of an array's task, "-" for any other job. Only a node reads and writes by address; it holds one
// address per object, and no credential. Every object may be written again with newer content.
package staging
