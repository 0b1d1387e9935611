# shellcheck shell=sh
# Slurm's command names mean the federation: link this file into /etc/profile.d, or read it in ~/.profile.
case ":$PATH:" in
*:/usr/libexec/fsub/shims:*) ;;
*) PATH=/usr/libexec/fsub/shims:$PATH && export MANPATH="/usr/share/fsub/man:${MANPATH:-}" ;; # a colon at the end: and the usual ones
esac
case $-:${BASH_VERSION:-} in
*i*:?*) [ ! -r /usr/share/fsub/completions/bash/fsub-shims ] || . /usr/share/fsub/completions/bash/fsub-shims ;;
esac
