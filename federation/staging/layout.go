package staging

import (
	"strconv"
	"strings"

	"fsub/federation"
)

// prefixOf is where the objects of an attempt lie: "bed/30000001/1.k3xq9/" for the key "fsub:bed:30000001.1.k3xq9". The same
// attempt always has the same, no two attempts share one.
func prefixOf(key string) string {
	key = strings.TrimPrefix(key, "fsub:")
	key = strings.Replace(key, ":", "/", 1)
	fed, rest, _ := strings.Cut(key, "/")
	return fed + "/" + strings.Replace(rest, ".", "/", 1) + "/"
}

// jobOf returns the job that an object belongs to, 0 if it is not one of the federation's.
func jobOf(federationName, key string) federation.JobID {
	rest, ok := strings.CutPrefix(key, federationName+"/")
	id, _, ok2 := strings.Cut(rest, "/")
	n, err := strconv.ParseUint(id, 10, 32)
	if !ok || !ok2 || err != nil {
		return 0
	}
	return federation.JobID(n)
}

// noTask is the task of a job that is not an array.
const noTask = -1

// taskName is how a task is named in keys and by the wrapper.
func taskName(task int) string {
	if task == noTask {
		return "-"
	}
	return strconv.Itoa(task)
}

// Pieces of output: the first has 64 KiB, each further one four times as much. All of them together bound what is kept.
const (
	pieces     = 7
	firstPiece = 64 << 10
	// MaxLog is how many bytes of each output stream come home: 341 MiB.
	MaxLog = firstPiece * (1<<(2*pieces) - 1) / 3
)

// pieceStart is the offset of the first byte of piece k.
func pieceStart(k int) int64 { return firstPiece * (1<<(2*k) - 1) / 3 }

// blockSize is how many tasks of an array share one object of addresses: a task reads only that.
const blockSize = 50

// taskOf is the task that a name below an attempt's prefix belongs to.
func taskOf(name string) (int, error) {
	first, _, _ := strings.Cut(name, "/")
	if first == "-" {
		return noTask, nil
	}
	return strconv.Atoi(first)
}
