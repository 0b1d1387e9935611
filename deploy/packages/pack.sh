#!/bin/sh
# pack.sh NFPM VERSION ARCH BIN OUT: make the packages, deb and rpm, of the programs in BIN. ARCH is Go's name: amd64 or arm64.
#
# Beside the programs it takes what lies in BIN/../man (NAME.SECTION), BIN/../completions/{bash,zsh,fish} and BIN/../sbom/LICENSES, or in BIN itself: pages and completions
# of Slurm's own names go where slurm-client has nothing.
# The result depends on these files and on SOURCE_DATE_EPOCH alone.
set -eu
umask 022
cd "$(dirname "$0")/../.."
nfpm=$1 version=$2 arch=$3 bin=$4 out=$5
case $SOURCE_DATE_EPOCH in *[!0-9]* | '') echo "pack.sh: SOURCE_DATE_EPOCH is not set" >&2 && exit 2 ;; esac
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
when=$(TZ=UTC date -d "@$SOURCE_DATE_EPOCH" '+%Y-%m-%dT%H:%M:%SZ')
maintainer=${MAINTAINER:-fsub maintainers <maintainers@fsub.invalid>} # whoever releases says who that is

shims='sbatch squeue scancel sacct sinfo scontrol sacctmgr sshare sprio sstat seff sreport sdiag srun salloc sbcast sattach strigger scrontab'

# begin PACKAGE: its nfpm file so far. put SOURCE TARGET [MODE], link TO NAME, folder NAME [MODE] add to its contents.
begin() {
	package=$1 yaml=$work/$1.yaml
	sed "s|@ARCH@|$arch|; s|@VERSION@|$version|g; s|@MAINTAINER@|$maintainer|; s|@LIBC@|libc6 (>= 2.28)|" "deploy/packages/nfpm/$1.yaml" >"$yaml"
	printf 'mtime: "%s"\ncontents:\n' "$when" >>"$yaml"
	doc=/usr/share/doc/fsub-$1
	put deploy/packages/files/copyright "$doc/copyright"
	changelog
	overrides=deploy/packages/files/$1.lintian
	[ ! -e "$overrides" ] || put "$overrides" "/usr/share/lintian/overrides/fsub-$1" 0644 deb
}
put() {
	printf -- '- src: %s\n  dst: %s\n  file_info: {mode: %s, mtime: "%s"}\n' "$1" "$2" "${3:-0644}" "$when" >>"$yaml"
	[ -z "${4:-}" ] || printf '  packager: %s\n' "$4" >>"$yaml"
}
link() { printf -- '- src: %s\n  dst: %s\n  type: symlink\n  file_info: {mtime: "%s"}\n' "$1" "$2" "$when" >>"$yaml"; }
folder() { printf -- '- dst: %s\n  type: dir\n  file_info: {mode: %s, mtime: "%s"}\n' "$1" "${2:-0755}" "$when" >>"$yaml"; }

# packed FILE TARGET: gzipped, without the time and the name.
packed() {
	mkdir -p "$work/$package"
	gzip -9nc "$1" >"$work/$package/${2##*/}"
	put "$work/$package/${2##*/}" "$2"
}

changelog() {
	mkdir -p "$work/$package"
	{
		printf 'fsub (%s-1) stable; urgency=medium\n\n' "$version"
		printf '  * What changed: see changelog.gz beside this file.\n\n'
		printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C TZ=UTC date -R -d "@$SOURCE_DATE_EPOCH")"
	} >"$work/$package/changelog"
	packed "$work/$package/changelog" "$doc/changelog.Debian.gz"
	packed CHANGELOG.md "$doc/changelog.gz"
}

shim() { case " $shims " in *" $1 "*) ;; *) return 1 ;; esac; }

# pages PATTERN...: manual pages whose names match. Those of the agent and of the configuration are in their own packages alone.
pages() {
	for pattern; do
		for f in "$extras"/man/$pattern; do
			[ -e "$f" ] || continue
			name=${f##*/} to=/usr/share/man
			case $package:$name in client:fed-agent.* | client:fed.yaml.*) continue ;; esac
			! shim "${name%.*}" || to=/usr/share/fsub/man
			packed "$f" "$to/man${name##*.}/$name.gz"
		done
	done
}

completions() {
	for kind in bash zsh fish; do
		for f in "$extras/completions/$kind"/*; do
			[ -e "$f" ] || continue
			name=${f##*/}
			case $kind in
			bash) to=/usr/share/bash-completion/completions ;;
			zsh) to=/usr/share/zsh/vendor-completions && set -- /usr/share/zsh/site-functions ;;
			fish) to=/usr/share/fish/vendor_completions.d ;;
			esac
			plain=${name#_} && plain=${plain%.fish}
			! [ "$plain" = fsub-shims ] || { put "$f" "/usr/share/fsub/completions/$kind/$name"; continue; }
			if [ "$kind" = zsh ]; then # Debian's zsh and the others' look at different places
				put "$f" "$to/$name" 0644 deb
				put "$f" "$1/$name" 0644 rpm
			else
				put "$f" "$to/$name"
			fi
		done
	done
}

# licences are those of the modules that a program was linked from.
licences() { packed "$extras/sbom/LICENSES" "$doc/third-party.gz"; }

finish() {
	for kind in deb rpm; do
		file=$yaml.$kind
		if [ "$kind" = rpm ]; then sed 's|libc6 (>= 2.28)|glibc >= 2.28|' "$yaml" >"$file"; else cp "$yaml" "$file"; fi
		"$nfpm" package --config "$file" --packager "$kind" --target "$out/" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
	done
}

extras=bin
[ ! -e "$bin/man" ] || extras=$bin

begin client
for name in fsub fsub-remote fed; do put "$bin/$name" "/usr/bin/$name" 0755; done
for name in $shims; do link ../../../bin/fsub "/usr/libexec/fsub/shims/$name"; done
put deploy/packages/files/profile.sh /usr/share/fsub/profile.d/fsub.sh
put deploy/packages/files/profile.csh /usr/share/fsub/profile.d/fsub.csh
put deploy/packages/files/module.lua "/usr/share/modulefiles/fsub/$version.lua"
pages '*'
completions
licences
finish

begin agent
put "$bin/fed-agent" /usr/bin/fed-agent 0755
pages 'fed-agent*.[18]'
licences
finish

begin daemon
folder /etc/fsub
folder /etc/fsub/credentials 0700
put deploy/packages/files/fed.yaml.example /etc/fsub/fed.yaml.example && printf '  type: config|noreplace\n' >>"$yaml"
put deploy/packages/systemd/fed.service /usr/lib/systemd/system/fed.service
put deploy/packages/systemd/fed.socket /usr/lib/systemd/system/fed.socket
for name in 10-user 20-credentials 30-local-pool; do put "deploy/packages/systemd/$name.conf" "/usr/share/fsub/systemd/$name.conf"; done
put deploy/packages/files/sysusers.conf /usr/lib/sysusers.d/fsub.conf
for f in deploy/prometheus/*.yml deploy/grafana/*.json; do put "$f" "$doc/examples/${f#deploy/}"; done
for f in docs/*.md; do put "$f" "$doc/${f##*/}"; done
pages 'fed.yaml.5'
finish
