package output

import (
	"os"
	"sync"
	"syscall"
)

// quota knows how many bytes the files of each user have. Whose a file is, its owner says: the directory is closed to all but the daemon, which can
// give files away only as root. Without that all are its own, and so are the jobs.
type quota struct {
	mu    sync.Mutex
	bytes map[uint32]int64
}

// count takes over what the files of a directory come to.
func (q *quota) count(list []os.DirEntry) {
	bytes := map[uint32]int64{}
	for _, e := range list {
		if info, err := e.Info(); err == nil {
			bytes[ownerOf(info)] += info.Size()
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes = bytes
}

func (q *quota) add(uid uint32, n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes == nil {
		q.bytes = map[uint32]int64{}
	}
	q.bytes[uid] += n
}

func (q *quota) of(uid uint32) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes[uid]
}

func ownerOf(info os.FileInfo) uint32 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return 0
}

// little is what everybody may keep as long as there is room at all.
const little = 64 << 20

// left is how many bytes more a file of a size may get. When room becomes scarce, those are cut off first who have taken most of it.
func (f *Files) left(size int64, uid uint32, free uint64) int64 {
	n, held := int64(1)<<62, f.quota.of(uid)
	if f.cfg.Most > 0 {
		n = min(n, f.cfg.Most-size)
	}
	if f.cfg.User > 0 {
		n = min(n, f.cfg.User-held)
	}
	if free < 4*f.cfg.Reserve {
		n = min(n, max(little, int64(free/8))-held)
	}
	return max(n, 0)
}
