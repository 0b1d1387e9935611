# shellcheck shell=sh
# Slurm's command names mean the federation: link this file into /etc/profile.d, or read it in ~/.profile.
case ":$PATH:" in
*:/usr/libexec/fsub/shims:*) ;;
*) PATH=/usr/libexec/fsub/shims:$PATH ;;
esac
