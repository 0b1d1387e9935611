package blobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/memblob" // mem://, for tests
	"gocloud.dev/gcerrors"
	"golang.org/x/sys/unix"

	"fsub/federation"
)

// Config says what store to open.
type Config struct {
	// URL of the bucket, with the parameters that gocloud.dev knows for its kind: "s3://bucket?region=eu-central-1&prefix=fsub/",
	// "gs://bucket?access_id=...&private_key_path=...", "azblob://container?...", "file:///var/lib/fsub/blobs".
	URL string
	// Public is where nodes reach [Store.ServeHTTP]: "http://login1:6830". Only for file://.
	Public string
	Key    []byte // signs addresses. Only for file://
	Max    int64  // bytes that a PUT by address may have; 0: no bound. Only for file://
	Free   int64  // bytes of its file system that PUTs leave free. Only for file://
	// Outlives reports whether an object is to be on the disk before it counts as written, so that it outlives a crash of the machine. Only for file://; nil: none is.
	Outlives func(key string) bool
}

// MostByAddress is how many bytes a store of the URL takes in one PUT; 0: as many as it is told.
func MostByAddress(url string) int64 {
	if scheme, _, _ := strings.Cut(url, ":"); scheme == "s3" || scheme == "azblob" {
		return 5000 << 20 // of Azure; S3 takes 5 GiB
	}
	return 0
}

// Store implements staging.Objects.
type Store struct {
	bucket *blob.Bucket
	signer *fileblob.URLSignerHMAC // for file://
	max    int64
	least  uint64                 // bytes that stay free
	free   func() (uint64, error) // bytes that are
	header []string

	outlives func(key string) bool
}

const noWarning = "response_checksum_validation"

// Open opens the bucket. Credentials of a cloud come from where its own tools have them: the environment, files, the instance.
func Open(ctx context.Context, c Config) (*Store, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("blobs: url: %w", err)
	}
	s := &Store{max: c.Max, least: uint64(c.Free), outlives: c.Outlives}
	switch u.Scheme {
	case "file":
		return s, s.openDirectory(u, c)
	case "azblob":
		s.header = []string{"x-ms-blob-type: BlockBlob"}
	case "s3":
		// What a node has put by address has no checksum of the SDK's: it would complain of each.
		q := u.Query()
		if !q.Has(noWarning) {
			q.Set(noWarning, "when_required")
			u.RawQuery = q.Encode()
		}
	}
	if s.bucket, err = blob.OpenBucket(ctx, u.String()); err != nil {
		return nil, fmt.Errorf("blobs: url %s: %w", u.Redacted(), err)
	}
	return s, nil
}

func (s *Store) openDirectory(u *url.URL, c Config) error {
	public, err := url.Parse(c.Public)
	if err != nil || public.Scheme != "http" && public.Scheme != "https" || public.Host == "" {
		return fmt.Errorf("blobs: invalid public_url %q: want an http:// or https:// address at which nodes reach the daemon's blobs", c.Public)
	}
	if len(c.Key) < 32 {
		return errors.New("blobs: the key that signs addresses is shorter than 32 bytes")
	}
	dir := filepath.FromSlash(u.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("blobs: %w", err)
	}
	s.free = func() (uint64, error) {
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		return st.Bavail * uint64(st.Bsize), err
	}
	public.Path = blobPath
	s.signer = fileblob.NewURLSignerHMAC(public, c.Key)
	s.bucket, err = fileblob.OpenBucket(dir, &fileblob.Options{
		URLSigner: s.signer, DirFileMode: 0o700, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
	return err
}

// Close ends the connections to the store.
func (s *Store) Close() error { return s.bucket.Close() }

// wrap gives an error of the store the kind that callers act on.
func wrap(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fmt.Errorf("%w: %w", federation.ErrNotFound, err)
	}
	return err
}

// Put implements staging.Objects.
func (s *Store) Put(ctx context.Context, key string, r io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before Close it gives up what was written
	opts := &blob.WriterOptions{ContentType: "application/octet-stream"}
	var d *disk
	if s.signer != nil && s.outlives != nil && s.outlives(key) {
		d = &disk{}
		opts.BeforeWrite = d.take
	}
	w, err := s.bucket.NewWriter(ctx, key, opts)
	if err != nil {
		return err
	}
	if d != nil {
		err = d.copy(w, r)
	} else {
		_, err = io.Copy(w, r)
	}
	if err != nil {
		cancel()
		w.Close()
		return err
	}
	return w.Close()
}

// Get implements staging.Objects.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := s.bucket.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, wrap(err)
	}
	return r, nil
}

// Size implements staging.Objects.
func (s *Store) Size(ctx context.Context, key string) (int64, error) {
	a, err := s.bucket.Attributes(ctx, key)
	if err != nil {
		return 0, wrap(err)
	}
	return a.Size, nil
}

// List implements staging.Objects.
func (s *Store) List(ctx context.Context, prefix string, each func(key string, at time.Time) error) error {
	opts := &blob.ListOptions{Prefix: prefix}
	token, tries := blob.FirstPageToken, 0
	for {
		page, next, err := s.bucket.ListPage(ctx, token, 1000, opts)
		if s.signer != nil && gcerrors.Code(err) == gcerrors.NotFound && tries < mostTries { // a file of the directory was renamed or removed while it was read
			tries++
			continue
		}
		if err != nil {
			return err
		}
		for _, o := range page {
			if err := each(o.Key, o.ModTime); err != nil {
				return err
			}
		}
		if token, tries = next, 0; len(next) == 0 {
			return nil
		}
	}
}

const mostTries = 100 // of one page of a list

// Delete implements staging.Objects.
func (s *Store) Delete(ctx context.Context, key string) error { return wrap(s.bucket.Delete(ctx, key)) }

// Sign implements staging.Objects.
func (s *Store) Sign(ctx context.Context, method, key string, life time.Duration) (string, error) {
	return s.bucket.SignedURL(ctx, key, &blob.SignedURLOptions{Method: method, Expiry: life})
}

// PutHeaders implements staging.Objects.
func (s *Store) PutHeaders() []string { return s.header }

var _ http.Handler = (*Store)(nil)
