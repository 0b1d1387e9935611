#!/bin/sh
# Before fsub-daemon is removed: not before an upgrade. Debian says "remove" or "upgrade", RPM how many versions stay.
set -e
case "$1" in
remove | 0) ;;
*) exit 0 ;;
esac
[ -d /run/systemd/system ] || exit 0
systemctl disable --now fed.socket fed.service
