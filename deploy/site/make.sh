#!/bin/sh
# make.sh OUT: the pages of docs/ as a site of files, with navigation and search, in OUT. The Markdown is what it is in the repository; only links out of docs/ are bent.
# The generator is Zensical, from PyPI. Exit status 75: it cannot be had now.
set -eu
out=$(realpath -m "$1")
cd "$(dirname "$0")/../.."
zensical=0.0.73 # the versions from 0.1 on need a package that is not on PyPI
venv=$PWD/bin/tools/zensical-$zensical
if [ ! -x "$venv/bin/zensical" ]; then
	echo "set-up: installing Zensical from PyPI" >&2
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" -q --disable-pip-version-check install "zensical==$zensical" >&2 || { rm -rf "$venv" && exit 75; }
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/docs"
cp -R docs/. "$work/docs"
for page in ARCHITECTURE CONTRIBUTING CHANGELOG SECURITY; do cp "$page.md" "$work/docs/"; done
sed 's|](docs/|](|g' README.md >"$work/docs/about.md"
sed -i 's|](docs/|](|g' "$work"/docs/[A-Z]*.md
find "$work/docs" -name '*.md' -exec sed -i -E 's#\]\(\.\./((ARCHITECTURE|CONTRIBUTING|CHANGELOG|SECURITY)\.md)#](\1#g; s#\[([^]]*)\]\(\.\./[^)]*\)#\1#g' {} +
# shellcheck disable=SC2016 # backquotes of Markdown
sed -i -E 's/^```bash (.+)/```bash title="\1"/; s/^```console/```text/' "$work"/docs/*.md
mv "$work/docs/README.md" "$work/docs/index.md"
sed -i 's|](README.md)|](index.md)|g' "$work"/docs/*.md
# nav prints the links of the index, each page once, below the heading where it stands first.
nav() {
	awk '/^## / { print "  - " substr($0, 4) ":" }
		{ line = $0
		while (match(line, /\]\([a-z-]+\.md\)/)) {
			page = substr(line, RSTART + 2, RLENGTH - 3)
			line = substr(line, RSTART + RLENGTH)
			if (!seen[page]++) print "      - " page
		} }' "$work/docs/index.md"
}
cat >"$work/mkdocs.yml" <<END
site_name: fsub
site_description: One sbatch for every cluster you own and every machine you can rent
docs_dir: docs
site_dir: site
use_directory_urls: false
theme:
  name: material
  font: false
  features: [navigation.sections, navigation.top, search.highlight]
markdown_extensions: [tables, toc, admonition, pymdownx.superfences]
nav:
  - index.md
$(nav)
      - ARCHITECTURE.md
      - CONTRIBUTING.md
      - CHANGELOG.md
END
(cd "$work" && NO_COLOR=1 "$venv/bin/zensical" build --clean --strict)
rm -rf "$out"
mkdir -p "$(dirname "$out")"
cp -R "$work/site" "$out"
echo "$out/index.html: $(find "$out" -name '*.html' | wc -l) pages"
