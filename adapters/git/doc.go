// Package git keeps mirrors of repositories with the git program and creates work trees from them. It never executes
// anything from a repository: no hooks, no filters, no submodules, and no transport helpers except the one for the
// protocol of the address.
package git
