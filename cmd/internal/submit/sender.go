package submit

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cmd/internal/conn"
	v1 "fsub/federation/api/v1"
)

// sender sends one submission until it is known whether there is a job: the daemon makes no second one under the same key.
type sender struct {
	conn *conn.Conn
	path string // "": that of one job
	key  string // "": a random one
	body []byte
	say  func(line string) // for whom waits
}

// What was lost is sent again after these pauses: half a minute in all, in which a daemon that was ended has come back. A daemon that
// answers nothing has been waited for already.
var again = []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second}

// maxRetries is how often sbatch tries again where its controller takes no job just now; after the n-th time it waits n seconds.
const maxRetries = 15

// maxReasons bounds how many reasons who waits is told: some have figures in them that change all the time.
const maxReasons = 3

func (s *sender) send() (status int, reply []byte, err error) {
	if s.key == "" {
		s.key = randomKey()
	}
	var told []string // reasons: it may begin with one and go on with another
	for busy := 1; ; busy++ {
		status, reply, err = s.sendOnce()
		if err != nil || !tryLater(reply) || busy > maxRetries {
			return status, reply, err
		}
		if busy == 1 {
			s.say("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying")
		}
		if why := detailOf(reply); why != "" && len(told) < maxReasons && !slices.Contains(told, why) {
			told = append(told, why)
			s.say("sbatch: error: " + why)
		}
		time.Sleep(time.Duration(busy) * time.Second)
	}
}

// sendOnce sends the submission until there is an answer.
func (s *sender) sendOnce() (status int, reply []byte, err error) {
	status, reply, err = s.post()
	if err == nil || errors.Is(err, conn.ErrConnect) || s.key == "" { // nothing was sent; or it cannot be told from another
		return status, reply, err
	}
	lost := err
	for _, pause := range again {
		if errors.Is(err, conn.ErrTimeout) { // half a minute went by
			pause = 0
		}
		time.Sleep(pause)
		if status, reply, err = s.post(); err == nil {
			return status, reply, nil
		}
		if errors.Is(err, conn.ErrTimeout) && errors.Is(lost, conn.ErrTimeout) { // twice
			break
		}
	}
	var e *conn.Error
	if errors.As(lost, &e) {
		e.Detail += "; or repeat it with --fed-key=" + s.key + ", which makes no second job"
	}
	return 0, nil, lost
}

// post is one try. A machine's agent, which passes requests on to the daemon, says with status 503 that it does not know what became of one.
func (s *sender) post() (status int, reply []byte, err error) {
	status, reply, err = s.conn.DoKeyed("POST", cmp.Or(s.path, "/fed/v1/job"), s.key, s.body)
	if err == nil && status == 503 && !bytes.HasPrefix(reply, []byte("{")) { // the daemon's own refusal is JSON
		err = &conn.Error{Err: conn.ErrLost, Detail: string(reply[:min(len(reply), 300)]) + "; it may have been carried out: look before you repeat it (squeue --me)"}
	}
	return status, reply, err
}

// tryLater reports whether the daemon takes no job just now: its errno is EAGAIN.
func tryLater(reply []byte) bool {
	const eagain = 11
	return bytes.HasPrefix(reply, []byte(`{"error":{"number":`+strconv.Itoa(eagain)+`,`))
}

// detailOf is the reason of a refusal, for people.
func detailOf(reply []byte) string {
	var e v1.ErrorResponse
	if json.Unmarshal(reply, &e) != nil {
		return ""
	}
	return e.Error.Detail
}

// randomKey is one that nobody has used; "" if the kernel has no chance to offer.
func randomKey() string {
	var b [16]byte
	if n, err := unix.Getrandom(b[:], 0); err != nil || n != len(b) {
		return ""
	}
	return hex.EncodeToString(b[:])
}
