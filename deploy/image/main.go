// Command image makes OCI images without Docker: an OCI layout, which podman, skopeo and crane read, of files that are there already.
//
//	image -layout DIR -name fed -entrypoint /usr/sbin/fed,serve -user 65532 root=ROOT bin/fed=/usr/sbin/fed
//
// Each FROM=TO is a file or a directory of this machine and where it stands in the image. Nothing depends on when and where that is done: the times of all files, and of the
// image, are SOURCE_DATE_EPOCH.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	var i image
	flag.StringVar(&i.layout, "layout", "", "directory of the OCI layout; what is there is replaced")
	flag.StringVar(&i.name, "name", "", "name of the image, as in fed:v0.5.0")
	flag.StringVar(&i.arch, "arch", "amd64", "processor: amd64 or arm64")
	flag.StringVar(&i.entrypoint, "entrypoint", "", "command that the image runs, with commas between its words")
	flag.StringVar(&i.user, "user", "0", "uid that it runs as")
	flag.Parse()
	if err := i.make(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image: error:", err)
		os.Exit(1)
	}
}

// image is what is made.
type image struct {
	layout, name, arch, entrypoint, user string
	made                                 time.Time
}

// descriptor names a blob of the layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    map[string]string `json:"platform,omitempty"`
}

func (i *image) make(parts []string) error {
	if i.layout == "" || i.name == "" || len(parts) == 0 {
		return errors.New("want -layout DIR -name NAME and FROM=TO for each part")
	}
	epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return errors.New("SOURCE_DATE_EPOCH is to be the time of the image, in seconds since 1970")
	}
	i.made = time.Unix(epoch, 0).UTC()
	files, err := i.files(parts)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(i.layout); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(i.layout, "blobs/sha256"), 0o755); err != nil {
		return err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(files); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	layer, err := i.blob("application/vnd.oci.image.layer.v1.tar+gzip", packed.Bytes())
	if err != nil {
		return err
	}
	config, err := i.object("application/vnd.oci.image.config.v1+json", map[string]any{
		"created": i.made.Format(time.RFC3339), "architecture": i.arch, "os": "linux",
		"config": map[string]any{"User": i.user, "Entrypoint": strings.Split(i.entrypoint, ","), "WorkingDir": "/",
			"Env": []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/var/lib/fsub"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(files)}},
	})
	if err != nil {
		return err
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	manifest, err := i.object(manifestType, map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []descriptor{layer}})
	if err != nil {
		return err
	}
	manifest.Annotations = map[string]string{"org.opencontainers.image.ref.name": i.name}
	manifest.Platform = map[string]string{"architecture": i.arch, "os": "linux"}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []descriptor{manifest}})
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(i.layout, "index.json"), index, 0o644),
		os.WriteFile(filepath.Join(i.layout, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644))
}

func (i *image) object(mediaType string, v any) (descriptor, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return descriptor{}, err
	}
	return i.blob(mediaType, text)
}

func (i *image) blob(mediaType string, content []byte) (descriptor, error) {
	d := descriptor{MediaType: mediaType, Digest: digest(content), Size: len(content)}
	return d, os.WriteFile(filepath.Join(i.layout, "blobs", strings.ReplaceAll(d.Digest, ":", "/")), content, 0o644)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// files are the parts as one archive, all of root's.
func (i *image) files(parts []string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	there := map[string]bool{}
	for _, part := range parts {
		from, to, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("invalid part %q: want FROM=TO", part)
		}
		err := filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			below, err := filepath.Rel(from, file)
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(path.Join("/", to, filepath.ToSlash(below)), "/")
			if name == "" || there[name] && d.IsDir() {
				return nil
			}
			if err := i.parents(w, there, name); err != nil {
				return err
			}
			there[name] = true
			return i.add(w, file, name, d)
		})
		if err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// parents adds the directories above a file that are not there yet.
func (i *image) parents(w *tar.Writer, there map[string]bool, name string) error {
	dir := path.Dir(name)
	if dir == "." || there[dir] {
		return nil
	}
	if err := i.parents(w, there, dir); err != nil {
		return err
	}
	there[dir] = true
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: i.made})
}

func (i *image) add(w *tar.Writer, file, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	target := ""
	if info.Mode().Type() == fs.ModeSymlink {
		if target, err = os.Readlink(file); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	h.Name, h.ModTime, h.AccessTime, h.ChangeTime = name, i.made, time.Time{}, time.Time{}
	h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
	if d.IsDir() {
		h.Name += "/"
	}
	if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}
