package blobs

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"fsub/federation"
)

// blobPath is the path of every address; which object is meant, and the signature, are in its query.
const blobPath = "/blob"

// ServeHTTP answers GET and PUT with an address that [Store.Sign] has made, for a bucket in a directory. There is nothing else to be
// had: no listing, no object without its own address.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.signer == nil || r.URL.Path != blobPath {
		http.NotFound(w, r)
		return
	}
	key, err := s.signer.KeyFromURL(r.Context(), r.URL)
	if err != nil || r.Method != r.URL.Query().Get("method") {
		http.Error(w, "this address is not valid, not any more, or not for this method", http.StatusForbidden)
		return
	}
	switch r.Method {
	case http.MethodGet:
		s.serveGet(w, r, key)
	case http.MethodPut:
		s.servePut(w, r, key)
	default:
		http.Error(w, "only GET and PUT", http.StatusMethodNotAllowed)
	}
}

func (s *Store) serveGet(w http.ResponseWriter, r *http.Request, key string) {
	blob, err := s.bucket.NewReader(r.Context(), key, nil)
	if err != nil {
		code := http.StatusInternalServerError
		if errors.Is(wrap(err), federation.ErrNotFound) {
			code = http.StatusNotFound
		}
		http.Error(w, http.StatusText(code), code)
		return
	}
	defer blob.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(blob.Size(), 10))
	rc := http.NewResponseController(w)
	io.Copy(idle{w, rc}, blob)
	_ = rc.SetWriteDeadline(time.Time{}) // the connection lives on
}

func (s *Store) servePut(w http.ResponseWriter, r *http.Request, key string) {
	if s.max > 0 && r.ContentLength > s.max {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	body := io.Reader(&roomyReader{idleReader{r.Body, http.NewResponseController(w)}, s, 0})
	if s.max > 0 {
		body = http.MaxBytesReader(w, io.NopCloser(body), s.max)
	}
	err := s.Put(r.Context(), key, body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
	case errors.Is(err, errFull):
		http.Error(w, err.Error(), http.StatusInsufficientStorage)
	case err != nil:
		http.Error(w, "cannot be written", http.StatusInternalServerError)
	default:
		w.WriteHeader(http.StatusCreated)
	}
}

// idleTime is how long a node may be silent in the middle of a file.
const idleTime = 2 * time.Minute

type idle struct {
	io.Writer
	rc *http.ResponseController
}

func (i idle) Write(p []byte) (int, error) {
	_ = i.rc.SetWriteDeadline(time.Now().Add(idleTime)) // not every ResponseWriter can: tests'
	return i.Writer.Write(p)
}

type idleReader struct {
	io.Reader
	rc *http.ResponseController
}

func (i idleReader) Read(p []byte) (int, error) {
	_ = i.rc.SetReadDeadline(time.Now().Add(idleTime))
	return i.Reader.Read(p)
}

// often is after how many bytes it is looked again whether there is room.
const often = 16 << 20

var errFull = errors.New("the file system of the store is nearly full")

// roomyReader reads for as long as the store has room for more.
type roomyReader struct {
	io.Reader
	store *Store
	until int // bytes to the next look
}

func (r *roomyReader) Read(p []byte) (int, error) {
	if r.until <= 0 {
		if free, err := r.store.free(); err != nil || free < r.store.least {
			return 0, errors.Join(errFull, err)
		}
		r.until = often
	}
	n, err := r.Reader.Read(p)
	r.until -= n
	return n, err
}
