#!/bin/sh
# make.sh GO OUT: two OCI images of the programs in bin/, OUT/fed-image-VERSION-ARCH.tar and OUT/fed-agent-image-VERSION-ARCH.tar, archives of an OCI layout, for this machine's processor. No Docker, no root, no registry: the C
# library, the certificates of authorities and SSSD's lookup of users (NSS) come as packages from the mirror of this Debian.
set -eu
go=$1 out=$(realpath -m "$2")
cd "$(dirname "$0")/../.."
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
bin=${FSUB_BIN:-bin}
version=${RELEASE:-$(git describe --tags --always)}
arch=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/debs" "$work/root" "$out"
chmod 755 "$work/debs"
(cd "$work/debs" && apt-get -q -o APT::Sandbox::User=root download libc6 libgcc-s1 libnss-sss ca-certificates tzdata netbase >/dev/null)
for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/root"; done
cd "$work/root"
rm -rf usr/share/doc usr/share/man usr/share/lintian usr/share/locale usr/share/i18n
for d in lib lib64 bin sbin; do [ -e "$d" ] || { mkdir -p "usr/$d" && ln -s "usr/$d" "$d"; }; done
mkdir -p etc/ssl/certs tmp var/lib/fsub run/fsub
chmod 1777 tmp
chmod 770 var/lib/fsub run/fsub # for the image's user, whose group is root's
find usr/share/ca-certificates -name '*.crt' | LC_ALL=C sort | xargs cat >etc/ssl/certs/ca-certificates.crt
printf 'root:x:0:0:root:/root:/sbin/nologin\nfsub:x:65532:65532:fsub:/var/lib/fsub:/sbin/nologin\n' >etc/passwd
printf 'root:x:0:\nfsub:x:65532:\n' >etc/group
printf 'passwd: files sss\ngroup: files sss\nhosts: files dns\n' >etc/nsswitch.conf
cd "$OLDPWD"
CGO_ENABLED=0 "$go" build -trimpath -o "$work/image" ./deploy/image
"$work/image" -layout "$out/image-fed" -name "fed:$version" -arch "$arch" -user 65532 -entrypoint /usr/sbin/fed,serve \
	"$work/root=/" "$bin/fed=/usr/sbin/fed" "$bin/fed-agent=/usr/sbin/fed-agent" "$bin/fsub=/usr/bin/fsub" LICENSE=/usr/share/doc/fsub/LICENSE
"$work/image" -layout "$out/image-fed-agent" -name "fed-agent:$version" -arch "$arch" -entrypoint /usr/sbin/fed-agent,-boot \
	"$work/root/etc=/etc" "$bin/fed-agent"=/usr/sbin/fed-agent LICENSE=/usr/share/doc/fsub/LICENSE
for name in fed fed-agent; do
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$out/image-$name" -cf "$out/$name-image-$version-$arch.tar" .
	rm -rf "$out/image-$name"
done
ls -l "$out"/*-image-*.tar
