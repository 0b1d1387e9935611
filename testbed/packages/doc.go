// Package packages holds what is installed: deb and rpm (deploy/packages) to lintian, rpm, systemd and a Debian root into which they are installed, upgraded and
// purged; and fed to what systemd expects of it, for which a test takes systemd's place.
package packages
