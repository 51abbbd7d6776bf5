// Package oidc signs in at a real OpenID Connect provider through the real binary. It is a separate module, so that
// the provider and its dependencies are not dependencies of the product: run it with "go test ./..." in this folder.
package oidc

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestMain builds the binary from the product's own module, with the product's own versions of everything.
func TestMain(m *testing.M) {
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(harness.Main(m))
}
