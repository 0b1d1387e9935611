#!/bin/bash
# provide.sh debian: unpack Debian's client programs, with their interpreters, below $CACHE/debian.
# provide.sh NAME PACKAGE...: make the virtual environment $CACHE/venv/NAME with packages of PyPI.
# provide.sh NAME mvn:GROUP:ARTIFACT:VERSION:MAIN: make $CACHE/venv/NAME with a Java program of Maven Central, bin/NAME.
# What is there already is not made again. Exit status 75: the packages cannot be had now.
set -euo pipefail
cache=/var/cache/fsub-clients
packages="python3 python3-minimal python3-pip python3-venv patchelf snakemake toil clustershell python3-ipyparallel r-cran-batchtools r-cran-rslurm"
# The C library is the machine's and the sites' own; compilers and the like are of no use here.
unwanted='^(libc6.*|libc-.*|libgcc.*|libstdc.*|gcc.*|g[+][+].*|cpp.*|binutils.*|lib.san.*|lib..san.*|libcc1.*|.*-dev|gdb|git.*|perl.*|libperl.*|dpkg|tar|sed|debconf|ucf)='
recipe=2 # changes when what is made of the same packages does

mkdir -p "$cache/venv"
exec 9>"$cache/lock"
flock 9

# closure prints NAME=VERSION of the packages and of all that they depend on, whatever the machine has.
closure() {
	apt-get -o Dir::State::status=/dev/null -o Debug::NoLocking=1 --no-install-recommends -s install $packages |
		sed -n 's/^Inst \([^ ]*\) (\([^ ]*\).*/\1=\2/p' | grep -Ev "$unwanted"
}

debian() {
	local tree=$cache/debian new=$cache/debian.new debs=$cache/debs lib list
	if [ "$(cat "$tree/recipe" 2>/dev/null)" = "$recipe $packages" ]; then return; fi
	list=$(closure) || { apt-get -q -o Acquire::Retries=3 update >&2 && list=$(closure); } || exit 75
	rm -rf "$new" "$debs"
	mkdir -p "$debs" "$new"/usr/{bin,sbin,lib,lib64}
	chmod 777 "$debs"
	(cd "$debs" && timeout 900 apt-get -q -o Acquire::Retries=3 download $list >&2) || exit 75
	for d in bin sbin lib lib64; do ln -s "usr/$d" "$new/$d"; done
	for d in "$debs"/*.deb; do
		dpkg-deb --fsys-tarfile "$d" | tar -C "$new" -xf - --no-same-owner --keep-directory-symlink \
			--exclude ./usr/share/doc --exclude ./usr/share/man --exclude ./usr/share/locale
	done
	rm -rf "$debs"
	# Python finds its modules from its own place, but the sites lack some of its libraries.
	lib=$tree/usr/lib/x86_64-linux-gnu
	LD_LIBRARY_PATH=$new/usr/lib/x86_64-linux-gnu "$new/usr/bin/patchelf" --force-rpath --set-rpath "$lib:$lib/blas:$lib/lapack" "$new/usr/bin/python3.11"
	grep -lrI '^#!/usr/bin/python3' "$new/usr/bin" | xargs sed -i "1s#/usr/bin/python3#$tree/usr/bin/python3#"
	placeR "$new" "$tree" "$lib"
	echo "$recipe $packages" >"$new/recipe"
	rm -rf "$tree"
	mv "$new" "$tree"
}

# placeR NEW TREE LIB: tell R that it lives in TREE, in NEW for now.
placeR() {
	local new=$1 tree=$2 lib=$3 r=$1/usr/lib/R f
	for f in "$r"/etc/*; do
		if [ -L "$f" ]; then ln -sf "../../../../etc/R/${f##*/}" "$f"; fi
	done
	cp "$r/etc/Renviron.ucf" "$new/etc/R/Renviron" # the package's own set-up does this
	for f in "$new/usr/bin/R" "$r/bin/R"; do
		if [ ! -L "$f" ]; then sed -i -E "s#=\"?/usr/(lib|share)/R#=$tree/usr/\1/R#; s#^if test \"\\\$\{R_HOME_DIR\}\" = .*#if false; then#" "$f"; fi
	done
	LD_LIBRARY_PATH=$new/usr/lib/x86_64-linux-gnu "$new/usr/bin/patchelf" --force-rpath --set-rpath "$tree/usr/lib/R/lib:$lib:$lib/blas:$lib/lapack" "$r/bin/exec/R"
}

venv() {
	local dir=$cache/venv/$1 python=$cache/debian/usr/bin/python3.11
	shift
	if [ "$(cat "$dir/packages" 2>/dev/null)" = "$*" ]; then return; fi
	rm -rf "$dir"
	"$python" -m venv --without-pip "$dir"
	"$python" -m pip --disable-pip-version-check --python "$dir/bin/python3" install -q --no-warn-script-location "$@" >&2 || exit 75
	echo "$*" >"$dir/packages"
}

# maven NAME mvn:GROUP:ARTIFACT:VERSION:MAIN: the program's jars, and a Java of its own, as sites have none.
maven() {
	local dir=$cache/venv/$1 group artifact release main
	if [ "$(cat "$dir/packages" 2>/dev/null)" = "$2" ]; then return; fi
	command -v mvn jlink >/dev/null || exit 75
	IFS=: read -r _ group artifact release main <<<"$2"
	rm -rf "$dir"
	mkdir -p "$dir/bin"
	cat >"$dir/pom.xml" <<-POM
		<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
		<groupId>client</groupId><artifactId>client</artifactId><version>1</version>
		<dependencies><dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$release</version></dependency></dependencies></project>
	POM
	mvn -q -B -f "$dir/pom.xml" -Dmaven.repo.local="$dir/m2" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
		-DincludeScope=runtime -DoutputDirectory="$dir/lib" >&2 || exit 75
	rm -rf "$dir/m2"
	jlink --add-modules java.se,jdk.crypto.ec,jdk.management,jdk.unsupported,jdk.zipfs --no-header-files --no-man-pages --output "$dir/java" >&2
	printf '#!/bin/sh\nexec %s/java/bin/java -cp "%s/lib/*" %s "$@"\n' "$dir" "$dir" "$main" >"$dir/bin/$1"
	chmod 755 "$dir/bin/$1"
	echo "$2" >"$dir/packages"
}

case "$*" in
debian) debian ;;
*mvn:*) maven "$@" ;;
*) debian && venv "$@" ;;
esac
