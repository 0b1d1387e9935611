#!/bin/bash
# machine.sh DIR BED: become a machine whose files are a layer over this machine's, with systemd as its first process. BED is a folder that both see. The network is
# this machine's.
set -e
dir=$1 bed=$2
if [ -z "$INSIDE" ]; then
	for h in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup; do # of version 1, of both, of 2
		if [ -w "$h/cgroup.procs" ]; then
			mkdir -p "$h/${dir##*/}" && echo $$ >"$h/${dir##*/}/cgroup.procs" || true
		fi
	done
	INSIDE=1 exec unshare --mount --pid --fork --uts --ipc --cgroup --propagation private --kill-child=KILL "$0" "$@"
fi
mount -t tmpfs tmpfs "$dir"
mkdir "$dir"/{upper,work,root}
r=$dir/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" "$r"
mount -t proc proc "$r/proc"
mount -t sysfs -o ro sysfs "$r/sys"
if [ -d /sys/fs/cgroup/systemd ]; then
	mount -t tmpfs tmpfs "$r/sys/fs/cgroup"
	mkdir -p "$r/sys/fs/cgroup/systemd" "$r/sys/fs/cgroup/unified"
	mount -t cgroup -o none,name=systemd cgroup "$r/sys/fs/cgroup/systemd"
	mount -t cgroup2 cgroup2 "$r/sys/fs/cgroup/unified" || true
else
	mount -t cgroup2 cgroup2 "$r/sys/fs/cgroup"
fi
mount -t tmpfs tmpfs "$r/run"
mount -t tmpfs -o mode=1777 tmpfs "$r/tmp"
mount -t tmpfs -o mode=755 tmpfs "$r/dev"
for d in null zero full random urandom tty; do touch "$r/dev/$d" && mount --bind "/dev/$d" "$r/dev/$d"; done
mkdir "$r/dev/pts" "$r/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$r/dev/pts"
mount -t tmpfs tmpfs "$r/dev/shm"
ln -s pts/ptmx "$r/dev/ptmx"
ln -s /proc/self/fd "$r/dev/fd"
touch "$r/dev/console"
mount --bind "$bed" "$r$bed"
rm -rf "$r/etc/fsub" "$r/var/lib/fsub" "$r"/etc/systemd/system/*.wants "$r"/etc/profile.d/fsub.sh
cd "$r"
mkdir old
pivot_root . old
umount -l /old
mount --make-rshared / # credentials are mounted by a child of systemd
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target --show-status=no
