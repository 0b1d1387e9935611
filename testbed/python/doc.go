// Package python tests the Python client: the wheel and the sdist of "make python", in clean virtual environments of each Python that this machine has, against a daemon over two
// sites of this machine; its types by mypy and pyright; and its models by the daemon's OpenAPI document. As another user than root it does the same.
package python
