#!/bin/sh
# version.sh: print the version of the packages: that of the tag, "0.4.0", or what came after it, "0.4.0+12.g1963265c". RELEASE=v0.4.0 says it where there is no
# Git checkout.
set -eu
cd "$(dirname "$0")/../.."
if [ -n "${RELEASE:-}" ]; then
	echo "${RELEASE#v}"
	exit
fi
described=$(git describe --tags --match 'v[0-9]*' 2>/dev/null || echo "v0.0.0-0-g$(git rev-parse --short HEAD 2>/dev/null || echo unknown)")
echo "${described#v}" | sed 's/-\([0-9]*\)-g/+\1.g/'
