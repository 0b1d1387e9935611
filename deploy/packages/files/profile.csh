# Slurm's command names mean the federation: link this file into /etc/profile.d, or source it in ~/.login.
if ("$path" !~ */usr/libexec/fsub/shims*) set path = (/usr/libexec/fsub/shims $path)
if (! $?MANPATH) setenv MANPATH ""
if ("$MANPATH" !~ */usr/share/fsub/man*) setenv MANPATH "/usr/share/fsub/man:$MANPATH"
