package machines

import "strings"

// initScript is the first process of a machine.
func (m *Machine) initScript() string {
	return strings.NewReplacer("@DIR@", m.spec.Dir, "@HOST@", m.spec.Host, "@ADDR@", m.spec.Addr).Replace(namespaceInit)
}

// namespaceInit makes the machine its own: an /etc, a /usr/local/bin and a /var/tmp of its own to
// write to, an empty /run (and so no systemd or dbus that could switch the
// real machine off), a /proc of its own without sysrq, the stubs over the
// real shutdown commands, most of which are links to one. Then it is init: it reaps, passes SIGTERM on, and ends last.
const namespaceInit = `fail() { echo "cannot set up the machine: $1"; exit 1; }
d=@DIR@
mount --make-rprivate / || fail "private mounts"
mount -t proc proc /proc || fail "mount /proc"
[ ! -e /proc/sysrq-trigger ] || mount --bind /dev/null /proc/sysrq-trigger || fail "mask sysrq"
for p in /etc /usr/local/bin; do
	[ -d $p ] || continue
	mkdir -p $d/own$p $d/work$p && mount -t overlay overlay -o lowerdir=$p,upperdir=$d/own$p,workdir=$d/work$p $p 2>/dev/null ||
		{ cp -a $p/. $d/own$p/ && mount --bind $d/own$p $p; } || fail "a $p of its own"
done
case $d/ in /var/tmp/*) ;; *) mkdir -m 1777 $d/own/tmp && mount --bind $d/own/tmp /var/tmp || fail "a /var/tmp of its own" ;; esac
for f in shutdown poweroff halt reboot systemctl; do
	for p in /sbin /usr/sbin /bin /usr/bin; do
		[ ! -e $p/$f ] || [ $p/$f -ef $d/bin/$f ] || mount --bind $d/bin/$f $p/$f || fail "mask $p/$f"
	done
done
mount -t tmpfs -o mode=755 tmpfs /run || fail "mount /run"
hostname @HOST@ || fail "set the host name"
echo @HOST@ > /etc/hostname
printf '127.0.0.1 localhost\n@ADDR@ @HOST@\n' > /etc/hosts
ending=
trap 'ending=1; kill -TERM -1' TERM
: > $d/up
[ ! -s $d/user-data ] || $d/user-data &
while [ -z "$ending" ]; do sleep 3600 & wait $!; done
while set -- /proc/[0-9]*; [ $# -gt 1 ]; do sleep 0.02; done
`

// stub stands where a command is that would switch the real machine off: it turns the instance's power switch instead. It goes by the name that it is called by,
// since most of these commands are links to one.
func (m *Machine) stub() string {
	const text = `#!/bin/sh
# Ends the instance, not the machine that it runs on.
name=${0##*/}
case "$1" in poweroff|halt|reboot) [ "$name" = systemctl ] && name=$1 && shift; esac
[ "$name" != systemctl ] || { echo "systemctl: there is no systemd on this instance" >&2; exit 1; }
echo "$name" "$@" > @DIR@/power
`
	return strings.ReplaceAll(text, "@DIR@", m.spec.Dir)
}

// nvidiaSMI answers the queries that agents and health checks make.
const nvidiaSMI = `#!/bin/sh
# Stands for the GPUs that the instance's type has.
for a; do case $a in --query-*) fields=${a#*=} ;; esac; done
i=0
while [ "$i" -lt @GPUS@ ]; do
	row=
	for f in $(echo "$fields" | tr , ' '); do
		case $f in
		index) v=$i ;;
		name) v='NVIDIA GPU' ;;
		uuid) v=GPU-$i ;;
		*bus_id) v=00000000:1$i:00.0 ;;
		*) v=0 ;;
		esac
		row="$row${row:+, }$v"
	done
	echo "$row"
	i=$((i + 1))
done
`
