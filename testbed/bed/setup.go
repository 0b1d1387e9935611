package bed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// setUp makes what all sites share: the subnet, the homes, the login's passwd and group.
func (b *Bed) setUp(ctx context.Context) (state, error) {
	for _, dir := range []string{b.opts.Dir, b.homeDir(), b.FedDir(), b.BinDir(), b.loginDir(), filepath.Join(b.opts.Dir, "sites"), filepath.Join(b.opts.Dir, "roots")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return state{}, err
		}
	}
	if err := checkReachable(b.opts.Dir); err != nil {
		return state{}, err
	}
	st, err := b.chooseSubnet(ctx)
	if err != nil {
		return state{}, err
	}
	for _, u := range Users {
		if err := makeDir(b.Home(u.Name), 0o700, u.UID, u.UID); err != nil {
			return state{}, err
		}
	}
	return st, b.writeUsers(b.loginDir(), "/", Users)
}

// checkReachable refuses a directory that the bed's users cannot enter.
func checkReachable(dir string) error {
	for d := dir; d != "/"; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err != nil {
			return err
		}
		if info.Mode()&0o001 == 0 {
			return fmt.Errorf("the bed's users cannot reach their homes in %s: %s is closed to others (mode %o): choose another --dir", dir, d, info.Mode().Perm())
		}
	}
	return nil
}

// chooseSubnet returns the subnet of the bed, which it picks the first time.
func (b *Bed) chooseSubnet(ctx context.Context) (state, error) {
	st, err := b.loadState()
	if err == nil {
		if b.opts.Subnet != "" && b.opts.Subnet != st.Subnet.String() {
			return state{}, fmt.Errorf("the bed in %s has the subnet %s: to change it, run: bin/bed down --wipe", b.opts.Dir, st.Subnet)
		}
		return st, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return state{}, err
	}
	unlock, err := lockFile(filepath.Join(b.opts.Cache, "subnet.lock")) // two beds that begin at once must not pick the same
	if err != nil {
		return state{}, err
	}
	defer unlock()
	if b.opts.Subnet != "" {
		st.Subnet, err = parseSubnet(b.opts.Subnet)
	} else {
		st.Subnet, err = freeSubnet(ctx, b.opts.Dir)
	}
	if err != nil {
		return state{}, err
	}
	if b.opts.Temporary {
		me, err := identify(os.Getpid())
		if err != nil {
			return state{}, err
		}
		st.Owner = &me
	}
	if err := addGuard(ctx, st.Subnet); err != nil { // other beds see the subnet taken from now on
		return state{}, err
	}
	return st, writeJSON(filepath.Join(b.opts.Dir, "bed.json"), st)
}

// writeUsers writes into dir the passwd and group of root with users added.
func (b *Bed) writeUsers(dir, root string, users []User) error {
	passwd, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil {
		return err
	}
	group, err := os.ReadFile(filepath.Join(root, "etc/group"))
	if err != nil {
		return err
	}
	newPasswd, newGroup := appendUsers(string(passwd), string(group), users, b.homeDir())
	return errors.Join(
		writeFile(filepath.Join(dir, "passwd"), []byte(newPasswd), 0o644),
		writeFile(filepath.Join(dir, "group"), []byte(newGroup), 0o644))
}

// writeSite makes a site's directories, keys and configuration.
func (b *Bed) writeSite(st state, s Site) error {
	dir := b.siteDir(s.Name)
	for _, sub := range []string{"etc/" + parseDir, "log", "spool", "state", "db"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	files, err := renderConf(confVars{
		Site: s, Dir: dir, MinJobAge: int(b.opts.MinJobAge.Seconds()), Flat: b.opts.Flat, GRES: extraGRES(b.opts.GRES), Conf: b.opts.Conf, HostAddr: siteLink(st.Subnet, s.Index).HostAddr.String(),
	})
	if err != nil {
		return err
	}
	etc := filepath.Join(dir, "etc")
	for _, f := range files {
		if err := writeFile(filepath.Join(etc, f.name), []byte(f.text), os.FileMode(f.mode)); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if err := makeKey(filepath.Join(etc, k.name), k.size, k.uid); err != nil {
			return err
		}
	}
	for _, path := range []string{"etc/slurmdbd.conf", "state", "log"} {
		if err := os.Chown(filepath.Join(dir, path), slurmUID, slurmUID); err != nil {
			return err
		}
	}
	return b.writeUsers(etc, b.rootDir(s.Suite), append(s.Users(), restUser))
}

const mungeKey = "munge.key"

// keys are the secrets of a site: of auth/slurm, of its tokens, of auth/munge. Those of the other authentication lie idle.
var keys = []struct {
	name string
	size int // bytes
	uid  int // whose it is
}{
	{"slurm.key", 1024, slurmUID},
	{"jwt_hs256.key", 32, slurmUID},
	{mungeKey, 128, 0},
}

// makeKey makes a key once.
func makeKey(path string, size, uid int) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	key := make([]byte, size)
	rand.Read(key)
	if err := writeFile(path, key, 0o600); err != nil {
		return err
	}
	return os.Chown(path, uid, uid)
}

func makeDir(path string, mode os.FileMode, uid, gid int) error {
	if err := os.MkdirAll(path, mode); err != nil {
		return err
	}
	return os.Chown(path, uid, gid)
}

// makeDatabase gives a new site a copy of the empty database in its root filesystem. It needs that system's users, so it works inside.
func (b *Bed) makeDatabase(ctx context.Context, s Site, holder procID) error {
	db := filepath.Join(b.siteDir(s.Name), "db")
	script := fmt.Sprintf("[ -d %[1]s/mysql ] || { cp -a %[2]s/. %[1]s.new && rm -rf %[1]s && mv %[1]s.new %[1]s; }", db, dbTemplate)
	if err := b.inSite(ctx, holder, "sh", "-c", script); err != nil {
		return fmt.Errorf("make the database of %s: %w", s.Name, err)
	}
	return nil
}
