#!/bin/bash
# Jobs without a file: a command, and a script that comes by standard input.
sbatch -J wrapped -n1 -t5 --mem=100 -o wrapped.out --wrap 'echo "wrapped in ${0##*/}"; env | sort >env.wrapped; exit 4'
sbatch -J piped -t5 --mem=100 -o piped.out - "first arg" '$HOME' <<'S'
#!/bin/bash
#SBATCH --ntasks=1
printf '<%s>\n' "$@"
env | sort >env.piped
S
