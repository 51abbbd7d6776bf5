// Package git keeps mirrors of repositories with the git program and makes work trees of them. Nothing of a
// repository is ever executed: no hook, no filter, no transport helper beside the one that an address names, no
// submodule.
package git
