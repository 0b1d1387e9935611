package container

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func set(t testing.TB, words ...string) (*Options, error) {
	t.Helper()
	o := &Options{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		if err := o.Set(name, value); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func TestOptions(t *testing.T) {
	o, err := set(t, "container-image=nvcr.io#nvidia/pytorch:24.01-py3", "container-mounts=/data:/data,./x:/y:ro+rprivate", "container-mounts=/data:/data,/raid,tmpfs:/scratch:size=1G",
		"container-workdir=/w", "container-name=a:no_exec", "container-save=s.sqsh", "container-mount-home", "no-container-remap-root", "container-entrypoint", "container-readonly",
		"container-env=A,B", "container-env=B,C", "container-unshare=ipc,uts", "container-image=nvcr.io#nvidia/pytorch:24.01-py3")
	want := &Options{Image: "nvcr.io#nvidia/pytorch:24.01-py3", Mounts: []Mount{{"/data", "/data", nil}, {"./x", "/y", []string{"ro", "rprivate"}}, {"/raid", "/raid", nil},
		{"tmpfs", "/scratch", []string{"size=1G"}}}, Workdir: "/w", Name: "a", Reuse: "no_exec", Save: "s.sqsh", MountHome: Yes, RemapRoot: No, Entrypoint: Yes, Writable: No,
		Env: []string{"A", "B", "C"}, Unshare: []string{"ipc", "uts"}}
	if err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%+v %v", o, err)
	}
	if !o.Asked() || (&Options{Workdir: "/w"}).Asked() || (*Options)(nil).Asked() || !(&Options{Name: "a"}).Asked() {
		t.Error("whether there is a container is misread")
	}
}

// The sentences are pyxis'.
func TestOptionsRefused(t *testing.T) {
	for words, want := range map[string]string{
		"container-image=":                                "--container-image: argument required",
		"container-image=a container-image=b":             "--container-image specified multiple times",
		"container-mounts=":                               "--container-mounts: argument required",
		"container-mounts=:":                              "--container-mounts: invalid format: :",
		"container-mounts=/tmp:":                          "--container-mounts: invalid format: /tmp:",
		"container-mounts=/a:/b,":                         "--container-mounts: invalid format: ",
		"container-mounts=a:/b":                           `mount source must be a relative path, an absolute path, "tmpfs" or "umount": a`,
		"container-mounts=/a:b":                           "mount target must be a relative path or an absolute path: b",
		"container-mounts=/a:/b:$(x)":                     `--container-mounts: invalid flag "$(x)": /a:/b:$(x)`,
		"container-name=:exec":                            "--container-name: empty name",
		"container-name=/tmp/foo":                         "--container-name: invalid name: /tmp/foo",
		"container-name=a:later":                          `--container-name: flag must be "auto", "create", "exec" or "no_exec"`,
		"container-name=a container-name=b":               "--container-name specified multiple times",
		"container-save=/tmp/":                            "--container-save: target is a directory",
		"container-readonly container-writable":           "both --container-writable and --container-readonly were specified",
		"container-mount-home no-container-mount-home":    "both --container-mount-home and --no-container-mount-home were specified",
		"container-env=FOO,":                              "--container-env: invalid format: FOO,",
		"container-env=$(x)":                              "--container-env: invalid format: $(x)",
		"container-unshare=pid":                           "--container-unshare: unknown namespace 'pid'",
		"container-unshare=net,":                          "--container-unshare: empty namespace argument",
		"container-workdir=":                              "--container-workdir: argument required",
		"container-remap-root no-container-remap-root":    "both --container-remap-root and --no-container-remap-root were specified",
		"container-name=" + strings.Repeat("a", 300) + "": "--container-name: invalid name: " + strings.Repeat("a", 300),
		"container-nosuch=1":                              "--container-nosuch is not a container option",
	} {
		if _, err := set(t, strings.Fields(words)...); err == nil || err.Error() != want {
			t.Errorf("%s: %v, not %s", words, err, want)
		}
	}
}

func TestGiven(t *testing.T) {
	env := []string{StepVariable("container-image") + "=a", StepVariable("container-writable") + "=(null)", Variable("container-image") + "=b", "PYXIS_CONTAINER_IMAGE=c", "PYXIS_CONTAINER_NAME=n",
		"PYXIS_CONTAINER_READONLY=1", "PYXIS_CONTAINER_REMAP_ROOT=No", "PYXIS_CONTAINER_MOUNT_HOME=maybe", "PYXIS_CONTAINER_ENTRYPOINT=yes", "PYXIS_CONTAINER_WORKDIR="}
	lookup := func(name string) (string, bool) { return Lookup(env, name) }
	o, err := Given(lookup, StepVariable)
	want := &Options{Image: "a", Writable: Yes, Name: "n", Reuse: "auto", RemapRoot: No, Entrypoint: Yes}
	if err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%+v %v", o, err)
	}
	if o, err = Given(lookup, Variable); err != nil || o.Image != "b" || o.Writable != No {
		t.Errorf("%+v %v", o, err)
	}
	env = []string{"PYXIS_CONTAINER_MOUNTS=x"}
	if _, err := Given(lookup, Variable); err == nil {
		t.Error("a bad value of a variable was taken")
	}
	own := &Options{Image: "own", Mounts: []Mount{{Source: "/a"}}}
	if got := own.Or(want); got.Image != "own" || got.Name != "n" || got.Writable != Yes || len(got.Mounts) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestImages(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for ref, want := range map[string]string{
		"ubuntu":                                       "docker.io/library/ubuntu:latest",
		"ubuntu:24.04":                                 "docker.io/library/ubuntu:24.04",
		"nvidia/cuda:12.4.0-base":                      "docker.io/nvidia/cuda:12.4.0-base",
		"nvcr.io#nvidia/pytorch:24.01-py3":             "nvcr.io/nvidia/pytorch:24.01-py3",
		"docker://nvcr.io#nvidia/pytorch:24.01-py3":    "nvcr.io/nvidia/pytorch:24.01-py3",
		"nvcr.io/nvidia/pytorch:24.01-py3":             "nvcr.io/nvidia/pytorch:24.01-py3",
		"$oauthtoken@nvcr.io#nvidia/pytorch:24.01-py3": "nvcr.io/nvidia/pytorch:24.01-py3",
		"user@nvidia/cuda":                             "docker.io/nvidia/cuda:latest",
		"registry:5000#team/x:1":                       "registry:5000/team/x:1",
		"registry#x":                                   "registry:443/x:latest",
		"localhost:5000/x":                             "localhost:5000/x:latest",
		"ubuntu@" + digest:                             "docker.io/library/ubuntu@" + digest,
		"ghcr.io#a/b:1@" + digest:                      "ghcr.io/a/b@" + digest,
		"podman://localhost/tiny:1":                    "localhost/tiny:1",
		"dockerd://tiny":                               "docker-daemon:tiny:latest",
	} {
		m, err := ParseImage(ref)
		if err != nil || m.podman() != want {
			t.Errorf("%s: %s, %v, not %s", ref, m.podman(), err, want)
		}
	}
	for _, path := range []string{"/data/x.sqsh", "./x.sqsh", "../x+y:1.sqsh"} {
		if m, err := ParseImage(path); err != nil || m.File != path {
			t.Errorf("%s: %+v %v", path, m, err)
		}
	}
	for _, ref := range []string{"", "UPPER", "a b", "x:", "#x", "nvcr.io#", "http://x", "a@sha256:12", "-x", "x:-y", "docker://", "x\ny", "--rm"} {
		if m, err := ParseImage(ref); err == nil {
			t.Errorf("%q is taken for %+v", ref, m)
		}
	}
}

func TestEnviron(t *testing.T) {
	job := []string{"A=job", "KEPT=job", "LANG=de", "LC_ALL=de", "PATH=/job", "SLURM_PROCID=3", "SLURM_LOCALID=1", "RANK=9"}
	holder := []string{"A=image", "KEPT=image", "PATH=/image", "LANG=C", "PYTORCH_VERSION=2", "B=image"}
	want := []string{"A=image", "KEPT=job", "LANG=C", "PATH=/image:/our", "SLURM_PROCID=3", "SLURM_LOCALID=1", "PYTORCH_VERSION=2", "B=image", "RANK=3", "LOCAL_RANK=1"}
	if got := Environ(job, holder, []string{"KEPT"}, "/our"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := Environ([]string{"LANG=de"}, nil, []string{"LANG"}, "/our"); !slices.Equal(got, []string{"LANG=de", "PATH=" + defaultPath + ":/our"}) {
		t.Errorf("%q", got)
	}
	text := "A=1\n# no\nB=x ${HOST} ${NONE}${ ${x-y} $HOST\nC=\"quoted\"\nbad name=1\nD=\n"
	if got := ReadEnvironment(text, []string{"HOST=here"}); !slices.Equal(got, []string{"A=1", "B=x here ${ ${x-y} $HOST", "C=quoted", "D="}) {
		t.Errorf("%q", got)
	}
	if got := Passed([]string{"PATH=x", "A=1", "LD_PRELOAD=x", "ENROOT_DATA_PATH=/x"}); !slices.Equal(got, []string{"A=1"}) {
		t.Errorf("%q", got)
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		want Engine
		has  string
		got  Engine
		err  string
	}{
		{"", "enroot crun", Enroot, ""}, {Any, "crun", Podman, ""}, {Podman, "enroot crun", Podman, ""}, {Enroot, "enroot", Enroot, ""},
		{"", "podman", "", "install enroot, or podman"}, {Enroot, "crun", "", "has no enroot"}, {Podman, "enroot", "", "has no crun"}, {None, "enroot", "", "make no containers"},
	} {
		got, err := Choose(c.want, func(p string) bool { return slices.Contains(strings.Fields(c.has), p) })
		if got != c.got || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}

func TestEnroot(t *testing.T) {
	d := Dirs{"/run/7", "/images"}
	o, err := set(t, "container-image=nvcr.io#a/b:1", "container-mounts=/a b:/it's:ro,tmpfs:/t,umount:/u", "container-env=LANG", "container-writable", "no-container-remap-root", "container-unshare=ipc")
	if err != nil {
		t.Fatal(err)
	}
	m, _ := ParseImage(o.Image)
	c := EnrootImport(d, o, &m, "/f")
	if c.String() != "enroot import --output /f docker://nvcr.io#a/b:1" || !slices.Equal(c.Env, []string{"ENROOT_DATA_PATH=/run/7/root", "ENROOT_RUNTIME_PATH=/run/7/enroot",
		"ENROOT_CACHE_PATH=/images/enroot", "ENROOT_REMAP_ROOT=n", "ENROOT_ROOTFS_WRITABLE=y", "ENROOT_UNSHARE_IPC=y"}) {
		t.Errorf("%s %q", c, c.Env)
	}
	if c := EnrootStart(d, o, "n", "/conf", []string{"h", "x"}); c.String() != "enroot start --conf /conf n h x" {
		t.Error(c)
	}
	want := `mounts() {
	echo '/bin/x /bin/x x-create=auto,rbind,ro'
	echo '/a\040b /it'\''s x-create=auto,rbind,ro'
	echo 'tmpfs /t x-create=dir'
	echo 'umount /u x-detach'
}
hooks() {
	echo 'exec "$@"' > ${ENROOT_ROOTFS}/etc/rc.local
}
environ() {
	[ -n "${LANG-}" ] && echo "LANG=${LANG}" || :
}
`
	if got := EnrootConf(o, []Bind{{"/bin/x", true}}); got != want {
		t.Errorf("%s", got)
	}
}

func TestBundle(t *testing.T) {
	o, _ := set(t, "container-image=x", "container-mounts=/a:./b:ro+x-create=dir,umount:/tmp,tmpfs:/t:size=1M", "container-remap-root", "container-mount-home", "container-unshare=net,ipc")
	edits, err := ParseCDI([]byte(`{"cdiVersion":"0.5.0","kind":"nvidia.com/gpu","devices":[{"name":"0","containerEdits":{"env":["ONE=0"]}},{"name":"all","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia0"}]}}],
		"containerEdits":{"env":["NVIDIA_VISIBLE_DEVICES=void","G=1"],"mounts":[{"hostPath":"/usr/lib/libcuda.so.1","containerPath":"/usr/lib/libcuda.so.1","options":["ro","nosuid","nodev","bind"]}],
		"hooks":[{"hookName":"createContainer","path":"/usr/bin/nvidia-ctk","args":["nvidia-ctk","hook","update-ldcache"]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	b := NewBundle(Make{Rootfs: "/r", Options: o, Argv: []string{"h"}, Env: []string{"A=1"}, UID: 7, GID: 8, Home: "/home/x", Binds: []Bind{{"/our", true}},
		Exists: func(p string) bool { return p == "/etc/hosts" }, GPUs: edits})
	text, err := b.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got any
	json.Unmarshal(text, &got)
	flat, _ := json.Marshal(got)
	mount := func(at, kind, source, options string) string {
		words, _ := json.Marshal(strings.Split(options, ","))
		return `{"destination":"` + at + `","options":` + string(words) + `,"source":"` + source + `","type":"` + kind + `"}`
	}
	want := `{"hooks":{"createContainer":[{"args":["nvidia-ctk","hook","update-ldcache"],"path":"/usr/bin/nvidia-ctk"}]},` +
		`"linux":{"gidMappings":[{"containerID":0,"hostID":8,"size":1}],"namespaces":[{"type":"user"},{"type":"mount"},{"type":"network"},{"type":"ipc"}],` +
		`"uidMappings":[{"containerID":0,"hostID":7,"size":1}]},"mounts":[` + strings.Join([]string{
		mount("/proc", "bind", "/proc", "rbind,rslave"), mount("/sys", "bind", "/sys", "rbind,rslave"), mount("/dev", "bind", "/dev", "rbind,rslave"),
		mount("/dev/shm", "tmpfs", "tmpfs", "mode=1777,nosuid,nodev"), mount("/var/run", "tmpfs", "tmpfs", "mode=1777,nosuid,nodev"),
		mount("/var/lock", "tmpfs", "tmpfs", "mode=1777,nosuid,nodev"), mount("/etc/hosts", "bind", "/etc/hosts", "bind,ro"), mount("/root", "bind", "/home/x", "rbind"),
		mount("/our", "bind", "/our", "rbind,ro"), mount("/usr/lib/libcuda.so.1", "bind", "/usr/lib/libcuda.so.1", "ro,nosuid,nodev,bind"),
		mount("/b", "bind", "/a", "rbind,ro"), mount("/t", "tmpfs", "tmpfs", "size=1M"),
	}, ",") + `],"ociVersion":"1.0.2","process":{"args":["h"],"cwd":"/","env":["A=1","G=1"],"user":{"gid":0,"uid":0}},"root":{"path":"/r","readonly":true}}`
	if string(flat) != want {
		t.Errorf("%s\nnot\n%s", flat, want)
	}
}

func TestImageConfig(t *testing.T) {
	c, err := ParseImageConfig([]byte(`{"Env":["A=1","B=two\nlines"],"WorkingDir":"/w","Entrypoint":["/e","it's"],"Cmd":["c"]}`))
	if err != nil || c.Environment() != "A=1\n" {
		t.Errorf("%q %v", c.Environment(), err)
	}
	if rc := c.RC(); !strings.Contains(rc, "cd '/w' &&") || !strings.Contains(rc, `exec '/e' 'it'\''s' "$@"`) || !strings.Contains(rc, `exec '/e' 'it'\''s' 'c'`) {
		t.Error(rc)
	}
	if rc := (&ImageConfig{}).RC(); !strings.Contains(rc, "cd '/' &&") || !strings.Contains(rc, "exec /bin/sh\n") {
		t.Error(rc)
	}
	if got := WithUser("root:x:0:0\n", "me:x:7:7"); got != "me:x:7:7\nroot:x:0:0\n" {
		t.Errorf("%q", got)
	}
	if got := WithUser("you:x:7:1\n", "me:x:7:7"); got != "you:x:7:1\n" {
		t.Errorf("%q", got)
	}
}

func FuzzParseImage(f *testing.F) {
	for _, s := range []string{"ubuntu", "u@nvcr.io#a/b:1", "/x.sqsh", "a@sha256:00", "docker://a.b/c:d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		m, err := ParseImage(ref)
		if err != nil || m.File != "" {
			return
		}
		again, err := ParseImage(m.podman())
		if name := m.podman(); strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \n'\"$`") || m.Scheme == "docker" && (err != nil || again.podman() != name) {
			t.Errorf("%q is %q, and that %q, %v", ref, name, again.podman(), err)
		}
	})
}

func FuzzOptions(f *testing.F) {
	f.Add("container-mounts", "/a:/b:ro+rw,tmpfs:/x")
	f.Add("container-name", "a:exec")
	f.Add("container-env", "A,B")
	f.Fuzz(func(t *testing.T, name, value string) {
		o := &Options{}
		if o.Set(name, value) != nil {
			return
		}
		if err := o.Set(name, value); err != nil {
			t.Errorf("--%s=%q is not taken twice: %v", name, value, err)
		}
		for _, m := range o.Mounts {
			if m.Source == "" || m.Target == "" {
				t.Errorf("%q: %+v", value, m)
			}
		}
		conf := EnrootConf(o, nil)
		if strings.Count(conf, "\n\techo ") != len(o.Mounts)+1 { // and the hook's
			t.Errorf("%q: %s", value, conf)
		}
		NewBundle(Make{Options: o, Exists: func(string) bool { return false }})
	})
}

func FuzzEnvironment(f *testing.F) {
	f.Add("A=${B}\nC='x'", "B=1")
	f.Fuzz(func(t *testing.T, text, host string) {
		for _, e := range ReadEnvironment(text, []string{host}) {
			if name := nameOf(e); name == "" || !strings.Contains(e, "=") {
				t.Errorf("%q gives %q", text, e)
			}
		}
	})
}
