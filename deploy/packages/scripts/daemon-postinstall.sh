#!/bin/sh
# After fsub-daemon was unpacked. Debian says "configure", and the version before if there was one; RPM says 1 for the first, more for an upgrade.
# Nothing is started that did not run. A daemon that runs is restarted if the new one can take over, else it goes on.
set -e
case "$1" in
configure) before=${2:-} ;;
1) before= ;;
[2-9]*) before=some ;;
*) exit 0 ;;
esac

if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers fsub.conf
elif ! getent passwd fsub >/dev/null; then
	useradd --system --no-create-home --home-dir /var/lib/fsub --shell /usr/sbin/nologin --comment "fsub daemon" fsub
fi

[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
[ -n "$before" ] && systemctl is-active --quiet fed.service || exit 0

if why=$(fed config check --quiet 2>&1 >/dev/null) && why=$(fed store check --schema 2>&1 >/dev/null); then
	systemctl restart fed.service || echo "fsub-daemon: the daemon did not restart; see: systemctl status fed" >&2
	exit 0
fi
cat >&2 <<END
fsub-daemon: the new version is installed, and the daemon was not restarted: the old one goes on.
$why
Once that is repaired, run: systemctl restart fed
END
