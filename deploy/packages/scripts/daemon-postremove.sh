#!/bin/sh
# After fsub-daemon was removed, or purged. The database and the configuration stay: they are the users' jobs, and keys.
set -e
case "$1" in
remove | purge | 0) ;;
*) exit 0 ;;
esac
if [ "$1" != purge ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
for dir in /var/lib/fsub /etc/fsub; do
	if [ -d "$dir" ] && [ -n "$(ls -A "$dir")" ]; then
		echo "fsub-daemon: $dir stays; remove it yourself if nobody needs it"
	fi
done
